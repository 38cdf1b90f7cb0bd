package idset

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"weir/sketches/internal/slab"
)

// A Pool has many sets, numbered from 0. The zero value is ready.
//
// A set is a run of hashes. Its first ones differ and are in ascending order. Those that were
// added since lie behind them as they came, repetitions included. A run that is full is put in
// order, and gets twice the room unless that has left more than half of it free. So an addition
// writes four bytes at the end of a run, and these ends are in the caches even of many sets, where
// a hash table would be read at random. To put a hash in order takes some 10 ns: once, or twice on
// average if the set has all of them already.
//
// What reads a set puts it in order first. So only sets that are in order may be read by several
// goroutines: see Settle.
type Pool struct {
	sets []set
	runs [classes]slab.Slab[uint32] // by class
	made bool                       // runs

	order [2][]uint32 // to use again: see sorted, settle
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
	n := cap(p.sets)*int(unsafe.Sizeof(set{})) + 4*(cap(p.order[0])+cap(p.order[1]))
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
	p.settle(s)
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
	old, added := run[:s.ordered], slices.Compact(p.sorted(run[s.ordered:]))
	if len(old) == 0 {
		s.n = uint32(copy(run, added))
		s.ordered = s.n
		return
	}
	all := p.order[0][:0]
	for len(old) > 0 && len(added) > 0 {
		a, b := old[0], added[0]
		all = append(all, min(a, b))
		if a <= b {
			old = old[1:]
		}
		if b <= a {
			added = added[1:]
		}
	}
	all = append(append(all, old...), added...)
	p.order[0] = all
	s.n = uint32(copy(run, all))
	s.ordered = s.n
}

// sorted sorts hashes. The result is in their place, or in order[1]. Many are sorted by eight bits at a time
// (radix sort), which takes less time from about 64 on.
func (p *Pool) sorted(hashes []uint32) []uint32 {
	const width, buckets = 8, 1 << 8
	if len(hashes) < buckets/4 {
		slices.Sort(hashes)
		return hashes
	}
	for k := range p.order {
		p.order[k] = slices.Grow(p.order[k][:0], len(hashes))[:len(hashes)]
	}
	from := hashes
	for shift := 0; shift < 32; shift += width {
		to := p.order[shift/width%2]
		var next [buckets]uint32
		for _, h := range from {
			next[h>>shift&(buckets-1)]++
		}
		sum := uint32(0)
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		for _, h := range from {
			b := h >> shift & (buckets - 1)
			to[next[b]] = h
			next[b]++
		}
		from = to
	}
	return from
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
