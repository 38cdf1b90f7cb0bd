package main

import (
	"fmt"
	"runtime"
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

// TestAfterEachCollection: it is called after a collection, again and again.
func TestAfterEachCollection(t *testing.T) {
	var calls atomic.Int64
	afterEachCollection(func() { calls.Add(1) })
	for n := range int64(3) {
		await.Until(t, func() error {
			runtime.GC()
			if calls.Load() <= n {
				return fmt.Errorf("it was called %d times", n)
			}
			return nil
		})
	}
}
