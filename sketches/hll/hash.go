package hll

import (
	"encoding/binary"
	"math/bits"
)

const (
	// Precision is the number of hash bits that choose the register.
	Precision = 14
	// Registers is the number of registers of a Sketch.
	Registers = 1 << Precision
	// MaxRank is the highest value a register can take: the 50 remaining bits
	// of a hash may all be zero.
	MaxRank = 64 - Precision + 1
)

// seed and multiplier of MurmurHash64A as Redis uses it (src/hyperloglog.c).
const (
	murmurSeed = 0xadc83b19
	murmurMul  = 0xc6a4a7935bd1e995
)

// Hash is Redis' hash of an element: MurmurHash64A with Redis' seed, reading
// little-endian on every machine. It is fast and public: a client that can
// choose the elements can choose hashes that inflate a count. See [KeyedHash].
//
// The algorithm takes words of 8 bytes and then what is left over, byte by
// byte. This function takes the last 16 bytes without a loop, and cuts the
// incomplete last word from a full word that overlaps the one before. That
// halves the time for short ids.
func Hash(b []byte) uint64 {
	m := multiplier
	h := murmurSeed ^ uint64(len(b))*m
	for len(b) > 16 {
		w := (*[16]byte)(b)
		h = (h ^ murmurMix(binary.LittleEndian.Uint64(w[:8]), m)) * m
		h = (h ^ murmurMix(binary.LittleEndian.Uint64(w[8:]), m)) * m
		b = b[16:]
	}
	if len(b) >= 8 {
		h = (h ^ murmurMix(binary.LittleEndian.Uint64(b), m)) * m
		last := binary.LittleEndian.Uint64(b[len(b)-8:])
		if len(b) == 16 {
			h = (h ^ murmurMix(last, m)) * m
		} else if len(b) > 8 {
			h = (h ^ last>>(uint(128-8*len(b))&63)) * m
		}
	} else if len(b) > 0 {
		h = (h ^ shortWord(b)) * m
	}
	h = (h ^ h>>47) * m
	return h ^ h>>47
}

// multiplier is a variable so that the compiler keeps it in a register; it
// would load a 64-bit constant anew for each multiplication.
var multiplier uint64 = murmurMul

func murmurMix(k, m uint64) uint64 {
	k *= m
	return (k ^ k>>47) * m
}

// shortWord returns the little-endian number in 1 to 7 bytes.
func shortWord(b []byte) uint64 {
	n := len(b)
	switch {
	case n >= 4: // two halves that may overlap
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(uint(8*n-32)&63)
	case n == 3:
		return uint64(binary.LittleEndian.Uint16(b)) | uint64(b[2])<<16
	case n == 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case n == 1:
		return uint64(b[0])
	}
	return 0
}

// KeyedHash is SipHash-2-4 (Aumasson and Bernstein, 2012) of b under a secret
// key. Used in place of Hash, it keeps strangers from crafting ids that raise
// a count, at about six times the cost. Sketches of different keys, or of
// Hash, must not be merged: nothing in the registers tells them apart.
func KeyedHash(key [16]byte, b []byte) uint64 {
	k0 := binary.LittleEndian.Uint64(key[:8])
	k1 := binary.LittleEndian.Uint64(key[8:])
	// The initial words are the ASCII text "somepseudorandomlygeneratedbytes".
	v0, v1, v2, v3 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d, k0^0x6c7967656e657261, k1^0x7465646279746573
	last := uint64(len(b)) << 56
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		v3 ^= w
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= w
		b = b[8:]
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= last
	v2 ^= 0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32) + v3
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	return v0, v1, bits.RotateLeft64(v2, 32), v3
}

// split returns the register that the low 14 bits of a hash name, and the rank
// of the rest, 1 to 51.
func split(h uint64) (register uint32, rank uint8) {
	return uint32(h % Registers), uint8(rankBelow(h) + 1)
}

// rankBelow returns the rank of h less one: the zero bits before the first one bit,
// where the bit forced on stands for "no one bit at all".
func rankBelow(h uint64) int { return bits.TrailingZeros64(h>>Precision | 1<<(MaxRank-1)) }

// An entry is a register with its rank in one word, register<<6 | rank: the
// form in which small sketches keep registers. No entry is 0, since no rank is.
type entry uint32

const rankBits = 6

func entryOf(h uint64) entry {
	i, r := split(h)
	return entry(i<<rankBits | uint32(r))
}

func (e entry) register() uint32 { return uint32(e) >> rankBits }
func (e entry) rank() uint8      { return uint8(e) & (1<<rankBits - 1) }
