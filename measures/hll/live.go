package hll

import (
	"weir/measures/face"
	"weir/sketches/hll"
	"weir/window"
)

// Live answers with a *hll.Sketch that has been counted, so that Count only
// reads.
var Live = face.Live{
	Number:  face.NumberOf((*hll.Sketch).Count, 0),
	Shows:   face.People,
	Spread:  func(people float64) float64 { return standardError * people },
	Command: "PFCOUNT",
	Value: func(row window.Row, m int) any {
		pool, i := Of(row, m)
		s := pool.Sketch(i)
		s.Count()
		return s
	},
}

// standardError is the relative standard error of a count, 1.04/√m for m = 2^14 registers.
const standardError = 1.04 / 128
