package clickhouse

// lastKind stores the value of the latest event.
var lastKind = orderedKind()
