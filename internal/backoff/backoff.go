// Package backoff says how long to pause before something that failed is tried
// again. It has no clock, so that the pure core can use it.
package backoff

// A Backoff is the pause after a failure: First, then twice as long each time,
// at most Most. D is time.Duration, or the unit of another clock. It has no jitter:
// a caller with many peers that fail together adds its own.
type Backoff[D ~int64] struct {
	First, Most D // above 0; Most at most half of the greatest D

	last D
}

// Next returns the pause after one more failure.
func (b *Backoff[D]) Next() D {
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last
}

// Reset makes the next pause First again: it worked.
func (b *Backoff[D]) Reset() { b.last = 0 }
