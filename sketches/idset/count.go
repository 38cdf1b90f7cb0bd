package idset

import "math"

// Count returns how many different ids likely have so many different hashes:
// −2^32·ln(1 − hashes/2^32), rounded. Two ids may share a hash, so there are more ids than
// hashes: one more from 65,536 hashes on, 116 more for a million. The standard error is about
// the square root of that difference. It is linear counting (Whang, Vander-Zanden and Taylor,
// 1990). A set of all hashes counts as one of all but one.
func Count(hashes uint64) uint64 {
	const all = 1 << 32
	return uint64(math.Floor(0.5 - all*math.Log1p(-float64(min(hashes, all-1))/all)))
}
