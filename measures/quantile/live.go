package quantile

import (
	"weir/measures/face"
	"weir/sketches/histogram"
	"weir/window"
)

// Live answers with an *Answer.
var Live = face.Live{
	Shows: face.Quantity,
	Level: func(value any, share float64) any {
		q, ok := value.(*Answer)
		if !ok {
			return nil
		}
		return q.At(share)
	},
	Number: face.NumberOf((*Answer).summary, new(Answer).summary()),
	Value: func(row window.Row, m int) any {
		if h := Of(row, m); len(h) > 0 {
			return NewAnswer(h)
		}
		return nil
	},
}

// An Answer has the histogram of the numbers of some windows. What it answers differs from
// the truth by at most the error of the measure. There is at least one number.
type Answer struct{ counts histogram.Counts }

// NewAnswer returns the Answer of a histogram with at least one number.
func NewAnswer(h histogram.Counts) *Answer { return &Answer{h} }

// At returns the number with a share of the numbers below it, 0 to 1: 0.5 for the median.
func (q *Answer) At(share float64) float64 {
	v, _ := q.counts.Quantile(share)
	return v
}

// Below returns the share of the numbers that are less than v; those in the bucket of v
// count half.
func (q *Answer) Below(v float64) float64 { return q.counts.Below(v) }

// Min returns the least number.
func (q *Answer) Min() float64 { return q.counts[0].Bucket.Value() }

// Max returns the greatest number.
func (q *Answer) Max() float64 { return q.counts[len(q.counts)-1].Bucket.Value() }

// A summary is what HTTP says of a histogram. Its numbers are float64, or nil if there are
// none.
type summary struct {
	Count uint64 `json:"count"`
	Min   any    `json:"min"`
	P50   any    `json:"p50"`
	P90   any    `json:"p90"`
	P95   any    `json:"p95"`
	P99   any    `json:"p99"`
	P999  any    `json:"p999"`
	Max   any    `json:"max"`
}

func (q *Answer) summary() summary {
	at := func(share float64) any {
		if v, ok := q.counts.Quantile(share); ok {
			return v
		}
		return nil
	}
	return summary{q.counts.Total(), at(0), at(0.5), at(0.9), at(0.95), at(0.99), at(0.999), at(1)}
}
