package clickhouse

// hllKind is a distinct count. ClickHouse's own finalizeAggregation would be another
// number than PFCOUNT, and slower: functions.go.
var hllKind = kind{
	state: "AggregateFunction(uniqCombined64(14), UInt64)",
	merge: "uniqCombined64MergeState(14)(%s)",
	bytes: "CAST(%s AS String)",

	number:      "weirPfCount(%s)",
	numberType:  "UInt64",
	numberMerge: "max",
	shown:       "toUInt64(%s)",
	rank:        "toUInt64(%s)",
}
