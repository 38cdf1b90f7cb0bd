//go:build !purego

package event

import "unsafe"

// striding says that stride takes the usual steps of scanKnown. Tests set it to false.
var striding = true

// stride takes steps of a layout from step at and index i of a document of size bytes on, as
// the loop in scanKnown does, but sixteen bytes at a time: literals of up to sixteen bytes,
// strings without escapes, and numbers without an exponent. It stops before a step that is
// anything else, or that does not end before the last bytes of the document, and returns the
// index and the step, 0 if no step fits. ended says that the document ends at that step.
// found has a bit for each slot whose span it has set.
//
// It may read 16 bytes behind the document, in the same page of memory, and ignores them.
//
//go:noescape
func stride(steps *step, spans *span, doc *byte, size, i, at int) (next, step int, found uint64, ended bool)

// The assembly multiplies by these sizes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(step{})-64]
	_ = [1]struct{}{}[unsafe.Sizeof(span{})-16]
)
