//go:build !purego

package bloom

import "weir/sketches/internal/cpu"

// avx2 chooses the form of the functions for one hash. It is a variable so that
// a test can try both forms.
var avx2 = cpu.AVX2

// set sets the bits of a hash in the words of a filter.
//
//go:noescape
func set(words []uint64, h uint64)

// test reports whether the bits of a hash are all set.
//
//go:noescape
func test(words []uint64, h uint64) bool

// testAndSet sets the bits of a hash and reports whether all were set before.
//
//go:noescape
func testAndSet(words []uint64, h uint64) bool
