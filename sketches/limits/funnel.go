package limits

import (
	"fmt"
	"math"
)

// A Funnel is the generic cell rate algorithm (ITU-T I.371) in the form of
// redis-cell. Its state is one number, the theoretical arrival time: the time
// when the funnel will be empty. Each unit that is let through moves it one
// interval into the future. A unit that would move it further than the
// tolerance from now is not let through.
//
// The state is in nanoseconds, so that it also limits rates above 1,000 per
// second. (redis-cell's states expire after whole milliseconds.)
type Funnel struct {
	interval  int64 // between two units at the steady rate
	tolerance int64 // intervals of a whole burst
	limit     int64 // units of a whole burst
}

// toleranceMax is 36 years. With it, no sum below overflows.
const toleranceMax = 1 << 60

// NewFunnel returns a funnel that lets through count units per period of
// nanoseconds, and burst units more at once. The error, wrapping ErrLimit,
// says which argument is impossible: count and period must be positive, a
// unit must take at least a nanosecond, a burst less than 36 years.
func NewFunnel(burst, count, period int64) (Funnel, error) {
	if burst < 0 || count <= 0 || period <= 0 {
		return Funnel{}, fmt.Errorf("%w: burst %d, count %d, period %d ns: want at least 0, 1 and 1", ErrLimit, burst, count, period)
	}
	// As in redis-cell: divided as floats, then truncated.
	interval := int64(float64(period) / float64(count))
	if interval < 1 {
		return Funnel{}, fmt.Errorf("%w: %d in %d ns is more than one a nanosecond", ErrLimit, count, period)
	}
	if burst >= toleranceMax/interval {
		return Funnel{}, fmt.Errorf("%w: a burst of %d takes more than 36 years to run off at %d in %d ns", ErrLimit, burst, count, period)
	}
	return Funnel{interval, interval * (burst + 1), burst + 1}, nil
}

// Throttle asks at the time now to let quantity units through, all or none. tat
// is the state that the last call returned, or any time up to now for a fresh
// funnel. The new state comes with the answer; it is the old one if the request
// is limited.
//
// Quantity 0 only reads the state. A negative quantity gives units back, at
// most those in the funnel. A quantity above the limit is never let through.
func (f Funnel) Throttle(tat, now, quantity int64) (Answer, int64) {
	tat = max(tat, now)
	next := tat
	limited, retry := false, int64(Never)
	switch {
	case quantity > f.limit:
		limited = true
	case quantity < 0 && quantity < -(math.MaxInt64>>1)/f.interval:
		next = now
	default:
		next = max(tat+f.interval*quantity, now)
		if wait := next - f.tolerance - now; wait > 0 {
			limited, retry = true, wait
		}
	}
	if limited {
		next = tat
	}
	return Answer{
		Limited:    limited,
		Limit:      f.limit,
		Remaining:  max(0, now+f.tolerance-next) / f.interval,
		RetryAfter: retry,
		ResetAfter: next - now,
	}, next
}
