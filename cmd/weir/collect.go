package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector runs when the heap has smallHeap, and beyond that when it has grown by
// a fifth. Counting makes no garbage for an event, and what it keeps has few pointers, so
// collections are few and short while a process catches up. A process that has little to do, and
// viewers, would collect for every few of their answers without the first bound. docs/performance.md
// has the figures.
const (
	smallHeap      = 32 << 20
	garbagePercent = 20
)

// collectOften has the garbage collector run when the heap has grown by as much as collectAt says, and
// not only when it has doubled. GOGC of the environment wins.
func collectOften() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	was := 0
	afterEachCollection(func() {
		metrics.Read(live)
		percent := collectAt(live[0].Value.Uint64())
		if was-was/10 <= percent && percent <= was+was/10 {
			return // it would stop all goroutines for nothing
		}
		was = percent
		debug.SetGCPercent(percent)
	})
	runtime.GC() // the first of them
}

// collectAt returns by how many percent a heap of so many bytes in use may grow. Stacks and
// variables of packages count as in use, too: a bound of four times keeps their part small.
func collectAt(live uint64) int {
	return min(300, max(garbagePercent, int(100*smallHeap/max(live, 1))-100))
}

// afterEachCollection calls f soon after each garbage collection, one call at a time.
func afterEachCollection(f func()) {
	// Nothing refers to the object, so the next collection finds it. It has a pointer: small ones
	// without lie together, and stay as long as their neighbours.
	type object struct{ f func() }
	runtime.SetFinalizer(&object{f}, func(*object) { f(); afterEachCollection(f) })
}
