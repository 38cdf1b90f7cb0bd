package idset

import (
	"encoding/binary"
	"errors"
	"slices"

	"weir/internal/hashtable"
)

// A Pool has many sets, numbered from 0, each a small hash table: a hash takes 5 to 11 bytes.
// The zero value is ready.
type Pool struct {
	sets hashtable.Small[uint32]
	zero map[uint32]bool // the sets that have the hash 0, which a table cannot have

	order [2][]uint32 // to use again: see sorted
}

// Grow makes the sets [0, n) exist.
func (p *Pool) Grow(n int) { p.sets.Grow(n) }

// Reset removes all sets and keeps the memory.
func (p *Pool) Reset() {
	p.sets.Reset()
	clear(p.zero)
}

// Bytes returns about how many bytes the pool holds in memory.
func (p *Pool) Bytes() int { return p.sets.Bytes() + 4*(cap(p.order[0])+cap(p.order[1])) }

// Len returns the number of different hashes in set i.
func (p *Pool) Len(i uint32) uint64 {
	n := uint64(p.sets.Len(i))
	if p.zero[i] {
		n++
	}
	return n
}

// Has reports whether set i has a hash.
func (p *Pool) Has(i, hash uint32) bool {
	if hash == 0 {
		return p.zero[i]
	}
	return p.sets.Find(i, hash) != 0
}

// Add puts a hash into set i.
func (p *Pool) Add(i, hash uint32) {
	if hash == 0 {
		p.addZero(i)
		return
	}
	p.sets.Add(i, hash)
}

func (p *Pool) addZero(i uint32) {
	if p.zero == nil {
		p.zero = map[uint32]bool{}
	}
	p.zero[i] = true
}

// AddBatch puts hashes[n] into set of[n], for each n.
func (p *Pool) AddBatch(of, hashes []uint32) {
	for n, h := range hashes {
		if h == 0 {
			p.addZero(of[n])
		}
	}
	hashtable.Insert(&p.sets, of, hashes)
}

// Merge puts the hashes of set j of q into set i: the union. q may be p.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	if p == q && i == j {
		return
	}
	if q.zero[j] {
		p.addZero(i)
	}
	// Slots are in the order of their searches. In a smaller table they would all lie beside
	// each other, so there has to be room first. Most hashes of another partition are new.
	p.sets.Reserve(i, q.sets.Len(j)+p.sets.Len(i))
	for at := range q.sets.Slots(j) {
		if h := q.sets.Slots(j)[at]; h != 0 { // in the same pool an addition may move the slots
			p.sets.Add(i, h)
		}
	}
}

// sorted returns the hashes of set i in ascending order. Many are sorted by eight bits at a
// time (radix sort), which takes less time from about 64 on.
func (p *Pool) sorted(i uint32) []uint32 {
	const width, buckets = 8, 1 << 8
	all := p.order[0][:0]
	if p.zero[i] {
		all = append(all, 0)
	}
	for _, h := range p.sets.Slots(i) {
		if h != 0 {
			all = append(all, h)
		}
	}
	if len(all) < buckets/4 {
		slices.Sort(all)
		p.order[0] = all
		return all
	}
	to := slices.Grow(p.order[1][:0], len(all))[:len(all)]
	for shift := 0; shift < 32; shift += width {
		var next [buckets]uint32
		for _, h := range all {
			next[h>>shift&(buckets-1)]++
		}
		sum := uint32(0)
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		for _, h := range all {
			b := h >> shift & (buckets - 1)
			to[next[b]] = h
			next[b]++
		}
		all, to = to, all
	}
	p.order[0], p.order[1] = all, to
	return all
}

// AppendState appends the hashes of set i in ascending order, each in four bytes,
// little-endian: the elements of ClickHouse's Array(UInt32).
func (p *Pool) AppendState(dst []byte, i uint32) []byte {
	all := p.sorted(i)
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
	p.sets.Reserve(i, max(len(state)/4, p.sets.Len(i)))
	for ; len(state) > 0; state = state[4:] {
		p.Add(i, binary.LittleEndian.Uint32(state))
	}
	return nil
}

// Common returns the number of hashes that are in set i and in set j of q.
func (p *Pool) Common(i uint32, q *Pool, j uint32) (n uint64) {
	if p.sets.Len(i) > q.sets.Len(j) {
		p, i, q, j = q, j, p, i
	}
	if p.zero[i] && q.zero[j] {
		n++
	}
	for _, h := range p.sets.Slots(i) {
		if h != 0 && q.sets.Find(j, h) != 0 {
			n++
		}
	}
	return n
}
