package clickhouse

// setKind stores a set of hashes as a bitmap does ids. Its number is that of weirSetCount
// (functions.go).
var setKind = func() kind {
	k := bitmapKind
	k.number = "weirSetCount(%s)"
	k.common = "weirSetCount(%[1]s) + weirSetCount(%[2]s) - least(weirSetCount(bitmapOr(%[1]s, %[2]s)), weirSetCount(%[1]s) + weirSetCount(%[2]s))" // as live.Set.Common
	return k
}()
