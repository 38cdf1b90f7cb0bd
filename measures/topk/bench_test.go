package topk

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/window"
)

// BenchmarkReport reports a list of every cell, of events with few keys such as countries; few.go is for them.
func BenchmarkReport(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.3, 4, 99)
	const cells, events = 100, 8192
	t := &tally{listed: 64}
	t.Grow(cells)
	for range events {
		t.count([]uint32{uint32(r.IntN(cells))}, []uint32{t.number(fmt.Appendf(nil, "country-%d", zipf.Uint64()))})
	}
	c := &column{listed: 64}
	b.ResetTimer()
	for b.Loop() {
		c.Reset()
		c.Grow(cells)
		for cell := range uint32(cells) {
			t.Report(cell, window.Slot(1), c, cell)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
