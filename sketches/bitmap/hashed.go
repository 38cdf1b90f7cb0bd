package bitmap

import "math"

// Distinct returns how many different ids have likely set so many bits of a bitmap, each
// one bit of 2^32 by its hash: −2^32·ln(1 − bits/2^32), rounded. Two ids may share a bit,
// so there are more ids than bits: one more from 65,536 bits on, 116 more for a million. The
// standard error is about the square root of that difference. It is linear counting
// (Whang, Vander-Zanden and Taylor, 1990). A bitmap with all bits set counts as one with
// all but one.
func Distinct(bits uint64) uint64 {
	const all = 1 << 32
	return uint64(math.Floor(0.5 - all*math.Log1p(-float64(min(bits, all-1))/all)))
}
