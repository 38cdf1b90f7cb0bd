package clickhouse

// bitmapKind stores a set of ids.
var bitmapKind = kind{
	state: "AggregateFunction(groupBitmap, UInt32)",
	merge: "groupBitmapMergeState(%s)",
	bytes: "CAST(%s AS String)",

	number:      "bitmapCardinality(%s)",
	numberType:  "UInt64",
	numberMerge: "max",
	shown:       "toUInt64(%s)",
	rank:        "toUInt64(%s)",

	ids: "bitmapToArray(%s)",

	common: "bitmapAndCardinality(%[1]s, %[2]s)",

	distinct: "toUInt64(%s)",
	margin:   "toUInt64(0 * %[1]s)",

	empty: "bitmapBuild(CAST([], 'Array(UInt32)'))",
}
