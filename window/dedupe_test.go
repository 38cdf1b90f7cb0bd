package window_test

import (
	"fmt"
	"testing"

	"weir/event"
	. "weir/window"
)

// TestExactDedupe: of events with ids of their own, a job with Bloom filters takes some
// for repeats, and one that keeps the ids takes none, and finds each real one.
func TestExactDedupe(t *testing.T) {
	const chunk, n = 1 << 13, 1 << 15
	outcomes := func(d Dedupe, ids int64) (o [Outcomes]uint64) {
		s := clicks()
		s.Chunk, s.Dedupe, s.Where = chunk, &d, nil
		b := event.Batch{Next: n}
		for i := range int64(n) {
			at := event.Time(1_763_600_000_000)
			b.Records = append(b.Records, event.Record{Offset: i, Time: at, Value: fmt.Appendf(nil, `{"id":"e%d","ts":%d,"user":1,"page":"/"}`, i%ids, at)})
		}
		op := newOperator(t, s)
		op.Start(Plan{})
		observe(t, op, b)
		for _, l := range op.Take().Lines {
			for f, n := range l.Outcomes {
				o[f] += n
			}
		}
		return o
	}
	if o := outcomes(Dedupe{Path: "id", Error: 0.1}, n); o[Duplicate] < n/1000 {
		t.Errorf("Bloom filters with an error of 10 %%: %d of %d events are taken for repeats", o[Duplicate], n)
	}
	exact := Dedupe{Path: "id", Exact: true}
	if o := outcomes(exact, n); o[Counted] != n {
		t.Errorf("exact: %d of %d events are counted, %d are repeats", o[Counted], n, o[Duplicate])
	}
	// Each event comes again in the next chunk, and again.
	if o := outcomes(exact, chunk); o[Counted] != chunk || o[Duplicate] != n-chunk {
		t.Errorf("exact: %d are counted and %d are repeats, want %d and %d", o[Counted], o[Duplicate], chunk, n-chunk)
	}
}

func BenchmarkExactID(b *testing.B) {
	text := []byte("0123456789abcdef0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		ExactID(text)
	}
}

// TestOrderOfOutcomes: of several outcomes that fit an event, it has the first in the order of docs/concepts.md.
func TestOrderOfOutcomes(t *testing.T) {
	s := plainSpec()
	s.By = []Dimension{{Name: "page", Path: "page"}}
	s.Where = []Condition{{Path: "kind", Is: `"view"`}}
	s.Dedupe = &Dedupe{Path: "id", Exact: true}
	s.Throttle = &Throttle{Path: "user", Limit: 2, Per: 60_000}
	const now = 1_763_600_000_000
	j, err := NewJudge(s)
	if err != nil {
		t.Fatal(err)
	}
	j.Start(0, 0, 0)
	for i, c := range []struct {
		outcome Outcome
		doc     string
	}{
		{Malformed, `{"kind":"click"`},
		{Filtered, `{"kind":"click","ts":"no time"}`},
		{Malformed, `{"kind":"view","ts":1,"id":"a","user":"u"}`}, // no page, and late
		{Malformed, `{"kind":"view","ts":1,"page":"/","user":"u"}`},
		{Malformed, `{"kind":"view","ts":1,"page":"/","id":"a"}`},
		{Late, `{"kind":"view","ts":1,"page":"/","id":"a","user":"u"}`},
		{Counted, `{"kind":"view","ts":1763600000000,"page":"/","id":"a","user":"u"}`},
		{Late, `{"kind":"view","ts":1,"page":"/","id":"a","user":"u"}`},
		{Counted, `{"kind":"view","ts":1763600000000,"page":"/","id":"b","user":"u"}`},
		{Duplicate, `{"kind":"view","ts":1763600000000,"page":"/","id":"a","user":"u"}`}, // and beyond the limit
		{Throttled, `{"kind":"view","ts":1763600000000,"page":"/","id":"c","user":"u"}`},
		{Duplicate, `{"kind":"view","ts":1763600090000,"page":"/","id":"c","user":"u"}`},
		{Throttled, `{"kind":"view","ts":1763600060000,"page":"/","id":"d","user":"u"}`}, // its clock is fast: at the time of its record
		{Throttled, `{"kind":"view","ts":1763600000000,"page":"/","id":"e","user":"u"}`},
		{Throttled, `{"kind":"view","ts":1763600000000,"page":"/","id":"f","user":"u"}`},
	} {
		rec := event.Record{Offset: int64(i), Time: now, Value: []byte(c.doc)}
		err := j.Observe(&event.Batch{First: rec.Offset, Next: rec.Offset + 1, Records: []event.Record{rec}}, func(v *Verdict) error {
			if v.Outcome != c.outcome {
				t.Errorf("event %d, %s: %s, want %s", i, c.doc, v.Outcome, c.outcome)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
