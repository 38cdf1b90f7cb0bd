package bloom

import (
	"encoding/binary"
)

// murmur64A is MurmurHash64A (Austin Appleby), the hash of RedisBloom.
func murmur64A(b []byte, seed uint64) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := seed ^ uint64(len(b))*m
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		h = (h ^ (k^k>>r)*m) * m
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * m
	}
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// murmurSeed is the seed of the first of RedisBloom's two hashes; the second
// takes the first as its seed.
const murmurSeed = 0xc6a4a7935bd1e995
