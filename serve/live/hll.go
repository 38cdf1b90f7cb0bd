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
	begin:   func(*window.Spec, *window.Measure) merging { return new(hllValue) },
}

// hllError is the relative standard error of a count, 1.04/√m for m = 2^14 registers.
const hllError = 1.04 / 128

type hllValue struct{ sketch hll.Sketch }

func (v *hllValue) mergeState(state []byte) error {
	_, err := v.sketch.MergeClickHouse(state)
	return err
}

func (v *hllValue) mergeRow(row window.Row, m int) {
	pool, i := row.HLL(m)
	pool.MergeInto(i, &v.sketch)
}

func (v *hllValue) settle() {}

// mergeAll goes through the registers of all at once, as PFCOUNT of many keys does.
func (v *hllValue) mergeAll(others []merging) {
	sketches := make([]*hll.Sketch, len(others))
	for i, o := range others {
		sketches[i] = &o.(*hllValue).sketch
	}
	v.sketch.MergeAll(sketches...)
}

func (v *hllValue) measured() any {
	v.sketch.Count()
	return &v.sketch
}

func (v *hllValue) bytes() int64 { return int64(v.sketch.Bytes()) }
