package bloom

import (
	"math"
	"math/big"
)

// A layer is one classic Bloom filter of RedisBloom's layout (its
// deps/bloom/bloom.c). Bit x is bit x%8 of byte x/8, and an item of hashes
// (a, b) has the bits (a + i·b mod 2⁶⁴) mod bits, i = 0 … hashes−1.
//
// bits may be shorter than the layer: what is missing is zeros. That is so
// only while a dump is being loaded.
type layer struct {
	bits     []byte
	bytes    uint64 // length of bits when whole, a multiple of 8
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
	l.bpe = math.Abs(-(ln(err) / ln2square))
	bits := uint64(float64(capacity) * l.bpe)
	l.bytes = (max(bits, 1) + 63) / 64 * 8
	l.modulus = 8 * l.bytes
	l.hashes = hashesFor(l.bpe)
	return l
}

func hashesFor(bpe float64) uint32 { return uint32(math.Ceil(ln2 * bpe)) }

// test reports whether all bits of an item are set.
func (l *layer) test(a, b uint64) bool {
	for range l.hashes {
		x := a % l.modulus
		if x>>3 >= uint64(len(l.bits)) || l.bits[x>>3]>>(x&7)&1 == 0 {
			return false
		}
		a += b
	}
	return true
}

// set sets all bits of an item. bits is whole.
func (l *layer) set(a, b uint64) {
	for range l.hashes {
		x := a % l.modulus
		l.bits[x>>3] |= 1 << (x & 7)
		a += b
	}
}

// whole makes bits as long as the layer.
func (l *layer) whole() {
	if missing := l.bytes - uint64(len(l.bits)); missing > 0 {
		l.bits = append(l.bits, make([]byte, missing)...)
	}
}

// ln returns the natural logarithm of x, 0 < x < 1, rounded correctly. math.Log is
// one unit of the last place off for 0.01, the default error, and the header of
// a dump would hold that difference.
func ln(x float64) float64 {
	const precision = 128
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	// x = m · 2^e with m in [√½, √2); ln x = e·ln 2 + 2·artanh((m−1)/(m+1)).
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := number(m - 1) // exact
	s.Quo(s, new(big.Float).Add(number(m), number(1)))
	square := new(big.Float).Mul(s, s)
	sum, power := number(0), s
	for k := 1; k < 60; k += 2 { // |s| ≤ 0.172, so the last terms are below 2^-150
		sum.Add(sum, new(big.Float).Quo(power, number(float64(k))))
		power = new(big.Float).Mul(power, square)
	}
	two, _ := number(0).SetString("0.693147180559945309417232121458176568075500134360255254120680")
	sum.Mul(sum, number(2)).Add(sum, two.Mul(two, number(float64(e))))
	y, _ := sum.Float64()
	return y
}
