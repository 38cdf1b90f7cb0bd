//go:build !purego

package hll

import "weir/sketches/internal/cpu"

// AVX2 has an instruction for the maximum of 32 registers at a time. It takes four
// sources in one pass, and unpacks Redis' six-bit registers on the way. The functions
// of max.go are the specification; the tests compare these with them.

//go:noescape
func maxAVX2(d, s *registers)

//go:noescape
func max4AVX2(d, s0, s1, s2, s3 *registers)

// maxPackedAVX2 raises d to the packed registers at b. It also reads, and
// ignores, the four bytes before b.
//
//go:noescape
func maxPackedAVX2(d *registers, b *byte)

// hasAVX2 is a variable so that a test can try both forms.
var hasAVX2 = cpu.AVX2

func maxInto(d, s *registers) {
	if hasAVX2 {
		maxAVX2(d, s)
		return
	}
	maxWords(d, s)
}

// maxAll raises d to every one of the sources.
func maxAll(d *registers, sources []*registers) {
	if hasAVX2 {
		for len(sources) >= 4 {
			max4AVX2(d, sources[0], sources[1], sources[2], sources[3])
			sources = sources[4:]
		}
	}
	for _, s := range sources {
		maxInto(d, s)
	}
}

// maxString raises d to the registers of a dense string.
func maxString(d *registers, v String) {
	_ = v[denseBytes-1]
	if hasAVX2 {
		maxPackedAVX2(d, &v[headerBytes])
		return
	}
	maxPacked(d, v[headerBytes:])
}
