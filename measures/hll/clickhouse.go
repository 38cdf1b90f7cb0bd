package hll

import (
	"weir/measures/face"
	"weir/window"
)

// SQL stores a distinct count. The number is that of weirPfCount (pfcount.go),
// because ClickHouse's own finalizeAggregation gives another number than PFCOUNT, and
// is slower.
func SQL(*window.Measure) *face.SQL { return &sql }

var sql = face.SQL{
	State: "AggregateFunction(uniqCombined64(14), UInt64)",
	Merge: "uniqCombined64MergeState(14)(%s)",
	Bytes: "CAST(%s AS String)",

	Number:      "weirPfCount(%s)",
	NumberType:  "UInt64",
	NumberMerge: "max",
	View:        "toUInt64(%s)",
	Rank:        "toUInt64(%s)",

	Empty: "CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)')",
}
