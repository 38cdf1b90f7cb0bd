package counts

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkAddBatch measures the counting of blocks of events of 4,000 bags, four windows of 1,000 Zipf
// pages, in two pools: buckets of a histogram, and countries.
func BenchmarkAddBatch(b *testing.B) {
	const bags, events, block = 4000, 1 << 17, 512
	r := rand.New(rand.NewPCG(1, 6))
	zipf := rand.NewZipf(r, 1.1, 4, 999)
	var of, buckets, countries [events]uint32
	for i := range of {
		of[i] = uint32(i/(events/4)*1000) + uint32(zipf.Uint64())
		buckets[i] = 1<<27 - uint32(r.ExpFloat64()*92) // of even numbers, with an error of 0.01
		countries[i] = 1 + r.Uint32N(32)%(4<<(3*r.Uint32N(2)))
	}
	for name, keys := range map[string]*[events]uint32{"buckets": &buckets, "countries": &countries} {
		b.Run(name, func(b *testing.B) {
			var p [8]Pool // of partitions, so that not all lies in the first-level cache
			at := 0
			for b.Loop() {
				pool := &p[at%len(p)]
				pool.Reset()
				pool.Grow(bags)
				for i := 0; i < events; i += block {
					AddBatch(pool, of[i:][:block], keys[i:][:block])
				}
				at++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}
