package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/hll"
	"weir/measures/quantile"
	. "weir/window"
)

// traffic makes batches of the clicks job's events: 1,000 Zipf pages, two million
// users, about 190 bytes each.
func traffic(n int) []event.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 999)
	var bs []event.Batch
	b := event.Batch{}
	for i := range n {
		ts := 1_763_600_000_000 + int64(i)/100
		doc := fmt.Appendf(nil, `{"event_id":"%016x%016x","ts":%d,"user_id":%d,"page":"/p/%d","action":"view","referrer":"https://example.org/a","country":"DE","device":"mobile"}`,
			r.Uint64(), r.Uint64(), ts, r.IntN(2_000_000), zipf.Uint64())
		b.Records = append(b.Records, event.Record{Offset: int64(i), Time: event.Time(ts), Value: doc})
		if len(b.Records) == 5000 || i == n-1 {
			b.Next = int64(i) + 1
			bs = append(bs, b)
			b = event.Batch{First: b.Next}
		}
	}
	return bs
}

func pageSpec() *Spec {
	return &Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000,
		Chunk: 1 << 18, MaxGroups: 10_000,
		By:       []Dimension{{Name: "page", Path: "page"}},
		Measures: []Measure{{Name: "users", Kind: hll.Kind, Path: "user_id"}},
	}
}

// BenchmarkObserve measures the whole core per event: decode, decide, count, HLL.
// Estimate: 80 ns to scan, 10 to find the group, 5 to count, 15 for the
// sketch: 110 ns.
func BenchmarkObserve(b *testing.B) {
	bs := traffic(100_000)
	op := newOperator(b, pageSpec())
	op.Start(Plan{})
	b.ReportAllocs()
	n, round := 0, int64(0)
	for b.Loop() {
		batch := bs[n%len(bs)]
		// The same events again, further on in the log.
		shift := round * 100_000
		batch.First += shift
		batch.Next += shift
		recs := batch.Records
		for i := range recs {
			recs[i].Offset = batch.First + int64(i)
		}
		observe(b, op, batch)
		if n++; n%len(bs) == 0 {
			round++
		}
		if n%100 == 0 {
			op.Reuse(op.Take().Table)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*5000), "ns/event")
}

// TestNoAllocationPerEvent: a batch that meets known groups allocates nothing.
func TestNoAllocationPerEvent(t *testing.T) {
	bs := traffic(50_000)
	s := pageSpec()
	s.Measures = append(s.Measures, Measure{Name: "active", Kind: bitmap.Kind, Path: "user_id"}, Measure{Name: "seen", Kind: bloom.Kind, Path: "event_id", Capacity: 1000, Error: 0.01},
		Measure{Name: "spread", Kind: quantile.Kind, Path: "user_id", Error: 0.01})
	op := newOperator(t, s)
	op.Start(Plan{})
	for range 2 {
		for i := range bs {
			observe(t, op, bs[i])
		}
	}
	next := int64(50_000)
	allocs := testing.AllocsPerRun(20, func() {
		b := bs[0]
		b.First, b.Next = next, next+int64(len(b.Records))
		for i := range b.Records {
			b.Records[i].Offset = next + int64(i)
		}
		next = b.Next
		observe(t, op, b)
	})
	// The sketches may grow: a handful per 5,000 events.
	if per := allocs / 5000; per > 0.01 {
		t.Errorf("%.3f allocations per event, want none", per)
	}
}
