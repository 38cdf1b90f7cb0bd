package http

import "testing"

// TestRound: no error is rounded to 0, which would say that a number is exact.
func TestRound(t *testing.T) {
	for f, want := range map[float64]float64{0: 0, 0.00125: 0.0013, 0.1234: 0.12, 12.345678: 12.35, 1234.5: 1234.5} {
		if got := round(f); got != want {
			t.Errorf("round(%v) is %v, want %v", f, got, want)
		}
	}
}
