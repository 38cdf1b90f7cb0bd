package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"weir/sketches/histogram"
)

func init() { register("histogram", histogramAdd) }

// histogramAdd counts lognormal numbers in a hot histogram of scale 6, the number's bucket
// included. Our side adds as a worker does, a block of 512 numbers at a time; the other side
// is Prometheus' native histogram, which has the same buckets.
func histogramAdd(b *Bench) error {
	const name, limit = "histogram add, hot", "histogram add, hot, in nanoseconds"
	if !b.Wants(Libraries, name) && !b.Wants(Libraries, limit) {
		return nil
	}
	const scale, block = 6, 512
	r := rand.New(rand.NewPCG(6, 6))
	values := make([]float64, 1<<13)
	for i := range values {
		values[i] = math.Exp(r.NormFloat64()*1.5 + 3)
	}
	layout := histogram.NewLayout(scale)
	var pool histogram.Pool
	pool.Grow(1)
	of, buckets := make([]uint32, block), make([]histogram.Bucket, block)
	add := Here(func(n int) {
		for from := 0; from < n; from += block {
			at := from & (len(values) - 1)
			for k, v := range values[at : at+block] {
				buckets[k] = layout.Of(v)
			}
			pool.AddBatch(of, buckets)
		}
	})
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "numbers", NativeHistogramBucketFactor: math.Exp2(math.Exp2(-scale))})
	for _, v := range values {
		pool.AddBatch(of[:1], []histogram.Bucket{layout.Of(v)})
		theirs.Observe(v)
	}
	// Both must count the same, or the comparison is void.
	var m dto.Metric
	if err := theirs.Write(&m); err != nil {
		return err
	}
	ours, index, count, delta := pool.Append(nil, 0), int32(0), int64(0), 0
	for _, span := range m.Histogram.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count += m.Histogram.GetPositiveDelta()[delta]
			delta++
			if count > 0 {
				want := histogram.Count{Bucket: layout.Of(math.Exp2((float64(index) - 0.5) / (1 << scale))), N: uint64(count)}
				if len(ours) == 0 || ours[0] != want {
					return fmt.Errorf("prometheus has %d numbers in bucket %d, we %v", count, index, ours[:min(1, len(ours))])
				}
				ours = ours[1:]
			}
			index++
		}
	}
	if len(ours) > 0 {
		return fmt.Errorf("prometheus lacks %d of our buckets", len(ours))
	}
	if err := b.Compare(Row{
		Name: name, Other: "prometheus native histogram", Against: Libraries, Floor: 8, Aim: 15,
		Ours: add,
		Theirs: Here(func(n int) {
			for i := range n {
				theirs.Observe(values[i&(len(values)-1)])
			}
		}),
	}); err != nil {
		return err
	}
	const most, n = 5, 1 << 20
	least := math.Inf(1)
	for round := 0; round < b.rounds || round < 5*b.rounds && least > most; round++ {
		took, err := add(n)
		if err != nil {
			return err
		}
		least = min(least, float64(took)/n)
	}
	b.Limit(Limit{Name: limit, Against: Libraries, Unit: "ns", Value: least, Most: most, Aim: 3.5})
	return nil
}
