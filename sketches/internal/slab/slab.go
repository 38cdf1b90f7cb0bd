// Package slab hands out equal runs of numbers by a 32-bit name.
//
// A pool of a million small sketches needs a million small arrays. As Go slices
// each would cost a 24-byte header that the garbage collector has to follow; as
// runs of a slab each costs the 4 bytes of its name, and the collector sees one
// pointer per page.
//
//	s := slab.New[uint64](16)  // runs of 16 words
//	r := s.Alloc()             // a zeroed run
//	s.Run(r)[3] = 7
//	s.Free(r)
//
// A Slab is not safe for concurrent use. A run's slice stays valid until the
// run is freed or the slab is reset: pages never move.
package slab

import "unsafe"

// pageBytes is what one page holds, unless a single run is larger. It is small
// enough that a pool with one sketch is cheap, and large enough that the page
// table is under 1 % of the data.
const pageBytes = 8 << 10

// A Slab is a growing set of runs of one length. Use New.
type Slab[T uint16 | uint32 | uint64] struct {
	run   int    // elements of one run
	shift uint   // log2 of the runs of one page
	pages [][]T  // each of run << shift elements
	next  uint32 // first name never handed out since the last Reset
	clean uint32 // runs from this name on have never been written
	free  []uint32
}

// New returns an empty slab whose runs have length run, which must be positive.
func New[T uint16 | uint32 | uint64](run int) Slab[T] {
	if run <= 0 {
		panic("slab: a run needs a length")
	}
	var zero T
	s := Slab[T]{run: run}
	for run*int(unsafe.Sizeof(zero))<<(s.shift+1) <= pageBytes {
		s.shift++
	}
	return s
}

// Alloc returns the name of a run of zeros.
func (s *Slab[T]) Alloc() uint32 {
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		clear(s.Run(r))
		return r
	}
	r := s.next
	s.next++
	if int(r>>s.shift) == len(s.pages) {
		s.pages = append(s.pages, make([]T, s.run<<s.shift))
	}
	if r < s.clean {
		clear(s.Run(r))
	} else {
		s.clean = r + 1
	}
	return r
}

// Run returns the run of a name that Alloc handed out. The shift is below 32; with & 31 the compiler
// knows that, too, and a shift is one instruction.
func (s *Slab[T]) Run(r uint32) []T {
	o := int(r&(1<<(s.shift&31)-1)) * s.run
	return s.pages[r>>(s.shift&31)][o : o+s.run : o+s.run]
}

// Free takes a run back; its name may be handed out again.
func (s *Slab[T]) Free(r uint32) { s.free = append(s.free, r) }

// Reset takes every run back. It keeps twice the pages that those runs needed
// and frees the rest, so that the slab gives back the memory of a burst.
func (s *Slab[T]) Reset() {
	used := (int(s.next) + 1<<s.shift - 1) >> s.shift
	if keep := 2 * used; keep < len(s.pages) {
		clear(s.pages[keep:])
		s.pages = s.pages[:keep]
		s.clean = min(s.clean, uint32(keep)<<s.shift)
	}
	s.next = 0
	s.free = s.free[:0]
}

// Bytes returns the memory the slab holds, in use or not.
func (s *Slab[T]) Bytes() int {
	var zero T
	page := s.run << s.shift * int(unsafe.Sizeof(zero))
	const header = int(unsafe.Sizeof([]T(nil)))
	return len(s.pages)*page + cap(s.pages)*header + cap(s.free)*4
}
