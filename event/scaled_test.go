package event

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestScaled compares with exact rational numbers.
func TestScaled(t *testing.T) {
	texts := strings.Fields(`0 -0 0.0 1 -1 12.5 -3 1e3 1E+2 0.100 0.125 1.005 -0.01 0.010 1e-2 1e-3 100e-2 123456789.12
		9999999999999999.99 -9999999999999999.99 10000000000000000.00 999999999999999999 1000000000000000000 99999999999999999900e-2
		1e17 9e16 1e18 1e19 1e300 1e-300 0e400 0.000000000000000000000001 100000000000000000000000000000000 1000000000000000000000e-20
		12345678901234567.89 123456789012345678901e-18 0.00000000000000000000e5 1.10000000000000000000000000 4611686018427387904.5`)
	limit := new(big.Rat).SetInt64(MaxUnits)
	for _, text := range texts {
		for scale := range 10 {
			units, large, ok := (Value{Kind: Number, Bytes: []byte(text)}).Scaled(scale)
			want, _ := new(big.Rat).SetString(text)
			want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
			whole, fits := want.IsInt(), new(big.Rat).Abs(want).Cmp(limit) <= 0
			if ok != (whole && fits) {
				t.Errorf("%s with scale %d: ok %t, want %t", text, scale, ok, whole && fits)
			}
			if ok && new(big.Rat).SetInt64(units).Cmp(want) != 0 {
				t.Errorf("%s with scale %d is %d units, want %s", text, scale, units, want)
			}
			if large == fits {
				t.Errorf("%s with scale %d: large %t, want %t", text, scale, large, !fits)
			}
		}
	}
	for _, v := range []Value{{Kind: String, Bytes: []byte("1")}, {}, {Kind: Null}, {Kind: Bool, Bytes: []byte("true")}} {
		if _, _, ok := v.Scaled(2); ok {
			t.Errorf("%v is a number", v)
		}
	}
}

// TestShortScaled: what shortScaled reads, longScaled reads in the same way, and many texts are
// read by it.
func TestShortScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	short := 0
	for range 40_000 {
		text := make([]byte, r.IntN(20))
		for i := range text {
			text[i] = "00112233445566778899.-e"[min(r.IntN(24), 22)]
			if r.IntN(3) > 0 {
				text[i] = '0' + byte(r.IntN(10))
			}
		}
		scale := r.IntN(10)
		got, ok := shortScaled(text, scale)
		if !ok {
			continue
		}
		short++
		if want, large, ok := longScaled(text, scale); got != want || large || !ok {
			t.Fatalf("%s with scale %d is %d units, want %d, large %t, a number %t", text, scale, got, want, large, ok)
		}
	}
	if short < 4000 {
		t.Errorf("only %d texts are short", short)
	}
}
