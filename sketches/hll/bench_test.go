package hll

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Per event, over a pool whose sketches hold about ten elements each.
func BenchmarkPool(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(60, 5))
	var p Pool
	p.Grow(n)
	idx, hs := make([]uint32, n), make([]uint64, n)
	event := func(i int) (uint32, uint64) {
		x := uint32(r.IntN(n))
		return x, Hash(binary.LittleEndian.AppendUint64(nil, uint64(x)<<8|uint64(r.IntN(10))))
	}
	for range 10 {
		for i := range idx {
			idx[i], hs[i] = event(i)
		}
		p.AddBatch(idx, hs)
	}
	b.Run("AddBatch", func(b *testing.B) {
		for b.Loop() {
			p.AddBatch(idx, hs)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		b.ReportMetric(float64(p.Bytes())/n, "B/sketch")
	})
}

// Per event, from an empty pool to the states of its sketches: a flush of 3,000 pages, of which
// the k-th has a k-th of the events of the first.
func BenchmarkFlush(b *testing.B) {
	const n, sketches = 1 << 19, 3000
	zipf := rand.NewZipf(rand.New(rand.NewPCG(61, 5)), 1.01, 1, sketches-1)
	idx, hs := make([]uint32, n), make([]uint64, n)
	for i := range idx {
		idx[i], hs[i] = uint32(zipf.Uint64()), Hash(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	}
	var p Pool
	var buf []byte
	for b.Loop() {
		p.Grow(sketches)
		for at := 0; at < n; at += 512 {
			p.AddBatch(idx[at:at+512], hs[at:at+512])
		}
		for i := range uint32(sketches) {
			buf = p.AppendClickHouse(buf[:0], i)
		}
		p.Reset()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
}
