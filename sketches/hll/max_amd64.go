//go:build !purego

package hll

// The byte-wise maximum of two vectors is one instruction on every amd64
// (SSE2: 16 registers); AVX2, where the processor and the system have it, does
// 32, takes four sources in one pass, and unpacks Redis' six-bit registers on
// the way. The functions of max.go are the specification; the tests hold all of
// these against them.

//go:noescape
func maxSSE2(d, s *registers)

//go:noescape
func maxAVX2(d, s *registers)

//go:noescape
func max4AVX2(d, s0, s1, s2, s3 *registers)

// maxPackedAVX2 raises d to the packed registers at b. It also reads, and
// ignores, the four bytes before b.
//
//go:noescape
func maxPackedAVX2(d *registers, b *byte)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low uint32)

var hasAVX2 = func() bool {
	const osxsave, avx, avx2, ymmState = 1 << 27, 1 << 28, 1 << 5, 6
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&(osxsave|avx) != osxsave|avx {
		return false
	}
	if xgetbv()&ymmState != ymmState { // the system must save the registers
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}()

func maxInto(d, s *registers) {
	if hasAVX2 {
		maxAVX2(d, s)
		return
	}
	maxSSE2(d, s)
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
