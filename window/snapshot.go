package window

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"

	"weir/event"
)

// A Range selects rows for a live read: windows that start in [From, Until), from
// Oldest until Newest for all; and for each dimension one text, or nil for any.
type Range struct {
	From, Until event.Time
	Group       [][]byte

	// Only, if not nil, says what to copy of the rows: measures by index, and
	// Counts. It saves the worker the copying of what the reader does not need.
	Only []int
}

// Counts stands for the counts in Range.Only.
const Counts = -1

// Oldest and Newest are before and after every window.
const Oldest, Newest = event.Time(math.MinInt64), event.Time(math.MaxInt64)

func (r *Range) wants(measure int) bool { return r.Only == nil || slices.Contains(r.Only, measure) }

// Has reports whether the range selects a window.
func (r *Range) Has(window event.Time) bool { return window >= r.From && window < r.Until }

// Match reports whether the range selects a group, given as one text per dimension.
func (r *Range) Match(group [][]byte) bool {
	for i, want := range r.Group {
		if want != nil && !bytes.Equal(want, group[i]) {
			return false
		}
	}
	return true
}

// Selected yields the rows of a sealed table that a range selects, in the order of Rows.
func (t *Table) Selected(r *Range) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		first, _ := slices.BinarySearchFunc(t.order, r.From, func(i uint32, from event.Time) int {
			return cmp.Compare(t.rows[i].window, from)
		})
		var group [][]byte
		for _, i := range t.order[first:] {
			w := &t.rows[i]
			if w.window >= r.Until {
				return
			}
			if group = splitGroup(group[:0], t.key(w), len(t.spec.By)); r.Match(group) && !yield(Row{t, i}) {
				return
			}
		}
	}
}

// Snapshot copies the selected rows of what the operator has counted since the
// last Take, counts included, into an unsealed table. Merged with the
// snapshots of the other workers, with what waits to be flushed, and with
// what the sink holds, it is the answer as of now. It does not change what the
// operator counts.
func (o *Operator) Snapshot(into *Table, r *Range) {
	moved := o.table.Copy(into, r)
	for _, p := range o.sorted() {
		o.partitions[p].show(into, r, moved)
	}
}

// show copies what report would put into a table, of the selected rows; moved is that of
// Table.Copy.
func (pt *Partition) show(into *Table, r *Range, moved []uint32) {
	slot := pt.slot()
	for _, i := range pt.dirty {
		c := &pt.cells[i]
		to := moved[c.row]
		if to == 0 {
			continue
		}
		if r.wants(Counts) {
			into.hits = append(into.hits, hit{to - 1, slot, uint64(c.count)})
		}
		for m, t := range pt.tallies {
			if t != nil && r.wants(m) {
				t.Report(i, slot, into.columns[m], to-1)
			}
		}
	}
}

// Copy merges the selected rows into another table. moved has for each row of t its
// row there + 1, or 0 if it was not selected.
func (t *Table) Copy(into *Table, r *Range) (moved []uint32) {
	into.sealed = false
	moved = make([]uint32, len(t.rows))
	wanted := make([]bool, len(t.columns))
	for c := range wanted {
		wanted[c] = r.wants(c)
	}
	var group [][]byte
	for i := range t.rows {
		w := &t.rows[i]
		if !r.Has(w.window) {
			continue
		}
		key := t.key(w)
		group = splitGroup(group[:0], key, len(t.spec.By))
		if r.Match(group) {
			moved[i] = t.copyRow(into, uint32(i), wanted) + 1
		}
	}
	if r.wants(Counts) {
		for _, h := range t.hits {
			if to := moved[h.row]; to != 0 {
				into.hits = append(into.hits, hit{to - 1, h.slot, h.count})
			}
		}
	}
	for c := range t.columns {
		switch to := into.Positions(c); {
		case to == nil || !wanted[c]:
		case r.From == Oldest && r.Until == Newest:
			to.Merge(t.Positions(c)) // of an empty one that is a copy
		default:
			to.Gather(t.Positions(c), func(window int64) (int64, bool) { return window, r.Has(event.Time(window)) })
		}
	}
	return moved
}

// copyRow merges one row's sketches, of the wanted measures (nil: all), into
// another table and returns its row there. It is whole if both are.
func (t *Table) copyRow(into *Table, i uint32, wanted []bool) uint32 {
	key := t.key(&t.rows[i])
	// rowHash is not undone: the group's own hash is worked out again.
	to := into.row(t.rows[i].window, key, groupHash(key))
	into.rows[to].partial = into.rows[to].partial || t.rows[i].partial
	for c := range t.columns {
		if wanted != nil && !wanted[c] {
			continue
		}
		into.columns[c].Merge(to, t.columns[c], i)
	}
	return to
}
