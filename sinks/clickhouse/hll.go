package clickhouse

// hllKind stores a distinct count. The number is that of weirPfCount (functions.go),
// because ClickHouse's own finalizeAggregation gives another number than PFCOUNT, and
// is slower.
var hllKind = kind{
	state: "AggregateFunction(uniqCombined64(14), UInt64)",
	merge: "uniqCombined64MergeState(14)(%s)",
	bytes: "CAST(%s AS String)",

	number:      "weirPfCount(%s)",
	numberType:  "UInt64",
	numberMerge: "max",
	shown:       "toUInt64(%s)",
	rank:        "toUInt64(%s)",

	empty: "CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)')",
}
