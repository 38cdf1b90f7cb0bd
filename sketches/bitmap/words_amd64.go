//go:build !purego

package bitmap

import "weir/sketches/internal/cpu"

// The assembly works on whole blocks of this many bytes; the plain form does
// the rest.
const (
	orStep    = 128
	countStep = 256
)

//go:noescape
func orAVX2(d, s *byte, blocks int)

//go:noescape
func or2AVX2(d, s, t *byte, blocks int)

//go:noescape
func countAVX2(b *byte, blocks int) uint64

//go:noescape
func countVPOPCNT(b *byte, blocks int) uint64

func or(d, s []byte) {
	if n := len(d) / orStep; n > 0 && cpu.AVX2 {
		orAVX2(&d[0], &s[0], n)
		d, s = d[n*orStep:], s[n*orStep:]
	}
	orGeneric(d, s)
}

func or2(d, s, t []byte) {
	if n := len(d) / orStep; n > 0 && cpu.AVX2 {
		or2AVX2(&d[0], &s[0], &t[0], n)
		d, s, t = d[n*orStep:], s[n*orStep:], t[n*orStep:]
	}
	or2Generic(d, s, t)
}

func count(b []byte) (ones uint64) {
	if n := len(b) / countStep; n > 0 && cpu.AVX2 {
		if cpu.VPOPCNT {
			ones = countVPOPCNT(&b[0], n)
		} else {
			ones = countAVX2(&b[0], n)
		}
		b = b[n*countStep:]
	}
	return ones + countGeneric(b)
}
