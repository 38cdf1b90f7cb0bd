package histogram

import "weir/internal/counts"

// A Pool has many histograms, numbered from 0. The zero value is ready. Memory is in proportion
// to the numbers of a histogram that has few, and to the buckets that have numbers of one that
// has many: see package counts.
type Pool struct {
	bags  counts.Pool
	words []uint64 // to use again
}

// Grow makes the histograms [0, n) exist.
func (p *Pool) Grow(n int) { p.bags.Grow(n) }

// Reset removes all histograms and keeps the memory.
func (p *Pool) Reset() { p.bags.Reset() }

// Bytes returns about how many bytes the pool holds in memory.
func (p *Pool) Bytes() int { return p.bags.Bytes() + 8*cap(p.words) }

// Add counts a number of bucket b in histogram i. A bucket has at most 2^32 − 1 numbers.
func (p *Pool) Add(i uint32, b Bucket) { p.bags.Add(i, uint32(b)) }

// AddBatch counts a number of bucket buckets[n] in histogram of[n], for each n.
func (p *Pool) AddBatch(of []uint32, buckets []Bucket) { counts.AddBatch(&p.bags, of, buckets) }

// AppendState appends all histograms, for Load.
func (p *Pool) AppendState(dst []byte) []byte { return p.bags.AppendState(dst) }

// Load reads what AppendState has appended into as many histograms, which are empty, and returns what is behind it.
func (p *Pool) Load(state []byte) (rest []byte) { return p.bags.Load(state) }

// Append appends the counts of histogram i.
func (p *Pool) Append(dst Counts, i uint32) Counts {
	p.words = p.bags.Append(p.words[:0], i)
	for _, w := range p.words {
		dst = append(dst, Count{bucketOf(w), countOf(w)})
	}
	return dst
}
