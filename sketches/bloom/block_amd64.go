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

// ahead is AHEAD of the assembly: with item i the loop prefetches the block of
// item i+ahead, if there is one.
const ahead = 16

//go:noescape
func testAndSetBatchAVX2(words *uint64, blocks uint64, hashes *uint64, n, ahead int, seen *bool)

func testAndSetBatch(words, hashes []uint64, seen []bool) {
	seen = seen[:len(hashes)]
	if n := len(hashes); n > 0 && avx2 {
		testAndSetBatchAVX2(&words[0], uint64(len(words)/blockWords), &hashes[0], n, n-ahead, &seen[0])
		return
	}
	testAndSetBatchGeneric(words, hashes, seen)
}
