//go:build !purego

package event

import "unsafe"

// striding says that stride takes the usual steps of scanKnown. Tests set it to false.
var striding = true

// stride takes steps of a layout from step at and index i of a document of size bytes on, as
// the loop in scanKnown does, but sixteen bytes at a time: literals of up to sixteen bytes,
// strings without escapes, and numbers without an exponent. It stops before a step that is
// anything else, or that lies too near to the end of readable memory, and returns the index
// and the step, 0 if no step fits. ended says that the document ends at that step. found has
// a bit for each slot whose span it has set.
//
// It may read 16 bytes behind the document, in the same page of memory, and ignores them. So
// where a document lies decides whether stride or the loop takes its last steps, and nothing else.
//
//go:noescape
func stride(steps *step, spans *span, doc *byte, size, i int, at uint8) (next int, to uint8, found uint64, ended bool)

// The assembly multiplies by these sizes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(step{})-64]
	_ = [1]struct{}{}[unsafe.Sizeof(span{})-16]
)
