// Package cacheline keeps what a worker writes for every event out of the cache lines of another
// worker. Two objects that are allocated one after the other may share a line. A processor that
// writes to its part of the line takes all of it from the other processor, which waits for it
// (false sharing).
package cacheline

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// A Pad is the room of a cache line, for the beginning and the end of a struct.
type Pad = cpu.CacheLinePad

const line = int(unsafe.Sizeof(Pad{}))

// Slice makes n values with the room of a cache line or more before and behind them.
func Slice[T any](n int) []T {
	var value T
	room := room(int(unsafe.Sizeof(value)))
	return make([]T, room+n+room)[room : room+n : room+n]
}

// room returns how many values of some bytes take the room of a line.
func room(size int) int {
	if size == 0 {
		return 0
	}
	return (line + size - 1) / size
}
