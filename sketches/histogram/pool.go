package histogram

import (
	"encoding/binary"
	"slices"

	"weir/internal/hashtable"
)

// A Pool has many histograms, numbered from 0. The zero value is ready.
//
// A histogram is a small hash table of its buckets that have numbers, so memory is in
// proportion to these, whatever the numbers are: 11 to 21 bytes for a bucket. Numbers are
// mostly near to those before them, and buckets beside each other lie in slots beside each
// other, so a search nearly always ends where it begins.
type Pool struct {
	counts hashtable.Small[uint64]
	words  []uint64 // to use again
}

// Grow makes the histograms [0, n) exist.
func (p *Pool) Grow(n int) { p.counts.Grow(n) }

// Reset removes all histograms and keeps the memory.
func (p *Pool) Reset() { p.counts.Reset() }

// Bytes returns about how many bytes the pool holds in memory.
func (p *Pool) Bytes() int { return p.counts.Bytes() + 8*cap(p.words) }

// Add counts a number of bucket b in histogram i. A bucket has at most 2^32 − 1 numbers.
func (p *Pool) Add(i uint32, b Bucket) { *p.counts.Add(i, uint32(b))++ }

// AddBatch counts a number of bucket buckets[n] in histogram of[n], for each n.
func (p *Pool) AddBatch(of []uint32, buckets []Bucket) { hashtable.Count(&p.counts, of, buckets) }

// sorted returns histogram i as words, ascending.
func (p *Pool) sorted(i uint32) []uint64 {
	p.words = p.words[:0]
	for _, w := range p.counts.Slots(i) {
		if w != 0 {
			p.words = append(p.words, w)
		}
	}
	slices.Sort(p.words)
	return p.words
}

// Append appends the counts of histogram i.
func (p *Pool) Append(dst Counts, i uint32) Counts {
	for _, w := range p.sorted(i) {
		dst = append(dst, Count{bucketOf(w), countOf(w)})
	}
	return dst
}

// AppendState appends histogram i as Counts.AppendState does, and returns how many numbers it
// has, too.
func (p *Pool) AppendState(dst []byte, i uint32) (state []byte, numbers uint64) {
	words := p.sorted(i)
	dst = slices.Grow(dst, wordBytes*len(words))
	for _, w := range words {
		numbers += countOf(w)
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst, numbers
}
