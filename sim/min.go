package sim

import (
	"slices"

	"weir/window"
)

func newMinKeeper(*window.Measure) keeper { return &extremeKeeper{of: slices.Min[[]float64]} }
