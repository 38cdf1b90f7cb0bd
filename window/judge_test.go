package window_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"weir/event"
	"weir/measures/hll"
	"weir/measures/sum"
	. "weir/window"
)

// TestJudge: the verdicts of a judge are what an operator counts: the same outcomes by
// chunk, dead letters, windows and groups. Another judge, which begins at any offset and
// reads from where Before says, has the same verdicts.
func TestJudge(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := variant(seed)
		s.MaxGroups = 1000 // so that a row has the group of its events
		log := logOf(r, 400)
		end := log[len(log)-1].Offset + 1

		op := newOperator(t, s)
		op.Start(Plan{})
		observe(t, op, batches(r, 0, log, 0, end)...)
		c := op.Take()
		c.Table.Seal()
		type tally struct {
			outcomes map[int64][Outcomes]uint64 // by chunk
			dead     map[int64]string           // without unreadable batches, which the operator cuts at chunks
			rows     map[string]uint64
		}
		want := tally{map[int64][Outcomes]uint64{}, map[int64]string{}, map[string]uint64{}}
		got := tally{map[int64][Outcomes]uint64{}, map[int64]string{}, map[string]uint64{}}
		for _, l := range c.Lines {
			o := l.Outcomes
			if o[Gap] = 0; o != [Outcomes]uint64{} {
				want.outcomes[l.Chunk] = o
			}
		}
		for _, d := range c.Dead {
			if d.Size > 0 {
				want.dead[d.Offset] = fmt.Sprint(d.Outcome, d.Reason, d.Time, d.Size)
			}
		}
		for row := range c.Table.Rows {
			for slot, n := range row.Hits {
				want.rows[fmt.Sprintf("%d %d %q", slot, row.Window(), row.Group(nil))] += n
			}
		}

		verdicts := func(first int64) map[int64]string {
			all, last := map[int64]string{}, first-1
			j, err := NewJudge(s)
			if err != nil {
				t.Fatal(err)
			}
			j.Start(0, s.Before(first), first)
			tell := func(v *Verdict) error {
				if v.Offset <= last || (v.Reason == "") != (v.Outcome == Counted) || v.Decoded != (v.Outcome != Malformed && v.Outcome != Filtered) {
					t.Fatalf("seed %d: after offset %d: %+v", seed, last, v)
				}
				last = v.Offset + v.Records - 1
				for at := v.Offset; at <= last; at++ {
					all[at] = fmt.Sprint(v.Outcome, v.Reason, v.Record, v.Size, v.Decoded, v.Time, v.Window, v.Group)
					if first > 0 {
						continue
					}
					chunk := at / s.Chunk
					o := got.outcomes[chunk]
					o[v.Outcome]++
					got.outcomes[chunk] = o
					if v.Outcome == Counted {
						got.rows[fmt.Sprintf("%d %d %q", MakeSlot(0, 0, chunk), v.Window, v.Group)]++
					} else if v.Size > 0 && v.Outcome != Filtered && v.Outcome != Duplicate && v.Outcome != Throttled {
						got.dead[at] = fmt.Sprint(v.Outcome, v.Reason, v.Record, v.Size)
					}
				}
				return nil
			}
			for _, b := range batches(r, 0, log, s.Before(first), end) {
				for range 2 { // a second time, which changes nothing
					if err := j.Observe(&b, tell); err != nil {
						t.Fatal(err)
					}
				}
			}
			return all
		}
		all := verdicts(0)
		if !maps.Equal(got.outcomes, want.outcomes) || !maps.Equal(got.dead, want.dead) || !maps.Equal(got.rows, want.rows) {
			t.Fatalf("seed %d: the judge has\n%v\nthe operator\n%v", seed, got, want)
		}
		first := 1 + r.Int64N(end)
		maps.DeleteFunc(all, func(at int64, _ string) bool { return at < first })
		if some := verdicts(first); !maps.Equal(some, all) {
			t.Fatalf("seed %d: verdicts from offset %d on differ from those of the whole log", seed, first)
		}
	}

	j, err := NewJudge(clicks())
	if err != nil {
		t.Fatal(err)
	}
	b := event.Batch{Partition: 1, Next: 2, Records: []event.Record{{Offset: 0}, {Offset: 1}}}
	if err := j.Observe(&b, func(*Verdict) error { return nil }); err == nil {
		t.Error("a partition that was not started")
	}
	j.Start(1, 0, 0)
	enough := errors.New("enough")
	if err := j.Observe(&b, func(*Verdict) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v, want %v", err, enough)
	}
}

// TestFound: a judge knows what the events that count have for each measure, and where events have values. What it only
// remembers is not among them, nor what an unreadable event seems to have of the one before.
func TestFound(t *testing.T) {
	s := plainSpec()
	s.Dedupe = &Dedupe{Path: "id", Exact: true}
	s.Where = []Condition{{Path: "action", NotIn: []string{"no"}}}
	s.Measures = []Measure{{Name: "users", Kind: hll.Kind, Path: "[user][page]", Optional: true}, {Name: "one", Kind: hll.Kind, Path: "page", Optional: true},
		{Name: "sum", Kind: sum.Sum, Path: "n", Scale: 1, Round: true, Bad: "skip", Default: "2", HasDefault: true}}
	events := []string{
		`{"ts":1763600000000,"id":0,"user":"w","page":"p","n":1}`, // remembered
		`{"ts":1763600000000,"id":1,"user":"","page":"","n":0.25}`, `{"ts":1763600000000,"id":2,"user":"","page":"\"p\"","n":"x"}`, `{"ts":1763600000000,"id":2,"page":"p"}`, `{"ts":1763600000000,"id":3,"page":"\"","n":null}`,
		`{"ts":1763600000000,"id":4,"page":"p","action":"no"}`, `{"ts":1763600000000,"id":`, ``, `{"ts":1763600000000,"id":5}`,
	}
	for _, each := range []string{"", "list"} {
		s.Each = each
		j, err := NewJudge(s)
		if err != nil {
			t.Fatal(err)
		}
		j.Start(0, 0, 1)
		b := event.Batch{Next: int64(len(events))}
		for i, value := range events {
			if each != "" && value != "" {
				value = `{"list":[` + value + `]}`
			}
			b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 1_763_600_000_000, Value: []byte(value)})
		}
		b.Records[8].Time = 7
		if err := j.Observe(&b, func(*Verdict) error { return nil }); err != nil {
			t.Fatal(err)
		}
		got := j.Found()
		if want := []Values{{All: 2, Quoted: 1}, {All: 3, Empty: 1, Quoted: 1}, {All: 3, Rounded: 1, Skipped: 1}}; fmt.Sprint(got.Measures) != fmt.Sprint(want) {
			t.Errorf("each %q: %+v, want %+v", each, got.Measures, want)
		}
		if want := map[string]uint64{"ts": 6, "id": 6, "user": 2, "page": 5, "n": 2, "action": 1}; !maps.Equal(got.Paths, want) || got.Timeless != 1 {
			t.Errorf("each %q: %v, want %v; %d without a time", each, got.Paths, want, got.Timeless)
		}
	}
}
