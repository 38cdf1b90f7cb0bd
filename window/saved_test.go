package window_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/topk"
	. "weir/window"
)

// TestSaved: a partition goes on where the ledger has its state. It reads the chunk again if the state is
// damaged, is of a process that counts otherwise, ends beyond the position, or is too large.
func TestSaved(t *testing.T) {
	spec := func() *Spec {
		return &Spec{
			Job: "saved", Version: 1, TimeUnit: event.RecordTime, Window: 60_000, Skew: 1000, Chunk: 1 << 12, MaxGroups: 5000, SaveAfter: 100,
			By: []Dimension{{Name: "page", Path: "page"}}, Measures: []Measure{{Name: "often", Kind: topk.Kind, Path: "user", K: 3}},
		}
	}
	record := func(offset int64, user string) event.Record {
		if strings.Contains(user, "%") {
			user = fmt.Sprintf(user, offset)
		}
		return event.Record{Offset: offset, Time: 1_763_600_040_000, Value: fmt.Appendf(nil, `{"page":"/%d","user":"%s"}`, offset%3, user)}
	}
	read := func(s *Spec, from, to int64, user string) *Changes {
		op := newOperator(t, s)
		op.Start(Plan{Partition: 2, Warm: from, Start: from, Lost: from})
		for o := from; o < to; o++ {
			observe(t, op, event.Batch{Partition: 2, First: o, Next: o + 1, Records: []event.Record{record(o, user)}})
		}
		return op.Take()
	}
	s := spec()
	line := read(s, 1<<12, 1<<12+300, "anna").Lines[0]
	if again := read(s, 1<<12, 1<<12+300, "anna").Lines[0]; line.Saved == "" || again != line {
		t.Errorf("two processes have the states %x and %x", line.Saved, again.Saved)
	}
	start := func(s *Spec, k Known, position, logStart int64) int64 {
		plan, err := s.Resume(event.Assignment{Partition: 2, Committed: position, LogStart: logStart, LogEnd: 1 << 20}, map[int32]Known{2: k}, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if (plan.Saved != "") != (plan.Start == line.Next) {
			t.Errorf("from %d with the state %x", plan.Start, plan.Saved)
		}
		newOperator(t, s).Start(plan)
		return plan.Start
	}
	known := line.Known()
	if from := start(s, known, known.Next, 1<<12+200); from != known.Next {
		t.Errorf("goes on at %d, the state ends at %d", from, known.Next)
	}

	other, capped := spec(), spec()
	other.Measures = append(other.Measures, Measure{Name: "more", Kind: topk.Kind, Path: "page", K: 3})
	capped.MaxGroups = 6000
	damaged := known
	damaged.Saved = known.Saved[:len(known.Saved)-1] + "?"
	for name, from := range map[string]int64{
		"one more measure": start(other, known, known.Next, 0),
		"another cap":      start(capped, known, known.Next, 0),
		"a damaged state":  start(s, damaged, known.Next, 0),
		"a lower position": start(s, known, known.Next-1, 0),
	} {
		if from != 1<<12 {
			t.Errorf("%s: goes on at %d", name, from)
		}
	}

	large := spec()
	large.By[0].Path = "user"
	for name, l := range map[string]Line{"before SaveAfter": read(s, 0, 99, "anna").Lines[0], "a large state": read(large, 0, 2000, "%0990d").Lines[0]} {
		if l.Saved != "" {
			t.Errorf("%s: a state of %d bytes", name, len(l.Saved))
		}
	}
	if l := read(s, 0, 1<<12, "anna").Lines[0]; len(l.Saved) != 8 || !(l.Saved > read(s, 0, 1<<12-1, "anna").Lines[0].Saved) {
		t.Errorf("a whole chunk has the state %x, want only its end", l.Saved)
	}
}
