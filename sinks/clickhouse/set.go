package clickhouse

// setKind stores a set of hashes as a bitmap does ids. Its number is that of weirSetCount
// (functions.go).
var setKind = func() kind {
	k := bitmapKind
	k.number = "weirSetCount(%s)"
	return k
}()
