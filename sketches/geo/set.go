package geo

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// A Set is a sorted set: members, each with a score, ordered by score and then
// by the member's bytes. With cells as scores it is a set of positions that can
// be searched; with other scores it is a sorted set as ZADD makes it.
//
// The order is kept in a list of blocks of at most blockMax entries, so that
// a search runs over memory front to back. Adding, removing and looking up
// cost a hash access and two binary searches; a rank is counted over the
// blocks, 1/128 step per member. The zero value is empty and ready.
type Set struct {
	scores scores
	blocks [][]entry // none empty; ascending within and across
}

type entry struct {
	score  float64
	member string
}

// blockMax is large enough to make the list of blocks short and small enough
// to make moving half a block, 3 KiB, cheap. Of 64, 128, 256 and 512 it was
// the fastest for adding and searching 100,000 members.
const blockMax = 256

func compareEntries(a, b entry) int {
	switch {
	case a.score < b.score:
		return -1
	case a.score > b.score:
		return 1
	}
	return cmp.Compare(a.member, b.member)
}

// newSet makes a set of distinct members at once, which takes a tenth of the
// time of putting one after the other.
func newSet(entries []entry) *Set {
	return &Set{newScores(entries), slices.Collect(slices.Chunk(sorted(entries), blockMax))}
}

// sorted returns a copy of the entries, in order. A sort by comparison mispredicts
// half of its branches, so many entries are first sorted by radix: by three
// digits of the score, 36 bits, in which few positions in the cities of a
// continent are equal.
func sorted(entries []entry) []entry {
	const (
		digits = 3
		digit  = 12      // bits; the counters of a pass, 16 KiB, fit the first-level cache
		many   = 1 << 11 // below this, a sort by comparison is faster than clearing the counters
		most   = 1 << (64 - digits*digit)
	)
	if len(entries) < many || len(entries) > most {
		all := slices.Clone(entries)
		slices.SortFunc(all, compareEntries)
		return all
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	for i := range entries {
		b := ascending(entries[i].score)
		low, high = min(low, b), max(high, b)
	}
	const place = 64 - digits*digit // bits of a key, below those of the score
	drop := max(0, bits.Len64(high-low)-digits*digit)
	keys, other := make([]uint64, len(entries)), make([]uint64, len(entries))
	var next [digits][1 << digit]uint32
	for i := range entries {
		k := (ascending(entries[i].score)-low)>>drop<<place | uint64(i)
		keys[i] = k
		for pass := range next {
			next[pass][k>>(place+digit*pass)%(1<<digit)]++
		}
	}
	for pass := range next {
		next, shift := &next[pass], place+digit*pass
		if next[keys[0]>>shift%(1<<digit)] == uint32(len(keys)) {
			continue // the digit is the same in all
		}
		from := uint32(0)
		for d, n := range next {
			next[d], from = from, from+n
		}
		for _, k := range keys {
			d := k >> shift % (1 << digit)
			other[next[d]] = k
			next[d]++
		}
		keys, other = other, keys
	}
	all := make([]entry, len(entries))
	first := 0 // of a run
	for i, k := range keys {
		all[i] = entries[k%(1<<place)]
		if i+1 < len(keys) && keys[i+1]>>place == k>>place {
			continue
		}
		if first < i {
			slices.SortFunc(all[first:i+1], compareEntries)
		}
		first = i + 1
	}
	return all
}

// ascending maps scores to integers in the same order.
func ascending(score float64) uint64 {
	bits := math.Float64bits(score + 0) // there is one zero only
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// Len returns the number of members (ZCARD).
func (s *Set) Len() int { return s.scores.len() }

// Score returns the score of a member (ZSCORE).
func (s *Set) Score(member []byte) (score float64, ok bool) {
	if e := s.scores.get(member); e != nil {
		return e.score, true
	}
	return 0, false
}

// Put gives member a score, and adds it if it is missing (ZADD). It reports
// whether the member is new and whether its score changed. It copies the
// member. It panics on the score NaN, which has no place in an order.
func (s *Set) Put(member []byte, score float64) (added, moved bool) {
	if score != score {
		panic("geo: the score of a set member is NaN")
	}
	e := s.scores.get(member)
	if e == nil {
		e := entry{score, string(member)}
		s.scores.put(e)
		s.link(e)
		return true, false
	}
	if e.score == score {
		return false, false
	}
	s.unlink(*e)
	e.score = score
	s.link(*e)
	return false, true
}

// Remove removes a member and reports whether it was there (ZREM).
func (s *Set) Remove(member []byte) bool {
	e := s.scores.get(member)
	if e == nil {
		return false
	}
	s.unlink(*e)
	s.scores.delete(e.member)
	return true
}

// A place is where an entry is, or would be: in blocks[block] at index, which
// may be the block's length only for the last block.
type place struct{ block, index int }

// find returns the place of e or, if it is missing, of the first entry behind.
func (s *Set) find(e entry) (place, bool) {
	b, _ := slices.BinarySearchFunc(s.blocks, e, func(b []entry, e entry) int {
		return compareEntries(b[len(b)-1], e)
	})
	if b == len(s.blocks) {
		return s.end(), false
	}
	i, found := slices.BinarySearchFunc(s.blocks[b], e, compareEntries)
	return place{b, i}, found
}

// seek returns the place of the first entry whose score is at least bound, or
// above bound if past.
func (s *Set) seek(bound float64, past bool) place {
	before := func(e entry, bound float64) int {
		if e.score < bound || past && e.score == bound {
			return -1
		}
		return 1
	}
	b, _ := slices.BinarySearchFunc(s.blocks, bound, func(b []entry, bound float64) int {
		return before(b[len(b)-1], bound)
	})
	if b == len(s.blocks) {
		return s.end()
	}
	i, _ := slices.BinarySearchFunc(s.blocks[b], bound, before)
	return place{b, i}
}

// end returns the place behind the last entry.
func (s *Set) end() place {
	if n := len(s.blocks) - 1; n >= 0 {
		return place{n, len(s.blocks[n])}
	}
	return place{}
}

// link inserts an entry that is not there.
func (s *Set) link(e entry) {
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, []entry{e})
		return
	}
	p, _ := s.find(e)
	b := s.blocks[p.block]
	if len(b) == blockMax {
		// Split in the middle; ascending insertion leaves full blocks instead.
		half := blockMax / 2
		if p.block == len(s.blocks)-1 && p.index == blockMax {
			half = blockMax
		}
		right := append(make([]entry, 0, blockMax), b[half:]...)
		clear(b[half:])
		s.blocks[p.block] = b[:half]
		s.blocks = slices.Insert(s.blocks, p.block+1, right)
		if p.index > half || half == blockMax {
			p = place{p.block + 1, p.index - half}
		}
		b = s.blocks[p.block]
	}
	s.blocks[p.block] = slices.Insert(b, p.index, e)
}

func (s *Set) unlink(e entry) {
	p, _ := s.find(e)
	s.blocks[p.block] = slices.Delete(s.blocks[p.block], p.index, p.index+1)
	s.mend(p.block)
}

// mend drops block i if it is empty and joins it with a neighbour when both
// fit in half a block, so that a shrinking set gives its memory back.
func (s *Set) mend(i int) {
	if len(s.blocks[i]) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
		return
	}
	for _, left := range [...]int{i, i - 1} {
		right := left + 1
		if left >= 0 && right < len(s.blocks) && len(s.blocks[left])+len(s.blocks[right]) <= blockMax/2 {
			s.blocks[left] = append(s.blocks[left], s.blocks[right]...)
			s.blocks = slices.Delete(s.blocks, right, right+1)
		}
	}
}

// rank returns the number of entries in front of a place.
func (s *Set) rank(p place) int {
	n := p.index
	for _, b := range s.blocks[:min(p.block, len(s.blocks))] {
		n += len(b)
	}
	return n
}

// place returns the place of a rank, 0 ≤ rank ≤ Len.
func (s *Set) place(rank int) place {
	for i, b := range s.blocks {
		if rank < len(b) {
			return place{i, rank}
		}
		rank -= len(b)
	}
	return s.end()
}

// An Interval is a range of scores; Min and Max belong to it unless open.
// Both may be infinite, neither may be NaN.
type Interval struct {
	Min, Max         float64
	OpenMin, OpenMax bool
}

// Ranks returns the ranks [from, to) of the members whose scores lie in the
// interval: to-from is ZCOUNT, Slice(from, to) is ZRANGEBYSCORE, and
// RemoveRanks(from, to) is ZREMRANGEBYSCORE.
func (s *Set) Ranks(in Interval) (from, to int) {
	from = s.rank(s.seek(in.Min, in.OpenMin))
	return from, max(from, s.rank(s.seek(in.Max, !in.OpenMax)))
}

// Slice iterates over the members with ranks in [from, to), ascending
// (ZRANGE). Ranks beyond the ends are cut off. The set must not change
// meanwhile.
func (s *Set) Slice(from, to int) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		from, n := max(from, 0), min(to, s.Len())-max(from, 0)
		if n <= 0 {
			return
		}
		for p := s.place(from); ; p = (place{p.block + 1, 0}) {
			for _, e := range s.blocks[p.block][p.index:] {
				if !yield(e.member, e.score) {
					return
				}
				if n--; n == 0 {
					return
				}
			}
		}
	}
}

// Backward iterates over the members with ranks in [from, to), descending
// (ZRANGE REV).
func (s *Set) Backward(from, to int) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		from, to := max(from, 0), min(to, s.Len())
		n := to - from
		if n <= 0 {
			return
		}
		for p := s.place(to - 1); ; p = (place{p.block - 1, len(s.blocks[p.block-1]) - 1}) {
			b := s.blocks[p.block]
			for i := p.index; i >= 0; i-- {
				if !yield(b[i].member, b[i].score) {
					return
				}
				if n--; n == 0 {
					return
				}
			}
		}
	}
}

// RemoveRanks removes the members with ranks in [from, to) and returns how
// many there were.
func (s *Set) RemoveRanks(from, to int) int {
	from, to = max(from, 0), min(to, s.Len())
	if from >= to {
		return 0
	}
	first := s.place(from)
	last := first.block // behind the blocks that lose something
	for p, left := first, to-from; left > 0; p, last = (place{p.block + 1, 0}), last+1 {
		b := s.blocks[p.block]
		n := min(left, len(b)-p.index)
		for _, e := range b[p.index : p.index+n] {
			s.scores.delete(e.member)
		}
		s.blocks[p.block] = slices.Delete(b, p.index, p.index+n)
		left -= n
	}
	// The empty blocks are removed together: one by one, each removal would move
	// all blocks behind it.
	emptied := first.block
	for emptied < last && len(s.blocks[emptied]) > 0 {
		emptied++
	}
	rest := emptied
	for rest < last && len(s.blocks[rest]) == 0 {
		rest++
	}
	s.blocks = slices.Delete(s.blocks, emptied, rest)
	for i := emptied; i >= max(emptied-1, 0); i-- { // what is left on both sides
		if i < len(s.blocks) {
			s.mend(i)
		}
	}
	return to - from
}
