package sinktest

import (
	"fmt"
	"slices"
	"testing"

	"weir/event"
	"weir/measures/hll"
	"weir/sinks/memory"
	"weir/window"
)

// numbers: whole rows give the rollup their numbers. A Rollup takes those of a window if each group's are of all
// events, and makes the others of all rows: where two processes, two flushes, or a process with
// fewer measures gave them. A longer rollup has both.
//
// It shows in windows whose slots two writers fill with different users, which one log cannot do: taken numbers
// are those of one of the two, made ones those of both.
func numbers(t *testing.T, b Backend) {
	spec := Spec()
	spec.Measures = slices.DeleteFunc(spec.Measures, func(m window.Measure) bool { return m.Kind.Additive })
	more := Spec()
	more.Measures = append(slices.Clone(spec.Measures), window.Measure{Name: "others", Kind: hll.Kind, Path: "user"})
	const taken, twice, split, beside, added, alone = 0, 1, 2, 3, 4, 100 // windows; alone is in an hour of its own
	rollup := func(s Sink) {
		t.Helper()
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}

	s := open(t, b, spec)
	other := begin(t, s, spec, 1)
	other.flush()
	rollup(s)

	whole := begin(t, s, spec, 0)
	whole.count(taken, "/a", 0, 5)
	whole.count(twice, "/a", 0, 3)
	whole.count(beside, "/a", 0, 5)
	whole.count(beside, "/b", 0, 3)
	whole.count(added, "/a", 0, 5)
	whole.count(alone, "/a", 0, 5)
	whole.flush()
	got := b.Rolled(t, spec, Rollups[0])
	for _, at := range []int{taken, beside, added, alone} {
		if n := got[rowKey(at, "/a")]; n.Hits != 5 || n.Measures["users"] != 5 || n.Measures["people"] != 5 || n.Measures["active"] != 5 || n.Measures["dearest"] == 0 {
			t.Errorf("the flush gave window %d %v", at, n)
		}
	}
	whole.count(beside, "/b", 3, 7)
	whole.count(split, "/a", 0, 3)
	whole.flush()
	whole.count(split, "/a", 3, 7)
	whole.flush()

	other.count(twice, "/a", 3, 7)
	other.flush()

	liar := begin(t, s, spec, 0)
	liar.count(taken, "/a", 10, 15)
	liar.count(beside, "/a", 10, 15)
	liar.flush()

	check := func(spec *window.Spec, what string, wants map[int]uint64) {
		t.Helper()
		got := b.Rolled(t, spec, Rollups[0])
		for at, want := range wants {
			if n := got[rowKey(at, "/a")]; n.Measures["users"] != want || n.Measures["people"] != want || n.Measures["active"] != want {
				t.Errorf("%s, window %d has %v, want %d users", what, at, n, want)
			}
		}
		if n := got[rowKey(beside, "/b")]; n.Hits != 7 || n.Measures["users"] != 7 {
			t.Errorf("%s, the group beside has %v", what, n)
		}
		hour := rowKey(alone, "/a")
		hour.Window -= hour.Window % Rollups[1]
		if n := b.View(t, spec, Rollups[1])[hour]; n.Hits != 5 || n.Measures["users"] != 5 {
			t.Errorf("%s, the hour of window %d has %v", what, alone, n)
		}
	}
	wants := map[int]uint64{taken: 5, twice: 7, split: 7, beside: 10, added: 5}
	for range 2 {
		rollup(s)
		check(spec, "rolled up", wants)
	}

	newer := open(t, b, more)
	later := begin(t, newer, more, 0)
	later.count(added, "/a", 0, 3)
	later.flush()
	later.count(added, "/a", 3, 5)
	later.flush()

	rollup(s) // which lacks a measure
	rollup(newer)
	delete(wants, taken) // it trusts no numbers of fewer measures, if it looks at the window again
	check(more, "rolled up with a measure more", wants)
	if n := b.Rolled(t, more, Rollups[0])[rowKey(added, "/a")]; n.Measures["others"] != 5 {
		t.Errorf("the measure that was added has %v, want 5", n)
	}
}

// rowKey is the key of a page's row in a window of the suite's job.
func rowKey(at int, page string) memory.Key {
	return memory.Key{Window: base - base%Rollups[0] + event.Time(at)*Rollups[0], Group: page + "\x00??\x00"}
}

// A writer counts events of one partition into a sink.
type writer struct {
	t         *testing.T
	to        Sink
	op        *window.Operator
	partition int32
	next      int64
}

func begin(t *testing.T, to Sink, spec *window.Spec, partition int32) *writer {
	t.Helper()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{Partition: partition, TopicID: topicID})
	return &writer{t, to, op, partition, 0}
}

// count counts an event of each of some users in a window of the suite's job.
func (w *writer) count(at int, page string, from, to int) {
	w.t.Helper()
	batch := event.Batch{Partition: w.partition, First: w.next, Next: w.next}
	for user := from; user < to; user++ {
		ts := base + event.Time(at)*Rollups[0]
		batch.Records = append(batch.Records, event.Record{Offset: batch.Next, Time: ts, Value: fmt.Appendf(nil,
			`{"id":"p%de%d","ts":%d,"user":%d,"page":"%s","action":"view","price":%d,"lon":1,"lat":1}`, w.partition, batch.Next, ts, user, page, user+1)})
		batch.Next++
	}
	w.next = batch.Next
	if err := w.op.Observe(&batch); err != nil {
		w.t.Fatal(err)
	}
}

// flush writes what was counted, and an event of a later window: a sink may wait for more of the latest one.
func (w *writer) flush() {
	w.t.Helper()
	w.count(200, "/x", 0, 1)
	c := w.op.Take()
	c.Table.Seal()
	write(w.t, w.to, c)
}
