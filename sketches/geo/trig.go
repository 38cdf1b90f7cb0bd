package geo

import "math"

// Redis prints and stores distances made with the C library's sine, cosine and
// arc sine, which are within a few hundredths of an ulp of correctly rounded.
// Go's are good to about one ulp and differ between processors (they use fused
// multiplication where it exists), so a distance stored by STOREDIST would
// depend on the machine. The functions here compute about 70 bits and round
// once: their results are equal on every processor, and equal to the C
// library's except for a few in a thousand, which differ by one ulp.
//
// The method is Gal's, as in most accurate libraries: look up sine and cosine
// of the nearest multiple of 1/32 in double-double, add the rest by the
// addition theorem with short Taylor series.

// A double is an unevaluated sum of two float64 that do not overlap.
type double struct{ hi, lo float64 }

// twoSum returns a+b without error (Knuth).
func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// fastSum returns a+b without error if |a| ≥ |b| (Dekker).
func fastSum(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

// twoProduct returns a·b without error.
func twoProduct(a, b float64) double {
	p := float64(a * b)
	return double{p, math.FMA(a, b, -p)}
}

func (a double) plus(b double) double {
	s := twoSum(a.hi, b.hi)
	return fastSum(s.hi, s.lo+(a.lo+b.lo))
}

func (a double) times(b double) double {
	p := twoProduct(a.hi, b.hi)
	return fastSum(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

// grid is the number of table entries per radian.
const grid = 32

// turns holds sine and cosine of k/grid up to beyond π/2, good to 100 bits.
var turns = func() (t [53]struct{ sin, cos double }) {
	// The first step by Taylor series from the last term up, in
	// double-double: x = 1/32, so that 12 terms reach 2^-107.
	const x = 1.0 / grid
	sin, cos := double{}, double{}
	for n := 23; n >= 1; n -= 2 {
		// sin = x·(1 - x²/(2·3)·(1 - x²/(4·5)·(…))), and cos alike.
		sin = double{1, 0}.plus(sin.times(quotient(-x*x, float64((n+1)*(n+2)))))
		cos = double{1, 0}.plus(cos.times(quotient(-x*x, float64(n*(n+1)))))
	}
	sin = sin.times(double{x, 0})
	t[0].cos.hi = 1
	for k := 1; k < len(t); k++ {
		p := t[k-1]
		t[k].sin = p.sin.times(cos).plus(p.cos.times(sin))
		minus := double{-sin.hi, -sin.lo}
		t[k].cos = p.cos.times(cos).plus(p.sin.times(minus))
	}
	return t
}()

// quotient returns a/b in double-double.
func quotient(a, b float64) double {
	q := a / b
	return fastSum(q, math.FMA(-q, b, a)/b)
}

// π as the unevaluated sum of three float64.
const (
	pi1 = 3.141592653589793115997963468544185161590576171875
	pi2 = 1.2246467991473532e-16
	pi3 = -2.9947698097183397e-33
)

// sine is sin x for |x| ≤ π, correctly rounded but for about one argument in
// ten thousand. Beyond it is NaN; no caller needs it.
func sine(x float64) float64 {
	y := math.Abs(x)
	var s double
	switch {
	case y <= math.Pi/2:
		s, _ = sincos(y, 0)
	case y <= math.Pi:
		// sin y = sin(π-y). Near π, the digits of the sine come from the rest of π
		// beyond a float64.
		rest := twoSum(pi1-y, pi2)
		s, _ = sincos(rest.hi, rest.lo+pi3)
	default:
		return math.NaN()
	}
	return math.Copysign(s.hi, x)
}

// cosine is cos x; it is correctly rounded, like sine, for |x| ≤ π/2. Beyond
// that it is the library's, because only the size of a search's cells depends
// on it.
func cosine(x float64) float64 {
	if y := math.Abs(x); y <= math.Pi/2 {
		_, c := sincos(y, 0)
		return c.hi
	}
	return math.Cos(x)
}

// arcsine is asin y for 0 ≤ y ≤ 1: one step of Newton's method from the
// library's value, which removes the error of that value.
func arcsine(y float64) float64 {
	if y > 0.5 {
		// asin is steep near 1, where Newton's quotient would lose its digits.
		// There asin y = π/2 - 2·asin √g, and g = (1-y)/2 is exact.
		g := (1 - y) / 2
		t := math.Asin(math.Sqrt(g))
		s, c := sincos(t, 0)
		if s.hi == 0 {
			return math.Pi / 2
		}
		square := s.times(s)
		d := ((g - square.hi) - square.lo) / (2 * s.hi * c.hi)
		sum := twoSum(pi1/2, -2*t)
		return sum.hi + (sum.lo + (pi2/2 - 2*d))
	}
	t := math.Asin(y)
	s, c := sincos(t, 0)
	return t + ((y-s.hi)-s.lo)/c.hi
}

// sincos returns sine and cosine of x+dx, 0 ≤ x ≤ π/2, |dx| below an ulp of
// x, with absolute errors near 2^-73 and, for the sine of a small x, a
// relative error near 2^-68.
func sincos(x, dx float64) (sin, cos double) {
	k := int(float64(x*grid) + 0.5)
	r := x - float64(k)/grid // exact: both are multiples of x's ulp, or k is 0
	t := &turns[k]

	// sin r = r + ds, cos r = 1 - q + dc with q = r²/2; ds and dc are small
	// enough for one float64. Terms beyond these are below 2^-80.
	q := twoProduct(r, r)
	z := q.hi
	ds := dx + float64(float64(r*z)*(-1.0/6+float64(z*(1.0/120+float64(z*(-1.0/5040+float64(z*(1.0/362880))))))))
	dc := float64(float64(z*z)*(1.0/24+float64(z*(-1.0/720+float64(z*(1.0/40320)))))) - q.lo/2 - float64(r*dx)
	q.hi /= 2

	// sin(t+r) = sin t·cos r + cos t·sin r, leading products exact.
	a, b := twoProduct(t.cos.hi, r), twoProduct(t.sin.hi, -q.hi)
	sum := twoSum(t.sin.hi, a.hi)
	more := twoSum(sum.hi, b.hi)
	sin = fastSum(more.hi, more.lo+(sum.lo+(t.sin.lo+a.lo+b.lo+
		float64(t.cos.lo*r)+float64(t.cos.hi*ds)+float64(t.sin.hi*dc))))

	// cos(t+r) = cos t·cos r - sin t·sin r.
	a, b = twoProduct(t.sin.hi, -r), twoProduct(t.cos.hi, -q.hi)
	sum = twoSum(t.cos.hi, a.hi)
	more = twoSum(sum.hi, b.hi)
	cos = fastSum(more.hi, more.lo+(sum.lo+(t.cos.lo+a.lo+b.lo-
		float64(t.sin.lo*r)-float64(t.sin.hi*ds)+float64(t.cos.hi*dc))))
	return sin, cos
}
