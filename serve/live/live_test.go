package live

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/jobs"
	"weir/serve/key"
	"weir/sinks/memory"
	"weir/sinks/sinktest"
	"weir/sketches/geo"
	"weir/window"
)

var _ Sink = (*memory.Sink)(nil)

// newSink returns a sink to which changes were written.
func newSink(t *testing.T, spec *window.Spec, changes ...*window.Changes) *memory.Sink {
	t.Helper()
	s, err := memory.New().Job(spec, sinktest.Topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := s.Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// selected returns the rows of a range.
func selected(t *window.Table, r *window.Range) *window.Table {
	p := window.NewTable(t.Spec())
	t.Copy(p, r)
	p.Seal()
	return p
}

// tableJob is a job whose memory is some tables.
type tableJob []*window.Table

func (j tableJob) Spec() *window.Spec            { return j[0].Spec() }
func (j tableJob) Status() jobs.Status           { return jobs.Status{State: "running"} }
func (j tableJob) OnFlush(func(*window.Changes)) {}
func (j tableJob) Live(_ context.Context, r *window.Range) ([]*window.Table, error) {
	var parts []*window.Table
	for _, t := range j {
		parts = append(parts, selected(t, r))
	}
	return parts, nil
}

// TestLookup: however what was counted is spread over parts of memory and the
// sink, some of it in several, the answer is that of the whole.
func TestLookup(t *testing.T) {
	for seed := range uint64(12) {
		spec := sinktest.Spec()
		log := sinktest.NewLog(seed)
		whole, err := log.Whole(spec)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := log.Pieces(spec, seed)
		if err != nil {
			t.Fatal(err)
		}
		stored, reference := newSink(t, spec), newSink(t, spec, whole)
		var mem tableJob
		for range 1 + seed%3 {
			mem = append(mem, window.NewTable(spec))
		}
		for i, p := range pieces {
			if i%3 != 0 {
				if err := stored.Write(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if i%3 != 1 {
				last := len(mem) - 1 // the first pieces are not in the first part
				p.Table.Copy(mem[last-i%len(mem)], all(spec))
				p.Table.Copy(mem[last-i/2%len(mem)], all(spec))
			}
		}
		for _, t := range mem {
			t.Seal()
		}
		w := New(Config{Now: func() time.Time { return time.UnixMilli(1_763_600_100_000) }})
		w.Add(mem, stored)

		first, last := event.Time(math.MaxInt64), event.Time(0)
		var group [][]byte
		for row := range whole.Table.Rows {
			first, last, group = min(first, row.Window()), max(last, row.Window()), row.Group(nil)
		}
		for _, q := range []query{
			{From: first, Until: last + 1},
			{From: first, Until: first + 1},
			{From: first + 60_000, Until: last, Group: [][]byte{[]byte("/p/1")}},
			{From: first, Until: last + 1, Group: [][]byte{nil, []byte("DE")}},
			{From: first, Until: last + 1, Group: group},
		} {
			q.Job = spec.Job
			r := &window.Range{From: q.From, Until: q.Until, Group: append(append([][]byte{}, q.Group...), nil, nil)[:2]}
			get := func(measure string) Answer {
				t.Helper()
				q.Measure = measure
				v, found, err := w.lookup(t.Context(), q)
				if err != nil || !found {
					t.Fatalf("seed %d: %+v: found %t, %v", seed, q, found, err)
				}
				return v
			}
			if want, _ := reference.Total(t.Context(), r); hits(get(Hits)) != want {
				t.Errorf("seed %d: %+v: %d hits, want %d", seed, q, hits(get(Hits)), want)
			}
			for m, measure := range spec.Measures {
				if measure.Kind.ByMember {
					continue
				}
				ref := window.NewValue(spec, m)
				if measure.Kind.Additive {
					rows := window.NewTable(spec)
					if err := reference.Rows(t.Context(), r, m, rows); err != nil {
						t.Fatal(err)
					}
					rows.Seal()
					for row := range rows.Rows {
						ref.Add(row)
					}
				} else {
					state, err := reference.State(t.Context(), r, m)
					if err != nil {
						t.Fatal(err)
					}
					if err := ref.Load(state); err != nil {
						t.Fatal(err)
					}
				}
				want := Answer{Value: measured(ref)}
				if want.Value == nil { // no event had a number
					q.Measure = measure.Name
					if v, found, err := w.lookup(t.Context(), q); found || err != nil {
						t.Errorf("seed %d: %+v: %s (%v), want nothing", seed, q, shown(v), err)
					}
					continue
				}
				if got := get(measure.Name); !same(got, want) {
					t.Errorf("seed %d: %+v: measure %s is %s, want %s", seed, q, measure.Name, shown(got), shown(want))
				}
			}
			if len(q.Group) == 0 {
				var want geo.Last
				if err := reference.Places(t.Context(), r, 3, &want); err != nil {
					t.Fatal(err)
				}
				set := get("places").Value.(*geo.Set)
				if set.Len() != want.Len() {
					t.Errorf("seed %d: %d places, want %d", seed, set.Len(), want.Len())
				}
				want.All(func(_ int64, member []byte, _ geo.Stamp, score uint64) bool {
					if got, ok := set.Score(member); !ok || got != float64(score) {
						t.Errorf("seed %d: %s is at %v, want %v", seed, member, got, float64(score))
					}
					return true
				})
			}
		}
	}
}

// emptyWindows returns Windows with a job that has counted nothing.
func emptyWindows(t *testing.T, spec *window.Spec) *Windows {
	t.Helper()
	empty := window.NewTable(spec)
	empty.Seal()
	w := New(Config{Now: time.Now})
	w.Add(tableJob{empty}, newSink(t, spec))
	return w
}

func TestLookupOfNothing(t *testing.T) {
	spec := sinktest.Spec()
	w := emptyWindows(t, spec)
	for _, measure := range []string{Hits, "users", "places"} {
		if _, found, err := w.lookup(t.Context(), query{Job: spec.Job, Measure: measure, Until: 100}); found || err != nil {
			t.Errorf("%s: found %t, %v", measure, found, err)
		}
	}
	if _, _, err := w.lookup(t.Context(), query{Job: spec.Job, Measure: Hits, Group: make([][]byte, 3)}); !errors.Is(err, key.ErrQuestion) || !strings.Contains(err.Error(), "counts by page, country, and the key names 3 groups") {
		t.Errorf("three groups of two columns: %v", err)
	}
	if _, _, err := w.lookup(t.Context(), query{Job: spec.Job, Measure: "places", Group: [][]byte{[]byte("x")}}); err == nil {
		t.Error("places of one group: no error")
	}
}

// TestUnknown: a job or measure that does not exist is an error, which names the
// one that was likely meant; nothing of it is at hand, and what was sent cannot
// break the line.
func TestUnknown(t *testing.T) {
	spec := sinktest.Spec()
	w := emptyWindows(t, spec)
	for _, c := range []struct{ job, measure, want string }{
		{"siute", "users", "no job siute; is it suite?"},
		{"Suite", Hits, "no job Suite; is it suite?"},
		{"clicks", Hits, "no job clicks; there is suite"},
		{"a\r\nb", Hits, `no job "a\r\nb"; there is suite`},
		{strings.Repeat("x", 1<<20), Hits, "no job " + strings.Repeat("x", 64) + "…; there is suite"},
		{spec.Job, "usres", "job suite has no measure usres; is it users?"},
		{spec.Job, "hit", "job suite has no measure hit; is it hits?"},
		{spec.Job, "profit", "job suite has no measure profit; there is users, active, seen, places, dearest, cheapest, revenue, usual, entry, exit, …"},
	} {
		var unknown *key.UnknownError
		q := query{Job: c.job, Measure: c.measure, Until: 100}
		if _, found, err := w.lookup(t.Context(), q); found || !errors.As(err, &unknown) || err.Error() != c.want {
			t.Errorf("%.20q %q: %t, %v; want %s", c.job, c.measure, found, err, c.want)
		}
		if _, err := w.Kind(c.job, c.measure); !errors.As(err, &unknown) || err.Error() != c.want {
			t.Errorf("the kind of %.20q %q: %v; want %s", c.job, c.measure, err, c.want)
		}
	}
	for measure, want := range map[string]string{Hits: "hits", Partial: "partial", "users": "hll", "active": "bitmap", "seen": "bloom", "places": "geo"} {
		if kind, err := w.Kind(spec.Job, measure); kind.Name != want || err != nil {
			t.Errorf("%s is of kind %s, %v; want %s", measure, kind.Name, err, want)
		}
	}
}
