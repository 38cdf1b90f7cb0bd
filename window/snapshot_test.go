package window_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"weir/event"
	"weir/measures/geo"
	"weir/measures/hll"
	geosketch "weir/sketches/geo"
	. "weir/window"
)

// TestSnapshot: what a live read sees of an operator in the middle of its
// work is what a Take at that moment would have written, for the selected
// rows, and reading changes nothing.
func TestSnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s := clicks()
	log := logOf(r, 400)
	end := log[len(log)-1].Offset + 1
	op, twin := newOperator(t, s), newOperator(t, s)
	op.Start(Plan{})
	twin.Start(Plan{})
	rows := 0
	for _, b := range batches(r, 0, log, 0, end) {
		observe(t, op, b)
		observe(t, twin, b)
		if r.IntN(6) == 0 {
			op.Take()
			twin.Take()
			continue
		}
		from := log[0].Time - event.Time(r.IntN(100_000))
		sel := &Range{From: from, Until: from + event.Time(r.IntN(400_000)), Group: [][]byte{nil, nil}}
		if r.IntN(2) == 0 {
			sel.Group[1] = []byte("DE")
		}
		got := &Changes{Table: NewTable(s)}
		op.Snapshot(got.Table, sel)

		// A Take empties the operator, so it is done on a second operator that
		// has observed the same batches.
		want := twin.Take()
		filtered := &Changes{Table: NewTable(s)}
		want.Table.Copy(filtered.Table, sel)
		if g, w := render(got), render(filtered); g != w {
			t.Fatalf("snapshot differs from a take:\n%s", diff(w, g))
		}
		rows += got.Table.Len()

		// If one measure, or the counts, are asked for, the others stay empty.
		for _, only := range [][]int{{Counts}, {0}} {
			part := &Changes{Table: NewTable(s)}
			op.Snapshot(part.Table, &Range{From: sel.From, Until: sel.Until, Group: sel.Group, Only: only})
			part.Table.Seal()
			for row := range part.Table.Rows {
				if pool, i := hll.Of(row, 0); (pool.Count(i) > 0) != (only[0] == 0) {
					t.Fatalf("asked for the measures %v, the first counts %d", only, pool.Count(i))
				}
				if (len(maps.Collect(row.Hits)) > 0) != (only[0] == Counts) {
					t.Fatalf("asked for %v, row %d %q has %d counts", only, row.Window(), row.Group(nil), len(maps.Collect(row.Hits)))
				}
			}
			for m := range s.Measures {
				if p := part.Table.Positions(m); p != nil && p.Len() > 0 {
					t.Fatalf("places of measure %d, which was not asked for", m)
				}
			}
		}
		for row := range got.Table.Rows {
			if !sel.Has(row.Window()) || sel.Group[1] != nil && !bytes.Equal(row.Group(nil)[1], sel.Group[1]) {
				t.Fatalf("row %d %q was not asked for", row.Window(), row.Group(nil))
			}
		}
		op.Take() // keep in step with the twin
	}
	if rows < 15 {
		t.Fatalf("only %d rows seen: the test tests nothing", rows)
	}
}

// TestLoad: a table written out as the sink stores it and read back is the
// same table, and reading it into one that has it already changes nothing.
func TestLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	s := clicks()
	log := logOf(r, 400)
	c := whole(t, s, map[int32][]event.Record{0: log}, log[len(log)-1].Offset+1)
	c.Table.Seal()
	back := NewTable(s)
	load := func() {
		for row := range c.Table.Rows {
			hits := map[uint64]uint64{}
			for slot, n := range row.Hits {
				hits[uint64(slot)] = n
			}
			states := make([][]byte, len(s.Measures))
			for m := range s.Measures {
				if s.Measures[m].Kind != geo.Kind {
					states[m] = row.AppendState(nil, m)
				}
			}
			if err := back.Load(row.Window(), row.Group(nil), hits, states); err != nil {
				t.Fatal(err)
			}
		}
		for m := range s.Measures {
			if p := c.Table.Positions(m); p != nil {
				p.Each(func(w int64, member []byte, st geosketch.Stamp, score uint64) bool {
					back.Positions(m).Put(w, member, st, score)
					return true
				})
			}
		}
	}
	want := render(&Changes{Table: c.Table})
	for range 2 {
		load()
		if got := render(&Changes{Table: back}); got != want {
			t.Fatalf("read back differs:\n%s", diff(want, got))
		}
	}
	if err := back.Load(0, [][]byte{nil, nil}, nil, [][]byte{{9, 9, 9}}); err == nil {
		t.Error("a malformed HLL state was taken")
	}
}

// TestFind: every row is found by its window and group, and no other.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	texts := [][]byte{{}, []byte("a"), []byte("ab"), []byte("b"), bytes.Repeat([]byte("long"), 40)}
	for dimensions := range 4 {
		s := &Spec{By: make([]Dimension, dimensions)}
		table := NewTable(s)
		if _, ok := table.Find(0, make([][]byte, dimensions)); ok {
			t.Fatal("found in an empty table")
		}
		there := map[string]bool{}
		name := func(start event.Time, group [][]byte) string { return fmt.Sprintf("%d %q", start, group) }
		any := func() (event.Time, [][]byte) {
			group := make([][]byte, dimensions)
			for i := range group {
				group[i] = texts[r.IntN(len(texts))]
			}
			return event.Time(r.IntN(30)), group
		}
		for range 60 {
			start, group := any()
			there[name(start, group)] = true
			if err := table.Load(start, group, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		table.Seal()
		found := 0
		for range 2000 {
			start, group := any()
			row, ok := table.Find(start, group)
			if ok != there[name(start, group)] {
				t.Fatalf("%d %q: found %v", start, group, ok)
			}
			if ok {
				found++
				if got := name(row.Window(), row.Group(nil)); got != name(start, group) {
					t.Fatalf("%s was found for %d %q", got, start, group)
				}
			}
		}
		if found < 5 {
			t.Fatalf("only %d found: the test tests nothing", found)
		}
	}
}
