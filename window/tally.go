package window

import (
	"iter"
	"unsafe"
)

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

// slots is what columns of Additive kinds have in common: for each row a value for each
// slot, slots ascending. V is such a value, without pointers. Most entries do not move while
// their number grows.
type slots[V any] struct {
	first  []uint32         // by row: its first entry + 1; 0: none
	blocks [][]slotEntry[V] // of entryBlock entries each
	n      uint32           // entries
}

type slotEntry[V any] struct {
	slot  Slot
	next  uint32 // entry + 1
	value V
}

const entryBlock = 1 << 8

func (s *slots[V]) entry(i uint32) *slotEntry[V] { return &s.blocks[i/entryBlock][i%entryBlock] }

func (s *slots[V]) grow(n int) {
	for len(s.first) < n {
		s.first = append(s.first, 0)
	}
}

func (s *slots[V]) reset() { s.first, s.n = s.first[:0], 0 }

func (s *slots[V]) bytes() int {
	n := 0
	for _, b := range s.blocks {
		n += cap(b)
	}
	return cap(s.first)*4 + n*int(unsafe.Sizeof(slotEntry[V]{}))
}

// at finds or makes the value of a slot in row i. The pointer is valid until the next call. A row
// has few slots: one for each partition and chunk that has events of it.
func (s *slots[V]) at(i uint32, slot Slot) (value *V, isNew bool) {
	link := &s.first[i]
	for *link != 0 {
		e := s.entry(*link - 1)
		if e.slot == slot {
			return &e.value, false
		}
		if e.slot > slot {
			break
		}
		link = &e.next
	}
	e := slotEntry[V]{slot: slot, next: *link}
	*link = s.n + 1 // before add, which may move the first block
	return &s.add(e).value, true
}

// add puts an entry behind the others. The first block grows, because most tables have few.
func (s *slots[V]) add(e slotEntry[V]) *slotEntry[V] {
	b := s.n / entryBlock
	if int(b) == len(s.blocks) {
		s.blocks = append(s.blocks, make([]slotEntry[V], 0, min(b, 1)*entryBlock))
	}
	s.blocks[b] = append(s.blocks[b][:s.n%entryBlock], e)
	s.n++
	return s.entry(s.n - 1)
}

// of yields the slots of row i and their values, slots ascending. It is copied into its caller, which
// allocates nothing then.
func (s *slots[V]) of(i uint32) iter.Seq2[Slot, *V] {
	return func(yield func(Slot, *V) bool) { s.each(i, yield) }
}

func (s *slots[V]) each(i uint32, yield func(Slot, *V) bool) {
	for at := s.first[i]; at != 0; {
		e := s.entry(at - 1)
		if !yield(e.slot, &e.value) {
			return
		}
		at = e.next
	}
}

// added is embedded in the kinds whose values are added up across windows and groups.
type added struct{}

func (added) ByMember() bool { return false }

func (added) Additive() bool { return true }

func (added) HoldsValues() bool { return false }
