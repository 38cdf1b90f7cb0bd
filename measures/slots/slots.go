// Package slots holds the values of columns that add up: one for each slot of each row, in
// memory that the garbage collector hardly sees. The kinds sum, quantile and topk share it.
//
//	slots.go  Slots: the slots of each row and their values
//	arena.go  Arena: pieces of bytes that values refer to
//	check.go  the number that stands for events and what is kept of them
package slots

import (
	"iter"
	"unsafe"

	"weir/window"
)

// Slots is what columns of Additive kinds have in common: for each row a value for each
// slot, slots ascending. V is such a value, without pointers. Most entries do not move while
// their number grows.
type Slots[V any] struct {
	first  []uint32         // by row: its first entry + 1; 0: none
	blocks [][]slotEntry[V] // of entryBlock entries each
	n      uint32           // entries
}

type slotEntry[V any] struct {
	slot  window.Slot
	next  uint32 // entry + 1
	value V
}

const entryBlock = 1 << 8

func (s *Slots[V]) entry(i uint32) *slotEntry[V] { return &s.blocks[i/entryBlock][i%entryBlock] }

// Grow makes the rows [0, n) exist.
func (s *Slots[V]) Grow(n int) {
	for len(s.first) < n {
		s.first = append(s.first, 0)
	}
}

// Reset removes all rows and keeps the memory.
func (s *Slots[V]) Reset() { s.first, s.n = s.first[:0], 0 }

// Bytes returns how many bytes are held.
func (s *Slots[V]) Bytes() int {
	n := 0
	for _, b := range s.blocks {
		n += cap(b)
	}
	return cap(s.first)*4 + n*int(unsafe.Sizeof(slotEntry[V]{}))
}

// At finds or makes the value of a slot in row i. The pointer is valid until the next call. A row
// has few slots: one for each partition and chunk that has events of it.
func (s *Slots[V]) At(i uint32, slot window.Slot) (value *V, isNew bool) {
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
func (s *Slots[V]) add(e slotEntry[V]) *slotEntry[V] {
	b := s.n / entryBlock
	if int(b) == len(s.blocks) {
		s.blocks = append(s.blocks, make([]slotEntry[V], 0, min(b, 1)*entryBlock))
	}
	s.blocks[b] = append(s.blocks[b][:s.n%entryBlock], e)
	s.n++
	return s.entry(s.n - 1)
}

// Of yields the slots of row i and their values, slots ascending. It is copied into its caller, which
// allocates nothing then.
func (s *Slots[V]) Of(i uint32) iter.Seq2[window.Slot, *V] {
	return func(yield func(window.Slot, *V) bool) { s.each(i, yield) }
}

func (s *Slots[V]) each(i uint32, yield func(window.Slot, *V) bool) {
	for at := s.first[i]; at != 0; {
		e := s.entry(at - 1)
		if !yield(e.slot, &e.value) {
			return
		}
		at = e.next
	}
}
