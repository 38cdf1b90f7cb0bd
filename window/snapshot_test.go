package window

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"weir/event"
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

		// The twin gives its whole state away and must be rebuilt, so it is
		// asked last of all: compare with a filtered Take of a fresh run.
		want := twin.Take()
		filtered := &Changes{Table: NewTable(s)}
		want.Table.Copy(filtered.Table, sel)
		if g, w := render(got), render(filtered); g != w {
			t.Fatalf("snapshot differs from a take:\n%s", diff(w, g))
		}
		rows += got.Table.Len()
		for row := range got.Table.Rows {
			if !sel.has(row.Window()) || sel.Group[1] != nil && !bytes.Equal(row.Group(nil)[1], sel.Group[1]) {
				t.Fatalf("row %d %q was not asked for", row.Window(), row.Group(nil))
			}
		}
		op.Take() // keep in step with the twin
	}
	if rows < 15 {
		t.Fatalf("only %d rows seen: the test tests nothing", rows)
	}
}
