package bloom

import (
	"math/rand/v2"
	"testing"
)

// A million filters for 1,000 items that have got about four each, in batches.
func BenchmarkPoolAddBatch1MFilters(b *testing.B) {
	const n = 1_000_000
	p := NewPool(1000, 0.01)
	p.Grow(n)
	r := rand.New(rand.NewPCG(1, 2))
	idx, hashes := make([]uint32, 1<<22), make([]uint64, 1<<22)
	for i := range idx {
		idx[i] = r.Uint32N(n)
		hashes[i] = r.Uint64()
	}
	i := 0
	for b.Loop() {
		if i%1024 == 0 {
			at := i % len(idx)
			p.AddBatch(idx[at:at+1024], hashes[at:at+1024])
		}
		i++
	}
	b.ReportMetric(float64(p.Bytes())/n, "B/filter")
}
