package sim

import (
	"slices"

	"weir/window"
)

func newMaxKeeper(*window.Measure) keeper { return &extremeKeeper{of: slices.Max[[]float64]} }
