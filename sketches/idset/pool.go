package idset

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"unsafe"

	"weir/sketches/internal/slab"
)

// A Pool has many sets, numbered from 0. The zero value is ready.
//
// A set is a run of hashes. Its first ones differ and are in ascending order. Those that were
// added since lie behind them as they came, repetitions included. So an addition writes four bytes
// at the end of a run, and these ends are in the caches even of many sets, where a hash table would
// be read at random. A run that is full is put in order, and gets twice the room unless that has left
// more than half of it free. If half of it was in order already, it gets twice the room at once. To
// put a hash in order takes 5 to 10 ns, once or twice.
//
// What reads a set puts it in order first. So only sets that are in order may be read by several
// goroutines: see Settle.
type Pool struct {
	sets []set
	runs [classes]slab.Slab[uint32] // by class
	made bool                       // runs

	next, other []uint32 // to use again: see sorted
}

type set struct {
	ref     uint32 // of the run; in class 0, which has none, the hash
	n       uint32 // hashes, with repetitions
	ordered uint32 // how many of them are in order, from the first on
	class   uint8  // the run has room for 2 << class hashes
}

const classes = 31

// Grow makes the sets [0, n) exist.
func (p *Pool) Grow(n int) {
	if n > len(p.sets) {
		p.sets = slices.Grow(p.sets, n-len(p.sets))[:n]
	}
}

// Reset removes all sets and keeps the memory.
func (p *Pool) Reset() {
	clear(p.sets)
	p.sets = p.sets[:0]
	for i := range p.runs {
		p.runs[i].Reset()
	}
}

// Bytes returns about how many bytes the pool holds in memory.
func (p *Pool) Bytes() int {
	n := cap(p.sets)*int(unsafe.Sizeof(set{})) + 4*(cap(p.next)+cap(p.other))
	for i := range p.runs {
		n += p.runs[i].Bytes()
	}
	return n
}

// Add puts a hash into set i.
func (p *Pool) Add(i, hash uint32) {
	s := &p.sets[i]
	if s.class == 0 {
		p.addFirst(s, hash)
		return
	}
	run := p.runs[s.class].Run(s.ref)
	if int(s.n) == len(run) {
		run = p.room(s, 1)
	}
	run[s.n] = hash
	s.n++
}

// AddBatch puts hashes[n] into set of[n], for each n.
func (p *Pool) AddBatch(of, hashes []uint32) {
	for n, i := range of {
		p.Add(i, hashes[n])
	}
}

// addFirst adds a hash to a set that has no run yet.
func (p *Pool) addFirst(s *set, hash uint32) {
	switch {
	case s.n == 0:
		s.ref, s.n, s.ordered = hash, 1, 1
	case s.ref != hash:
		run := p.room(s, 1)
		run[s.n] = hash
		s.n++
	}
}

// room returns the run of a set, with room for more hashes behind those that it has.
func (p *Pool) room(s *set, more int) []uint32 {
	room, n := 2<<s.class, int(s.n)+more
	switch {
	case s.class > 0 && n <= room:
		return p.runs[s.class].Run(s.ref)
	case 2*int(s.ordered) < room || n > 2*room: // else the set grows to the double in any case
		p.settle(s)
	}
	have := p.run(s)
	want := s.class
	for 2<<want < 2*len(have) || 2<<want < len(have)+more {
		want++
	}
	if want = max(want, 1); want == s.class {
		return p.runs[want].Run(s.ref)
	}
	if !p.made {
		for i := range p.runs {
			p.runs[i] = slab.New[uint32](2 << i)
		}
		p.made = true
	}
	ref := p.runs[want].Alloc()
	run := p.runs[want].Run(ref)
	copy(run, have)
	if s.class > 0 {
		p.runs[s.class].Free(s.ref)
	}
	s.ref, s.class = ref, want
	return run
}

// run returns the hashes of a set.
func (p *Pool) run(s *set) []uint32 {
	if s.class == 0 {
		return unsafe.Slice(&s.ref, 1)[:s.n]
	}
	return p.runs[s.class].Run(s.ref)[:s.n]
}

// Settle puts set i in order. Until something is added to it, it may be read by several goroutines.
func (p *Pool) Settle(i uint32) { p.settle(&p.sets[i]) }

func (p *Pool) settle(s *set) {
	if s.ordered == s.n {
		return
	}
	run := p.run(s)
	s.n = uint32(copy(run, slices.Compact(p.sorted(run))))
	s.ordered = s.n
}

// sorted returns hashes in ascending order, in their place or in p.other. They are spread over half
// as many buckets, at least, by their first bits, and then few of them are out of order.
func (p *Pool) sorted(hashes []uint32) []uint32 {
	const few = 16
	if len(hashes) < few {
		mend(hashes)
		return hashes
	}
	width := bits.Len(uint(len(hashes))) - 1
	p.next = slices.Grow(p.next[:0], 1<<width)[:1<<width]
	p.other = slices.Grow(p.other[:0], len(hashes))[:len(hashes)]
	next, to, shift := p.next, p.other, (32-width)&31
	clear(next)
	for _, h := range hashes {
		next[h>>shift]++
	}
	sum := uint32(0)
	for i, n := range next {
		next[i], sum = sum, sum+n
	}
	for _, h := range hashes {
		at := &next[h>>shift]
		to[*at] = h
		*at++
	}
	mend(to)
	return to
}

// mend sorts hashes of which few are out of order, by insertion. If many are, they are no hashes of
// different ids.
func mend(hashes []uint32) {
	moves := 16 * len(hashes)
	for i := 1; i < len(hashes); i++ {
		h, at := hashes[i], i
		for ; at > 0 && hashes[at-1] > h; at-- {
			hashes[at] = hashes[at-1]
		}
		hashes[at] = h
		if moves -= i - at; moves < 0 {
			slices.Sort(hashes)
			return
		}
	}
}

// Len returns the number of different hashes in set i.
func (p *Pool) Len(i uint32) uint64 {
	s := &p.sets[i]
	p.settle(s)
	return uint64(s.n)
}

// ordered returns the hashes of set i in ascending order.
func (p *Pool) ordered(i uint32) []uint32 {
	s := &p.sets[i]
	p.settle(s)
	return p.run(s)
}

// Has reports whether set i has a hash.
func (p *Pool) Has(i, hash uint32) bool {
	_, found := slices.BinarySearch(p.ordered(i), hash)
	return found
}

// Merge puts the hashes of set j of q into set i: the union. q may be p.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	if p == q && i == j {
		return
	}
	from := q.run(&q.sets[j])
	if len(from) == 0 {
		return
	}
	s := &p.sets[i]
	run := p.room(s, len(from))
	copy(run[s.n:], from)
	if s.n == 0 {
		s.ordered = q.sets[j].ordered
	}
	s.n += uint32(len(from))
}

// AppendState appends the hashes of set i in ascending order, each in four bytes,
// little-endian: the elements of ClickHouse's Array(UInt32).
func (p *Pool) AppendState(dst []byte, i uint32) []byte {
	all := p.ordered(i)
	dst = slices.Grow(dst, 4*len(all))
	for _, h := range all {
		dst = binary.LittleEndian.AppendUint32(dst, h)
	}
	return dst
}

var errState = errors.New("idset: hashes take four bytes each")

// MergeState puts the hashes of a state, in any order, into set i. If the state is not well
// formed, it returns an error and changes nothing.
func (p *Pool) MergeState(i uint32, state []byte) error {
	if len(state)%4 != 0 {
		return errState
	}
	if len(state) == 0 {
		return nil
	}
	s := &p.sets[i]
	run := p.room(s, len(state)/4)
	for ; len(state) > 0; state = state[4:] {
		run[s.n] = binary.LittleEndian.Uint32(state)
		s.n++
	}
	return nil
}

// Common returns the number of hashes that are in set i and in set j of q. It takes some steps
// for each hash of the smaller set.
func (p *Pool) Common(i uint32, q *Pool, j uint32) (n uint64) {
	few, many := p.ordered(i), q.ordered(j)
	if len(few) > len(many) {
		few, many = many, few
	}
	for _, h := range few {
		reach := 1
		for reach < len(many) && many[reach-1] < h {
			reach *= 2
		}
		at, found := slices.BinarySearch(many[:min(reach, len(many))], h)
		if many = many[at:]; found {
			n++
		}
	}
	return n
}
