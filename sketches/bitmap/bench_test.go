package bitmap

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// A pool's hot set of 65,536 hashes.
func BenchmarkPoolAddBatchHashes(b *testing.B) {
	var p Pool
	p.Grow(1)
	r := rand.New(rand.NewPCG(1, 2))
	idx, vals := make([]uint32, 512), make([]uint32, 1<<16)
	for i := range vals {
		vals[i] = r.Uint32()
	}
	for i := 0; b.Loop(); i++ {
		if i%512 == 0 {
			p.AddBatch(idx, vals[i%len(vals):][:512])
		}
	}
}

// A hundred sets of 5,000 hashes, filled again after each flush.
func BenchmarkPoolFillHashes(b *testing.B) {
	var p Pool
	r := rand.New(rand.NewPCG(1, 2))
	idx, vals := make([]uint32, 512), make([]uint32, 512)
	for i := 0; b.Loop(); i++ {
		if i%500_000 == 0 {
			p.Reset()
			p.Grow(100)
		}
		if i%512 == 0 {
			for k := range idx {
				idx[k], vals[k] = r.Uint32N(100), r.Uint32()
			}
			p.AddBatch(idx, vals)
		}
	}
}

// The state of a set of hashes.
func BenchmarkPoolAppendHashes(b *testing.B) {
	for _, n := range []int{40, 80, 300, 5000, 500_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var p Pool
			p.Grow(1)
			r := rand.New(rand.NewPCG(1, 2))
			for range n {
				p.Add(0, r.Uint32())
			}
			var dst []byte
			for b.Loop() {
				dst = p.AppendClickHouse(dst[:0], 0)
			}
		})
	}
}
