package limits

import "fmt"

// A Window lets at most Limit events through within any Period, and refuses
// none that this rule allows. It is the limiter that people build on a Redis
// sorted set (ZREMRANGEBYSCORE, ZCARD, ZADD). Refused events do not count.
type Window struct {
	limit  int
	period int64
}

// WindowMax bounds the limit of a Window, whose state needs eight bytes for
// every event of a period: 8 MiB.
const WindowMax = 1 << 20

// NewWindow returns a limiter of limit events per period of nanoseconds. The
// error wraps ErrLimit: limit must be from 1 to WindowMax, period positive.
func NewWindow(limit int, period int64) (Window, error) {
	if limit < 1 || limit > WindowMax {
		return Window{}, fmt.Errorf("%w: %d events in a window: want 1 to %d", ErrLimit, limit, WindowMax)
	}
	if period < 1 || period > toleranceMax {
		return Window{}, fmt.Errorf("%w: a period of %d ns: want 1 to %d", ErrLimit, period, int64(toleranceMax))
	}
	return Window{limit, period}, nil
}

// A Log is the state of a Window: the times of the events let through in the
// last period. The zero value is fresh.
type Log struct {
	ring   []int64 // a power of two long
	head   int     // of the oldest
	n      int
	latest int64 // the latest time seen; time does not go back, because events may have been forgotten
}

// Bytes returns the memory of the times held.
func (l *Log) Bytes() int { return 8 * cap(l.ring) }

// Allow asks at the time now for one event to be let through. Events of
// exactly one period ago no longer count.
func (w Window) Allow(l *Log, now int64) Answer {
	now = max(now, l.latest)
	l.latest = now
	l.forget(now - w.period)
	a := Answer{Limit: int64(w.limit), RetryAfter: Never}
	if l.n < w.limit {
		l.push(now)
	} else {
		a.Limited = true
		// As many events must expire as bring the log below the limit: more than one
		// if the limit was higher before.
		a.RetryAfter = l.at(l.n-w.limit) + w.period - now
	}
	a.Remaining = int64(max(0, w.limit-l.n))
	if l.n > 0 {
		a.ResetAfter = w.idle(l) - now
	}
	return a
}

// idle returns the time when a log will be empty; it must not be empty now.
func (w Window) idle(l *Log) int64 { return l.at(l.n-1) + w.period }

// at returns the i-th oldest time.
func (l *Log) at(i int) int64 { return l.ring[(l.head+i)&(len(l.ring)-1)] }

// forget drops the times up to and including until.
func (l *Log) forget(until int64) {
	for l.n > 0 && l.at(0) <= until {
		l.head = (l.head + 1) & (len(l.ring) - 1)
		l.n--
	}
}

func (l *Log) push(now int64) {
	if l.n == len(l.ring) {
		ring := make([]int64, max(1, 2*l.n))
		for i := range l.n {
			ring[i] = l.at(i)
		}
		l.ring, l.head = ring, 0
	}
	l.ring[(l.head+l.n)&(len(l.ring)-1)] = now
	l.n++
}
