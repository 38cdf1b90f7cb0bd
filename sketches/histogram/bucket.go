package histogram

import (
	"math"
	"math/big"
)

// A Bucket is the number of a bucket: its scale in the upper 4 bits, its place in the
// others. The place of the bucket with zero is 2^27. Buckets of greater numbers have
// greater places: that of the positive numbers in (b^i, b^(i+1)], where b is 2^(2^-s), has
// place 2^27 + 1 + 1023·2^s + i, and that of their negatives lies as far below 2^27.
type Bucket uint32

const (
	scaleShift = 28
	zeroPlace  = 1 << 27
	placeMask  = 1<<scaleShift - 1

	mantissaBits = 52
	mantissaMask = 1<<mantissaBits - 1
	bias         = 1023
)

// MaxScale is the greatest scale, with an error of 0.00034.
const MaxScale = 10

// ScaleFor returns the least scale at which Value differs from every number of the bucket
// by at most err times that number, MaxScale at most.
func ScaleFor(err float64) int {
	scale := 0
	for ; scale < MaxScale && Error(scale) > err; scale++ {
	}
	return scale
}

// Error returns the greatest relative error at a scale: (b−1)/(b+1), which is 0.0108 at
// scale 5 and about half of that at each scale more.
func Error(scale int) float64 {
	b := factor(scale)
	return (b - 1) / (b + 1)
}

// factor returns b, the factor from one bound to the next.
func factor(scale int) float64 {
	b := 2.0
	for range scale {
		b = math.Sqrt(b)
	}
	return b
}

// Scale returns the bucket's scale.
func (b Bucket) Scale() int { return int(b >> scaleShift) }

// place returns how far the bucket is from that of zero, below 0 for negative numbers.
func (b Bucket) place() int { return int(b&placeMask) - zeroPlace }

// Value returns the number that stands for the bucket, 2·low·high/(low+high): its relative
// difference from both bounds is the same.
func (b Bucket) Value() float64 {
	f := factor(b.Scale())
	switch place := b.place(); {
	case place > 0:
		return bound(b.Scale(), place, 2*f/(f+1))
	case place < 0:
		return -bound(b.Scale(), -place, 2*f/(f+1))
	}
	return 0
}

// Bounds returns the numbers between which those of the bucket lie. The bound that is
// nearer to zero is not in the bucket. The last bucket ends at infinity.
func (b Bucket) Bounds() (least, most float64) {
	const smallest = 0x1p-1022
	switch s, place := b.Scale(), b.place(); {
	case place > 0:
		return bound(s, place, 1), bound(s, place+1, 1)
	case place < 0:
		return -bound(s, 1-place, 1), -bound(s, -place, 1)
	}
	return -smallest, smallest
}

// bound returns the lower bound of a bucket of positive numbers, times by.
func bound(scale, place int, by float64) float64 {
	place--
	octave, part := place>>scale-bias, place&(1<<scale-1)
	root := 2.0
	for bit := 1 << scale >> 1; bit > 0; bit >>= 1 { // 2^(part/2^scale), from the roots of 2
		if root = math.Sqrt(root); part&bit != 0 {
			by *= root
		}
	}
	return math.Ldexp(by, octave)
}

// A Layout finds the buckets of numbers at one scale. It takes 16·2^scale bytes, and the
// time of 2^scale multiplications of long numbers to make: some 20 µs at scale 6.
type Layout struct {
	scale uint8
	shift uint8 // of a mantissa, to the equal part of the octave that it is in
	zero  Bucket

	// By equal part of an octave, of which there are 2^(scale+1): it meets two buckets at
	// most, because it is narrower than the first and narrowest bucket. The number of the
	// lower one + 2 is in the upper bits; the first mantissa of the upper one was
	// subtracted. So a mantissa added gives the number of its bucket + 1 there.
	parts []uint64
}

// partShift is where the number of a bucket begins in Layout.parts.
const partShift = mantissaBits + 1

// NewLayout makes the layout of a scale, 0 to MaxScale.
func NewLayout(scale int) *Layout {
	l := &Layout{scale: uint8(scale), shift: uint8(mantissaBits - 1 - scale), zero: Bucket(scale)<<scaleShift | zeroPlace}
	ends, bucket := ends(scale), uint64(0)
	for part := range uint64(2) << scale {
		for ends[bucket] <= part<<l.shift {
			bucket++
		}
		l.parts = append(l.parts, (bucket+2)<<partShift-ends[bucket])
	}
	return l
}

// ends returns for each bucket of an octave the first mantissa above it, less 1: the upper
// bounds are irrational, but for that of the last.
func ends(scale int) (all []uint64) {
	const digits = 256 // bits of the bounds: TestBounds checks that they are enough
	f, bound := big.NewFloat(2).SetPrec(digits), big.NewFloat(1).SetPrec(digits)
	for range scale {
		f.Sqrt(f)
	}
	mantissa, one := new(big.Float).SetPrec(digits), big.NewFloat(1)
	for range 1<<scale - 1 {
		bound.Mul(bound, f)
		mantissa.Sub(bound, one)
		end, _ := mantissa.SetMantExp(mantissa, mantissaBits).Uint64() // rounds down
		all = append(all, end)
	}
	return append(all, 1<<mantissaBits)
}

// Of returns the bucket of a number, which is not a NaN. A power of two belongs to the
// bucket below it: so 1 is taken from the bits of the number first.
func (l *Layout) Of(v float64) Bucket {
	bits := math.Float64bits(v)
	amount := bits &^ (1 << 63)
	if amount < 1<<mantissaBits {
		return l.zero
	}
	amount--
	mantissa := amount & mantissaMask
	part := (l.parts[mantissa>>(l.shift&63)] + mantissa) >> partShift
	place := Bucket(amount>>mantissaBits<<(l.scale&63) + part)
	if v < 0 {
		return l.zero - place
	}
	return l.zero + place
}
