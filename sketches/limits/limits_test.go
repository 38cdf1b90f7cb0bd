package limits

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

const second = int64(1e9)

func mustFunnel(t testing.TB, burst, count, period int64) Funnel {
	t.Helper()
	f, err := NewFunnel(burst, count, period)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustWindow(t testing.TB, limit int, period int64) Window {
	t.Helper()
	w, err := NewWindow(limit, period)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestRedisCell is the one long case of redis-cell's own tests: five at once,
// one a second.
func TestRedisCell(t *testing.T) {
	f := mustFunnel(t, 4, 1, second)
	const start = 1_700_000_000 * second
	var tat int64
	for i, c := range []struct {
		at                     float64 // seconds
		quantity, remaining    int64
		reset, retry           float64 // seconds
		limited                bool
		replyReset, replyRetry int64
	}{
		{0, 6, 5, 0, -1, true, 0, -1}, // more than ever goes
		{0, 1, 4, 1, -1, false, 1, -1},
		{0, 1, 3, 2, -1, false, 2, -1},
		{0, 1, 2, 3, -1, false, 3, -1},
		{0, 1, 1, 4, -1, false, 4, -1},
		{0, 1, 0, 5, -1, false, 5, -1},
		{0, 1, 0, 5, 1, true, 5, 1},
		{3, 1, 2, 3, -1, false, 3, -1},
		{3.1, 1, 1, 3.9, -1, false, 4, -1},
		{4, 1, 1, 4, -1, false, 4, -1},
		{8, 1, 4, 1, -1, false, 1, -1},
		{9.5, 1, 4, 1, -1, false, 1, -1},
		{9.5, 0, 4, 1, -1, false, 1, -1}, // only a look
		{9.5, 2, 2, 3, -1, false, 3, -1},
		{9.5, 5, 2, 3, 3, true, 3, 3},
	} {
		now := start + int64(math.Round(c.at*1e9))
		var got Answer
		got, tat = f.Throttle(tat, now, c.quantity)
		retry := int64(math.Round(c.retry * 1e9))
		if c.retry < 0 {
			retry = Never
		}
		want := Answer{c.limited, 5, c.remaining, retry, int64(math.Round(c.reset * 1e9))}
		if got != want {
			t.Errorf("case %d, %v s, quantity %d: %+v, want %+v", i+1, c.at, c.quantity, got, want)
		}
		limited := int64(0)
		if c.limited {
			limited = 1
		}
		if got, want := got.Reply(), [5]int64{limited, 5, c.remaining, c.replyRetry, c.replyReset}; got != want {
			t.Errorf("case %d: reply %v, want %v", i+1, got, want)
		}
	}
}

func TestReplySeconds(t *testing.T) {
	for _, c := range [][2]int64{
		{-1, -1}, {0, 0}, {1, 0}, {999_999, 0}, {1_000_000, 1}, {second - 1, 1}, {second, 1}, {second + 999_999, 1}, {second + 1_000_000, 2},
	} {
		if got := (Answer{RetryAfter: c[0]}).Reply()[3]; got != c[1] {
			t.Errorf("%d ns are %d s, want %d", c[0], got, c[1])
		}
	}
}

// TestFunnelConserves: in any span of time, the units that go through are at
// most the burst and what the rate adds; and a refused request would have
// exceeded that.
func TestFunnelConserves(t *testing.T) {
	for trial := range 300 {
		r := rand.New(rand.NewPCG(1, uint64(trial)))
		f := mustFunnel(t, r.Int64N(20), 1+r.Int64N(1_000_000), 1+r.Int64N(2*second)+1_000_000)
		type unit struct{ at, quantity int64 }
		var through []unit
		var tat int64
		now := r.Int64N(1 << 61)
		for range 300 {
			if r.IntN(4) > 0 {
				now += r.Int64N(2*f.interval + 2)
			}
			quantity := r.Int64N(4)
			if r.IntN(20) == 0 {
				quantity = f.limit
			}
			before := tat
			var a Answer
			a, tat = f.Throttle(tat, now, quantity)
			if !a.Limited {
				through = append(through, unit{now, quantity})
			} else if tat != max(before, now) {
				t.Fatalf("trial %d: a refusal changed the state from %d to %d", trial, before, tat)
			}

			// Remaining is what would go through one by one.
			if ok, _ := f.Throttle(tat, now, a.Remaining); ok.Limited {
				t.Fatalf("trial %d: %d remain, and are refused: %+v", trial, a.Remaining, ok)
			}
			if more, _ := f.Throttle(tat, now, a.Remaining+1); !more.Limited {
				t.Fatalf("trial %d: %d remain, and %d go through: %+v", trial, a.Remaining, a.Remaining+1, more)
			}
			// RetryAfter is exact.
			if a.RetryAfter != Never {
				if then, _ := f.Throttle(tat, now+a.RetryAfter, quantity); then.Limited {
					t.Fatalf("trial %d: still limited after %d ns", trial, a.RetryAfter)
				}
				if then, _ := f.Throttle(tat, now+a.RetryAfter-1, quantity); !then.Limited {
					t.Fatalf("trial %d: not limited a nanosecond before %d ns are over", trial, a.RetryAfter)
				}
			} else if a.Limited != (quantity > f.limit) {
				t.Fatalf("trial %d: quantity %d of %d: %+v", trial, quantity, f.limit, a)
			}
			// ResetAfter is exact.
			if then, _ := f.Throttle(tat, now+a.ResetAfter, 0); then.Remaining != f.limit || then.ResetAfter != 0 {
				t.Fatalf("trial %d: not reset after %d ns: %+v", trial, a.ResetAfter, then)
			}
		}
		for i := range through {
			sum := int64(0)
			for _, u := range through[i:] {
				sum += u.quantity
				if room := f.tolerance + u.at - through[i].at; sum*f.interval > room {
					t.Fatalf("trial %d: %d units in %d ns at one per %d ns and a burst of %d", trial, sum, u.at-through[i].at, f.interval, f.limit)
				}
			}
		}
	}
}

// TestFunnelIsNotGrantedTwice: the same holds for a clock that steps forwards
// and backwards.
func TestFunnelIsNotGrantedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	f := mustFunnel(t, 9, 100, second)
	for range 200 {
		var tat, first, last, sum int64
		first = math.MaxInt64
		now := 1000 * second
		for range 500 {
			now += r.Int64N(second/10) - second/20
			var a Answer
			if a, tat = f.Throttle(tat, now, 1); !a.Limited {
				first, last = min(first, now), max(last, now)
				sum++
			}
		}
		if sum*f.interval > f.tolerance+last-first {
			t.Fatalf("%d units between %d and %d", sum, first, last)
		}
	}
}

// TestFunnelFast: rates above 1,000 per second are limited. redis-cell's states
// expire after whole milliseconds, so it lets everything through.
func TestFunnelFast(t *testing.T) {
	for _, rate := range []int64{1_000, 1_001, 10_000, 250_000, 1_000_000} {
		f := mustFunnel(t, 9, rate, second)
		tat, through := int64(0), int64(0)
		const attempts, stretch = 200_000, second / 10
		for i := range int64(attempts) {
			var a Answer
			if a, tat = f.Throttle(tat, i*stretch/attempts, 1); !a.Limited {
				through++
			}
		}
		// The interval is truncated to nanoseconds, so a little more may pass.
		if want := 10 + (stretch-1)/f.interval; through < want-1 || through > want {
			t.Errorf("%d of %d attempts went through at %d per second, want %d", through, int64(attempts), rate, want)
		}
	}
}

func TestFunnelGivesBack(t *testing.T) {
	f := mustFunnel(t, 4, 1, second)
	a, tat := f.Throttle(0, 100*second, 5)
	if a.Remaining != 0 {
		t.Fatalf("after 5: %+v", a)
	}
	if a, tat = f.Throttle(tat, 100*second, -2); a.Limited || a.Remaining != 2 {
		t.Errorf("after giving 2 back: %+v", a)
	}
	for _, n := range []int64{-10, math.MinInt64, -math.MaxInt64} {
		if a, again := f.Throttle(tat, 100*second, n); a.Limited || a.Remaining != 5 || again != 100*second {
			t.Errorf("after giving %d back: %+v, state %d", n, a, again)
		}
	}
	if a, again := f.Throttle(tat, 100*second, math.MaxInt64); !a.Limited || a.RetryAfter != Never || again != tat {
		t.Errorf("asking for everything: %+v", a)
	}
}

// TestLimitsOfLimits: arguments that cannot be kept are errors, and the
// greatest that can do not overflow.
func TestLimitsOfLimits(t *testing.T) {
	for _, c := range [][3]int64{
		{-1, 1, 1}, {0, 0, 1}, {0, 1, 0}, {0, -1, 1}, {0, 1, -1}, {0, 2, 1}, {0, 2 * second, second},
		{math.MaxInt64, 1, 1}, {1 << 40, 1, second}, {0, 1, math.MaxInt64}, {0, math.MaxInt64, math.MaxInt64 - 1024},
	} {
		if f, err := NewFunnel(c[0], c[1], c[2]); !errors.Is(err, ErrLimit) {
			t.Errorf("NewFunnel(%d, %d, %d) = %+v, %v, want ErrLimit", c[0], c[1], c[2], f, err)
		}
	}
	for _, c := range [][2]int64{{0, 1}, {-1, 1}, {WindowMax + 1, 1}, {1, 0}, {1, -1}, {1, math.MaxInt64}} {
		if w, err := NewWindow(int(c[0]), c[1]); !errors.Is(err, ErrLimit) {
			t.Errorf("NewWindow(%d, %d) = %+v, %v, want ErrLimit", c[0], c[1], w, err)
		}
	}
	f := mustFunnel(t, toleranceMax/second-1, 1, second)
	now := int64(1) << 62
	a, tat := f.Throttle(0, now, f.limit)
	if a.Limited || a.Remaining != 0 || tat <= now {
		t.Errorf("the longest burst in 2116: %+v, state %d", a, tat)
	}
	if a, _ := f.Throttle(tat, now, 1); !a.Limited || a.RetryAfter != second {
		t.Errorf("one more: %+v", a)
	}
	if a, _ := f.Throttle(tat, 0, f.limit); !a.Limited || a.RetryAfter < 0 {
		t.Errorf("long before: %+v", a)
	}
}

// TestWindowTwin compares with counting all events of the period anew.
func TestWindowTwin(t *testing.T) {
	for trial := range 300 {
		r := rand.New(rand.NewPCG(3, uint64(trial)))
		period := 1 + r.Int64N(1000)
		limits := []int{1 + r.IntN(20), 1 + r.IntN(20)}
		var l Log
		var through []int64
		now, latest := r.Int64N(2000), int64(0)
		for step := range 500 {
			now += r.Int64N(1+period/8) - r.Int64N(3)
			limit := limits[0]
			if trial%3 == 0 {
				limit = limits[r.IntN(2)] // the limit may change
			}
			w := mustWindow(t, limit, period)
			latest = max(latest, now)
			at := latest
			var inside []int64
			for _, u := range through {
				if u > at-period {
					inside = append(inside, u)
				}
			}
			want := Answer{Limit: int64(limit), RetryAfter: Never}
			if len(inside) < limit {
				through = append(through, at)
				inside = append(inside, at)
			} else {
				want.Limited = true
				for after := int64(1); ; after++ { // until it would be let through
					n := 0
					for _, u := range inside {
						if u > at+after-period {
							n++
						}
					}
					if n < limit {
						want.RetryAfter = after
						break
					}
				}
			}
			want.Remaining = int64(max(0, limit-len(inside)))
			if len(inside) > 0 {
				want.ResetAfter = inside[len(inside)-1] + period - at
			}
			if got := w.Allow(&l, now); got != want {
				t.Fatalf("trial %d step %d: %d per %d ns at %d: %+v, want %+v", trial, step, limit, period, now, got, want)
			}
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	w := mustWindow(b, 1000, second)
	var l Log
	now := int64(0)
	for b.Loop() {
		now += 500_000
		w.Allow(&l, now)
	}
}
