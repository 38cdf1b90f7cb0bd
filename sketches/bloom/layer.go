package bloom

import "math"

// A layer is one classic Bloom filter of RedisBloom's layout (its
// deps/bloom/bloom.c). Bit x is bit x%8 of byte x/8, and an item of hashes
// (a, b) has the bits (a + i·b mod 2⁶⁴) mod bits, i = 0 … hashes−1.
type layer struct {
	bits     []byte
	bytes    uint64 // length of bits, a multiple of 8
	modulus  uint64 // 8·bytes
	err      float64
	bpe      float64 // bits per item, from err
	hashes   uint32
	capacity uint64
	size     uint64 // items accepted
}

// RedisBloom's constants, with its 15 digits.
const (
	ln2       = 0.693147180559945
	ln2square = 0.480453013918201
)

// newLayer sizes a layer. bits stays empty.
func newLayer(capacity uint64, err float64) layer {
	l := layer{capacity: capacity, err: err}
	l.bpe = math.Abs(-(math.Log(err) / ln2square))
	bits := uint64(float64(capacity) * l.bpe)
	l.bytes = (max(bits, 1) + 63) / 64 * 8
	l.modulus = 8 * l.bytes
	l.hashes = uint32(math.Ceil(ln2 * l.bpe))
	return l
}

// test reports whether all bits of an item are set.
func (l *layer) test(a, b uint64) bool {
	for range l.hashes {
		x := a % l.modulus
		if l.bits[x>>3]>>(x&7)&1 == 0 {
			return false
		}
		a += b
	}
	return true
}

// set sets all bits of an item.
func (l *layer) set(a, b uint64) {
	for range l.hashes {
		x := a % l.modulus
		l.bits[x>>3] |= 1 << (x & 7)
		a += b
	}
}
