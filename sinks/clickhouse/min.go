package clickhouse

// minKind stores the least value of a number, whose rank is the greatest.
var minKind = extremeKind("min", "bitNot")
