package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"

	"weir/internal/await"
)

// TestCollectAt: a small heap grows to 32 MiB, a large one by a fifth.
func TestCollectAt(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 1 << 20: 300, 8 << 20: 300, 16 << 20: 100, 25 << 20: 28, 27 << 20: 20, 60 << 20: 20, 10 << 30: 20} {
		if got := collectAt(live); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", live>>20, got, want)
		}
	}
}

// TestCollectOften: the percent of the runtime becomes that of the heap, unless GOGC says one.
func TestCollectOften(t *testing.T) {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	now := func() uint64 { metrics.Read(percent); return percent[0].Value.Uint64() }
	const ours = 77
	defer debug.SetGCPercent(debug.SetGCPercent(ours))
	t.Setenv("GOGC", fmt.Sprint(ours))
	collectOften()
	collected(t, 3)
	if n := now(); n != ours {
		t.Errorf("with GOGC=%d it is %d", ours, n)
	}
	t.Setenv("GOGC", "")
	collectOften()
	await.Until(t, func() error {
		if n := now(); n == ours || n > 300 {
			return fmt.Errorf("it is %d", n)
		}
		return nil
	})
}

// TestAfterEachCollection: it is called after a collection, again and again.
func TestAfterEachCollection(t *testing.T) { collected(t, 3) }

// collected returns when afterEachCollection has called a function so many times.
func collected(t *testing.T, times int64) {
	t.Helper()
	var calls atomic.Int64
	afterEachCollection(func() { calls.Add(1) })
	await.Until(t, func() error {
		runtime.GC()
		if n := calls.Load(); n < times {
			return fmt.Errorf("it was called %d times", n)
		}
		return nil
	})
}
