package redis

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/redistest"
)

func fields(line string) []string { return strings.Fields(line) }

// clock is a clock that tests set.
type clock struct{ nano atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.nano.Store(time.Date(2026, 11, 20, 10, 5, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nano.Load()) }
func (c *clock) pass(d time.Duration)    { c.nano.Add(int64(d)) }
func (c *clock) set(at, d time.Duration) { c.nano.Store(int64(at + d)) }

// TestThrottle has the cases of redis-cell's own tests: five requests at once,
// and one more each second.
func TestThrottle(t *testing.T) {
	clock := newClock()
	_, addr := start(t, Config{Now: clock.now})
	c := dial(t, addr)
	origin := time.Duration(clock.nano.Load())
	for _, x := range []struct {
		at                                         time.Duration
		quantity                                   int
		limited, remaining, retryAfter, resetAfter int64
	}{
		{0, 6, 1, 5, -1, 0},
		{0, 1, 0, 4, -1, 1}, {0, 1, 0, 3, -1, 2}, {0, 1, 0, 2, -1, 3}, {0, 1, 0, 1, -1, 4}, {0, 1, 0, 0, -1, 5},
		{0, 1, 1, 0, 1, 5},
		{3000 * time.Millisecond, 1, 0, 2, -1, 3},
		{3100 * time.Millisecond, 1, 0, 1, -1, 4},
		{4000 * time.Millisecond, 1, 0, 1, -1, 4},
		{8000 * time.Millisecond, 1, 0, 4, -1, 1},
		{9500 * time.Millisecond, 1, 0, 4, -1, 1},
		{9500 * time.Millisecond, 0, 0, 4, -1, 1},
		{9500 * time.Millisecond, 2, 0, 2, -1, 3},
		{9500 * time.Millisecond, 5, 1, 2, 3, 3},
	} {
		clock.set(origin, x.at)
		expect(t, c, []any{x.limited, int64(5), x.remaining, x.retryAfter, x.resetAfter}, "CL.THROTTLE", "k", 4, 1, 1, x.quantity)
	}
	expect(t, c, "string", "TYPE", "k")
	clock.pass(3100 * time.Millisecond)
	expect(t, c, "none", "TYPE", "k")

	// With more than a thousand requests a second the state lives longer than one
	// of its intervals.
	limited := 0
	for range 30 {
		if do(t, c, "CL.THROTTLE", "fast", 9, 10_000, 1).([]any)[0] == int64(1) {
			limited++
		}
	}
	if limited != 20 {
		t.Errorf("%d of 30 at once were limited, want 20", limited)
	}

	for line, want := range map[string]string{
		"k 1 0 1":     "ERR Cell error: Zero rates are not supported",
		"k 1 1 x":     "ERR Cell error: Couldn't parse as integer: x",
		"k 1 1":       "ERR Cell error: Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]",
		"other 1 1 1": errInteger,
		"z 1 1 1":     errType,
	} {
		do(t, c, "SET", "other", "text")
		do(t, c, "ZADD", "z", 1, "a")
		expect(t, c, redistest.Error(want), append([]any{"CL.THROTTLE"}, anys(fields(line))...)...)
	}
}

// TestExpiry moves the clock past the expiry of keys.
func TestExpiry(t *testing.T) {
	clock := newClock()
	s, addr := start(t, Config{Now: clock.now})
	c := dial(t, addr)
	do(t, c, "SET", "a", "1", "PX", 1500)
	do(t, c, "SETEX", "b", 10, "2")
	do(t, c, "SET", "c", "3")
	expect(t, c, 2, "TTL", "a")
	expect(t, c, 1500, "PTTL", "a")
	expect(t, c, -1, "TTL", "c")
	expect(t, c, -2, "TTL", "d")
	clock.pass(1499 * time.Millisecond)
	expect(t, c, "1", "GET", "a")
	clock.pass(time.Millisecond)
	expect(t, c, nil, "GET", "a")
	expect(t, c, 0, "EXISTS", "a")
	expect(t, c, 1, "EXPIRE", "b", 100, "GT")
	expect(t, c, 0, "EXPIRE", "b", 50, "GT")
	expect(t, c, "OK", "SET", "e", "2", "PXAT", clock.now().Add(100*time.Second).UnixMilli())
	expect(t, c, 1, "DEL", "b")
	expect(t, c, 100, "TTL", "e")
	expect(t, c, "OK", "SET", "e", "x", "KEEPTTL")
	expect(t, c, 100, "TTL", "e")
	expect(t, c, "OK", "SET", "e", "x")
	expect(t, c, -1, "TTL", "e")

	// Expired keys that no command reads are removed as well, and their memory is
	// free.
	for i := range 1000 {
		do(t, c, "SET", i, strings.Repeat("x", 100), "PX", 10)
	}
	s.mu.Lock()
	used := s.store.used
	s.mu.Unlock()
	clock.pass(time.Second)
	deadline := await.Deadline()
	for do(t, c, "DBSIZE") != int64(2) {
		if time.Now().After(deadline) {
			t.Fatalf("%v keys are left", do(t, c, "DBSIZE"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.used > used/100 || len(s.store.volatile) != 0 {
		t.Errorf("%d bytes and %d ends are left, of %d bytes", s.store.used, len(s.store.volatile), used)
	}
}
