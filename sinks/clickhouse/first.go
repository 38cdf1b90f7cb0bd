package clickhouse

// firstKind stores the value of the earliest event.
var firstKind = orderedKind()
