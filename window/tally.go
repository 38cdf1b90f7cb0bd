package window

import "iter"

// Whole is the slot under which a rollup keeps the total of a window, all slots together.
// No chunk has it: see MakeSlot.
const Whole = ^Slot(0)

// A tally is what a partition keeps of an Additive measure for the chunk that it reads: a
// value for each cell, of all its events since the beginning of the chunk. A flush sends
// that, and not what is new, as with counts: then the later of two values of a slot
// replaces the earlier one, and a repeat changes nothing.
type tally interface {
	store
	// report puts the value of a cell into a row of a column of the measure, under the slot
	// of the chunk.
	report(cell uint32, slot Slot, to column, row uint32)
}

// An adder is the column of an Additive kind.
type adder interface {
	column
	// plus adds the total of row j of a column of the same measure to that of row i.
	plus(i uint32, from column, j uint32)
}

// Added returns a row with the total of measure m over all rows of the table. The
// measure's kind is Additive.
func (t *Table) Added(m int) Row {
	of := &t.spec.Measures[m]
	sum := &Table{spec: t.spec, columns: make([]column, len(t.columns))}
	sum.columns[m] = of.Kind.column(of)
	sum.columns[m].grow(1)
	for i := range t.rows {
		sum.columns[m].(adder).plus(0, t.columns[m], uint32(i))
	}
	return Row{sum, 0}
}

// CopyMeasure merges measure m of the row into the row of the same window and group of
// another table of the same spec.
func (r Row) CopyMeasure(into *Table, m int) {
	wanted := make([]bool, len(r.t.columns))
	wanted[m] = true
	into.sealed = false
	r.t.copyRow(into, r.i, wanted)
}

// slots is what columns of Additive kinds have in common: for each row a value for each
// slot, slots ascending. V is such a value.
type slots[V any] struct {
	first   []uint32 // by row: its first entry + 1; 0: none
	entries []slotEntry[V]
}

type slotEntry[V any] struct {
	slot  Slot
	next  uint32 // entry + 1
	value V
}

func (s *slots[V]) grow(n int) {
	for len(s.first) < n {
		s.first = append(s.first, 0)
	}
}

func (s *slots[V]) reset() {
	clear(s.entries) // values may hold memory
	s.first, s.entries = s.first[:0], s.entries[:0]
}

func (s *slots[V]) bytes() int {
	const entry = 48
	return cap(s.first)*4 + cap(s.entries)*entry
}

// at finds or makes the value of a slot in row i. The pointer is valid until the next
// call. A row has few slots: one for each partition and chunk that has events of it.
func (s *slots[V]) at(i uint32, slot Slot) (value *V, isNew bool) {
	before, at := uint32(0), s.first[i]
	for at != 0 && s.entries[at-1].slot < slot {
		before, at = at, s.entries[at-1].next
	}
	if at != 0 && s.entries[at-1].slot == slot {
		return &s.entries[at-1].value, false
	}
	s.entries = append(s.entries, slotEntry[V]{slot: slot, next: at})
	made := uint32(len(s.entries))
	if before == 0 {
		s.first[i] = made
	} else {
		s.entries[before-1].next = made
	}
	return &s.entries[made-1].value, true
}

// of yields the slots of row i and their values, slots ascending.
func (s *slots[V]) of(i uint32) iter.Seq2[Slot, *V] {
	return func(yield func(Slot, *V) bool) {
		for at := s.first[i]; at != 0; at = s.entries[at-1].next {
			if e := &s.entries[at-1]; !yield(e.slot, &e.value) {
				return
			}
		}
	}
}

// added is embedded in the kinds whose values are added up across windows and groups.
type added struct{}

func (added) ByMember() bool { return false }

func (added) Additive() bool { return true }

func (added) HoldsValues() bool { return false }
