package geo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// prec is the precision of the reference in bits.
const prec = 320

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

// bigSinCos sums the Taylor series until its terms are below the precision; x is
// a few units at most.
func bigSinCos(x *big.Float) (sin, cos *big.Float) {
	sin, cos = bigFloat(0), bigFloat(0)
	term := bigFloat(1)
	for n := 0; term.Sign() != 0 && term.MantExp(nil) > -prec-20 || n < 4; n++ {
		sum := cos
		if n%2 == 1 {
			sum = sin
		}
		if n%4 < 2 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		term.Mul(term, x)
		term.Quo(term, bigFloat(float64(n+1)))
	}
	return sin, cos
}

func round(x *big.Float) float64 { f, _ := x.Float64(); return f }

// TestTurns: the table is good to 100 bits.
func TestTurns(t *testing.T) {
	for k, e := range turns {
		sin, cos := bigSinCos(bigFloat(float64(k) / grid))
		for name, d := range map[string]struct {
			got  double
			want *big.Float
		}{"sin": {e.sin, sin}, "cos": {e.cos, cos}} {
			sum := bigFloat(d.got.hi)
			sum.Add(sum, bigFloat(d.got.lo))
			sum.Sub(sum, d.want)
			if diff := math.Abs(round(sum)); diff > 0x1p-100 {
				t.Errorf("%s %d/%d is off by %g", name, k, grid, diff)
			}
		}
	}
}

// TestTrigRounding compares with 320-bit series: results must be correctly
// rounded, but for one in a thousand that may be off by one ulp.
func TestTrigRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 2000
	ulp := func(a, b float64) bool { return a == math.Nextafter(b, a) }
	for _, c := range []struct {
		name string
		arg  func() float64
		got  func(float64) float64
		want func(float64) float64
	}{
		{"sine", func() float64 { return (2*r.Float64() - 1) * math.Pi }, sine,
			func(x float64) float64 { s, _ := bigSinCos(bigFloat(x)); return round(s) }},
		{"sine, small", func() float64 { return math.Ldexp(r.Float64(), -r.IntN(60)) }, sine,
			func(x float64) float64 { s, _ := bigSinCos(bigFloat(x)); return round(s) }},
		{"sine, near π", func() float64 { return math.Pi - math.Ldexp(r.Float64(), -r.IntN(40)) }, sine,
			func(x float64) float64 { s, _ := bigSinCos(bigFloat(x)); return round(s) }},
		{"cosine", func() float64 { return (2*r.Float64() - 1) * LatMax * radian }, cosine,
			func(x float64) float64 { _, c := bigSinCos(bigFloat(x)); return round(c) }},
	} {
		wrong := 0
		for range n {
			x := c.arg()
			got, want := c.got(x), c.want(x)
			if got == want {
				continue
			}
			wrong++
			if !ulp(got, want) {
				t.Fatalf("%s(%v) = %v, want %v", c.name, x, got, want)
			}
		}
		t.Logf("%s: %d of %d results one ulp off", c.name, wrong, n)
		if wrong > n/1000 {
			t.Errorf("%s: %d of %d results one ulp off", c.name, wrong, n)
		}
	}
}

// TestArcsineRounding: y must lie between the sines of the two midpoints
// around the result.
func TestArcsineRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n = 2000
	for _, c := range []struct {
		name string
		arg  func() float64
	}{
		{"anywhere", r.Float64},
		{"small", func() float64 { return math.Ldexp(r.Float64(), -r.IntN(60)) }},
		{"near 1", func() float64 { return 1 - math.Ldexp(r.Float64(), -r.IntN(53)) }},
	} {
		wrong := 0
		for range n {
			y := c.arg()
			got := arcsine(y)
			middle := func(a, b float64) *big.Float {
				m := bigFloat(a)
				m.Add(m, bigFloat(b))
				m.Quo(m, bigFloat(2))
				s, _ := bigSinCos(m)
				return s
			}
			low, high := middle(got, math.Nextafter(got, -1)), middle(got, math.Nextafter(got, 4))
			if y == 1 {
				if got != math.Pi/2 {
					t.Fatalf("arcsine(1) = %v", got)
				}
				continue
			}
			if v := bigFloat(y); v.Cmp(low) < 0 || v.Cmp(high) > 0 {
				wrong++
				below, above := middle(math.Nextafter(got, -1), math.Nextafter(math.Nextafter(got, -1), -1)), middle(math.Nextafter(got, 4), math.Nextafter(math.Nextafter(got, 4), 4))
				if v.Cmp(below) < 0 || v.Cmp(above) > 0 {
					t.Fatalf("%s: arcsine(%v) = %v is more than one ulp off", c.name, y, got)
				}
			}
		}
		t.Logf("%s: %d of %d results one ulp off", c.name, wrong, n)
		if wrong > n/1000 {
			t.Errorf("%s: %d of %d results one ulp off", c.name, wrong, n)
		}
	}
}
