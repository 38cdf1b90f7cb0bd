package hll

import (
	"math"
	"testing"
)

// TestSeriesLength: sigmaSteps and tauSteps are enough for every argument.
func TestSeriesLength(t *testing.T) {
	steps := 0
	for zeros := 1; zeros < 16384; zeros++ {
		x, y := float64(zeros)/16384, 1.0
		z := x
		for k := 1; ; k++ {
			x *= x
			was := z
			z += x * y
			y += y
			if z == was {
				break
			}
			steps = max(steps, k)
		}
	}
	if steps > sigmaSteps || steps < sigmaSteps-4 {
		t.Errorf("sigma takes %d steps, the SQL does %d", steps, sigmaSteps)
	}
	steps = 0
	for full := 1; full < 16384; full++ {
		x, y := float64(16384-full)/16384, 1.0
		z := 1 - x
		for k := 1; ; k++ {
			x = math.Sqrt(x)
			was := z
			y *= 0.5
			z -= (1 - x) * (1 - x) * y
			if z == was {
				break
			}
			steps = max(steps, k)
		}
	}
	if steps > tauSteps || steps < tauSteps-6 {
		t.Errorf("tau takes %d steps, the SQL does %d", steps, tauSteps)
	}
}
