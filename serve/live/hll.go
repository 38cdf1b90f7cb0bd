package live

import (
	"weir/sketches/hll"
	"weir/window"
)

// hllKind answers with a *hll.Sketch that has been counted, so that Count only
// reads.
var hllKind = Kind{
	Name:    window.HLL.String(),
	Number:  numberOf((*hll.Sketch).Count),
	Shows:   People,
	Spread:  func(people float64) float64 { return hllError * people },
	Command: "PFCOUNT",
	value: func(row window.Row, m int) any {
		pool, i := row.HLL(m)
		s := pool.Sketch(i)
		s.Count()
		return s
	},
}

// hllError is the relative standard error of a count, 1.04/√m for m = 2^14 registers.
const hllError = 1.04 / 128
