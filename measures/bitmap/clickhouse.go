package bitmap

import (
	"weir/measures/face"
	"weir/window"
)

// State is the type of a state.
const State = "AggregateFunction(groupBitmap, UInt32)"

// SQL stores a set of ids.
func SQL(*window.Measure) *face.SQL { return &sql }

var sql = face.SQL{
	State: State,
	Merge: "groupBitmapMergeState(%s)",
	Bytes: "CAST(%s AS String)",

	Number:      "bitmapCardinality(%s)",
	NumberType:  "UInt64",
	NumberMerge: "max",
	View:        "toUInt64(%s)",
	Rank:        "toUInt64(%s)",

	IDs: "bitmapToArray(%s)",

	Common: "bitmapAndCardinality(%[1]s, %[2]s)",

	Estimate: "toUInt64(%s)",
	Margin:   "toUInt64(0 * %[1]s)",

	Empty: "bitmapBuild(CAST([], 'Array(UInt32)'))",
}
