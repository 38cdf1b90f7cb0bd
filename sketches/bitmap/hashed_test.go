package bitmap

import (
	"math"
	"testing"
)

// TestDistinct: the correction is nothing for few bits, and inverts the number of bits
// that so many ids are expected to set.
func TestDistinct(t *testing.T) {
	for bits := range uint64(65_536) {
		if n := Distinct(bits); n != bits {
			t.Fatalf("%d ids for %d bits", n, bits)
		}
	}
	for bits, want := range map[uint64]uint64{65_536: 65_537, 999_884: 1_000_000, 1 << 31: 2_977_044_472, 1<<32 - 1: 95_265_423_098, 1 << 32: 95_265_423_098} {
		if n := Distinct(bits); n != want {
			t.Errorf("%d ids for %d bits, want %d", n, bits, want)
		}
	}
	for ids := uint64(1000); ids < 1<<34; ids = ids*3 + 1 {
		bits := -(1 << 32) * math.Expm1(-float64(ids)/(1<<32))
		if n := Distinct(uint64(math.Round(bits))); math.Abs(float64(n)-float64(ids)) > 1+float64(ids)/1e8*math.Exp(float64(ids)/(1<<32)) {
			t.Errorf("%d ids for %.0f bits, want %d", n, bits, ids)
		}
	}
}
