package clickhouse

// maxKind stores the greatest value of a number.
var maxKind = extremeKind("max", "")
