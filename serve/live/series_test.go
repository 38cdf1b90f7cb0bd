package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/measures/face"
	"weir/serve/key"
	"weir/sinks/sinktest"
	"weir/window"
)

// TestSeriesAndGroups: however what was counted is spread over memory and the sink, each
// step of a series and each group has the number that a question about it alone has, of
// every measure that has one; and the groups are all that there are.
func TestSeriesAndGroups(t *testing.T) {
	spec := sinktest.Spec()
	log := sinktest.NewLog(4)
	whole, err := log.Whole(spec)
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := log.Pieces(spec, 4)
	if err != nil {
		t.Fatal(err)
	}
	stored := newSink(t, spec)
	mem := tableJob{window.NewTable(spec), window.NewTable(spec)}
	for i, p := range pieces {
		if i%3 != 0 {
			if err := stored.Write(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		if i%3 != 1 {
			p.Table.Copy(mem[i%2], all(spec))
		}
	}
	for _, t := range mem {
		t.Seal()
	}
	w := New(Config{Now: func() time.Time { return time.UnixMilli(1_763_600_100_000) }})
	w.Add(mem, stored)
	first, last := event.Time(1<<62), event.Time(0)
	texts := map[string]bool{}
	for row := range whole.Table.Rows {
		first, last = min(first, row.Window()), max(last, row.Window())
		texts[string(row.Group(nil)[0])] = true
	}
	q := Query{Job: spec.Job, From: time.UnixMilli(int64(first)), Until: time.UnixMilli(int64(last + spec.Window))}
	jobs := w.Jobs()
	if len(jobs) != 1 || jobs[0].Window != time.Minute || strings.Join(jobs[0].By, " ") != "page country" {
		t.Fatalf("%+v", jobs)
	}
	tested := 0
	for _, m := range jobs[0].Measures {
		if q.Measure = m.Name; m.Kind.Shows == face.Positions {
			if _, _, err := w.Series(t.Context(), q, time.Minute); err == nil {
				t.Error("a series of positions")
			}
			continue
		}
		tested++
		number := func(a Answer) string {
			text, err := json.Marshal(m.Kind.Number(a.Value))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		ask := func(q Query) Answer {
			t.Helper()
			a, err := w.Ask(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		points, total, err := w.Series(t.Context(), q, 2*time.Minute)
		if err != nil || number(total) != number(ask(q)) {
			t.Errorf("%s: %v, %v", m.Name, total, err)
		}
		for _, p := range points {
			one := q
			one.From, one.Until = p.From, p.From.Add(2*time.Minute)
			if got, want := number(p.Answer), number(ask(one)); got != want {
				t.Errorf("%s at %s: %s, want %s", m.Name, p.From, got, want)
			}
		}
		if want := (q.Until.Sub(q.From) + 2*time.Minute - 1) / (2 * time.Minute); len(points) != int(want) {
			t.Errorf("%s: %d points, want %d", m.Name, len(points), want)
		}
		groups, err := w.Groups(t.Context(), q, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		if len(groups.Groups) != len(texts) {
			t.Errorf("%s: %d groups, want %d", m.Name, len(groups.Groups), len(texts))
		}
		for _, g := range groups.Groups {
			one := q
			one.Group = [][]byte{[]byte(g.Group[0])}
			if got, want := number(Answer{Value: g.Value}), number(ask(one)); got != want {
				t.Errorf("%s of %s: %s, want %s", m.Name, g.Group, got, want)
			}
		}
		// In a single window the measure has counted nothing in many groups: they are there, too.
		one, events := q, q
		one.Until = one.From.Add(time.Minute)
		events.Until, events.Measure = one.Until, Hits
		some, err := w.Groups(t.Context(), one, []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		if every, err := w.Groups(t.Context(), events, []int{0, 1}); err != nil || len(some.Groups) != len(every.Groups) {
			t.Errorf("%s: %d groups in the first window, and %d have events, %v", m.Name, len(some.Groups), len(every.Groups), err)
		}
		two, err := w.Groups(t.Context(), q, []int{1, 0})
		if err != nil || len(two.Groups) < len(groups.Groups) {
			t.Errorf("%s: %d groups of two columns, %v", m.Name, len(two.Groups), err)
		}
	}
	if tested < 10 {
		t.Errorf("only %d measures: the test tests little", tested)
	}
	for _, bad := range []func() error{
		func() error { _, _, err := w.Series(t.Context(), q, 90*time.Second); return err },
		func() error { _, err := w.Groups(t.Context(), q, []int{2}); return err },
		func() error {
			long := q
			long.From = long.Until.Add(-(GroupsMost + 1) * time.Minute)
			_, err := w.Groups(t.Context(), long, []int{0})
			return err
		},
	} {
		if err := bad(); err == nil || !strings.Contains(err.Error(), key.ErrQuestion.Error()) {
			t.Errorf("%v", err)
		}
	}
}

// TestGroupsMemory: a question whose groups take more than their part of the memory budget is
// refused with what helps, before all of its windows are read, and one of fewer windows is not.
func TestGroupsMemory(t *testing.T) {
	spec := sinktest.Spec()
	const windows, groups = 32, 200
	mem := tableJob{window.NewTable(spec)}
	from := event.Time(1_763_596_800_000)
	for i := range windows {
		for g := range groups { // each window has its own
			group := [][]byte{fmt.Appendf(nil, "/p/%d/%d", i, g), []byte("DE")}
			if err := mem[0].Load(from+event.Time(i)*spec.Window, group, map[uint64]uint64{0: 1}, make([][]byte, len(spec.Measures))); err != nil {
				t.Fatal(err)
			}
		}
	}
	mem[0].Seal()
	reads := &countedReads{Sink: newSink(t, spec)}
	w := New(Config{Now: func() time.Time { return time.UnixMilli(1_763_600_100_000) }, Memory: 8 << 20})
	w.Add(mem, reads)
	q := Query{Job: spec.Job, Measure: Hits, From: time.UnixMilli(int64(from)), Until: time.UnixMilli(int64(from + windows*spec.Window))}
	_, err := w.Groups(t.Context(), q, []int{0, 1})
	if !errors.Is(err, key.ErrQuestion) || !errors.Is(err, ErrGroups) || !strings.Contains(err.Error(), "the groups by page, country take more than 1048576 bytes") || !strings.Contains(err.Error(), "shorter range") {
		t.Errorf("%v", err)
	}
	if reads.rows == 0 || reads.rows >= windows/groupsAtOnce {
		t.Errorf("read %d times, of %d", reads.rows, windows/groupsAtOnce)
	}
	// One column has one value, so all windows fit.
	if g, err := w.Groups(t.Context(), q, []int{1}); err != nil || len(g.Groups) != 1 || g.Groups[0].Value != Count(windows*groups) {
		t.Errorf("%+v, %v", g, err)
	}
	q.Until = q.From.Add(groupsAtOnce * time.Minute)
	if g, err := w.Groups(t.Context(), q, []int{0, 1}); err != nil || len(g.Groups) != groupsAtOnce*groups {
		t.Errorf("%d groups, %v", len(g.Groups), err)
	}
}

// countedReads counts how often the rows of a sink are read.
type countedReads struct {
	Sink
	rows int
}

func (s *countedReads) Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error {
	s.rows++
	return s.Sink.Rows(ctx, r, m, into)
}
