package sim

import (
	"math"

	"weir/window"
)

func newFirstKeeper(*window.Measure) keeper {
	return &orderedKeeper{down: [3]uint64{1<<42 - 1, math.MaxUint64, math.MaxUint64}}
}
