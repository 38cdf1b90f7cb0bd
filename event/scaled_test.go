package event

import (
	"math/big"
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
			units, large, ok := (Value{Type: Number, Bytes: []byte(text)}).Scaled(scale)
			want, _ := new(big.Rat).SetString(text)
			want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
			whole, fits := want.IsInt(), new(big.Rat).Abs(want).Cmp(limit) <= 0
			if ok != (whole && fits) {
				t.Errorf("%s with scale %d: ok %t, want %t", text, scale, ok, whole && fits)
			}
			if ok && new(big.Rat).SetInt64(units).Cmp(want) != 0 {
				t.Errorf("%s with scale %d is %d units, want %s", text, scale, units, want)
			}
			// Rounded is at most half a unit away, and even if it is half a unit away.
			round, tooLarge, _ := num(text).Rounded(scale)
			if exact, _ := new(big.Rat).SetString(text); !large && !tooLarge && len(text) < 60 {
				twice := exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
				off := new(big.Rat).Sub(twice, new(big.Rat).SetInt64(round))
				if half := off.Abs(off).Cmp(big.NewRat(1, 2)); half > 0 || half == 0 && round%2 != 0 {
					t.Errorf("%s with scale %d is rounded to %d", text, scale, round)
				}
			}
			if large == fits {
				t.Errorf("%s with scale %d: large %t, want %t", text, scale, large, !fits)
			}
		}
	}
	for _, v := range []Value{{Type: String, Bytes: []byte("+1")}, {}, {Type: Null}, {Type: Bool, Bytes: []byte("true")}} {
		if _, _, ok := v.Scaled(2); ok {
			t.Errorf("%v is a number", v)
		}
	}
}
