package clickhouse

// setDistinct is bitmap.Distinct (package bitmap, hashed.go).
const setDistinct = "toUInt64(floor(0.5 - 4294967296. * log1p(-least(%s, 4294967295) / 4294967296.)))"

// setKind stores a set of hashes as a bitmap does ids. Its number is that of weirSetCount
// (functions.go).
//
// Ids with one hash are taken for one. Of n ids, n²/2^33 pairs have one hash in the mean, and n·k/2^32
// pairs with one of k of them; their number has a Poisson distribution. Each pair can change a
// number of ids by one. The margin allows for no pair where 0.0001 or fewer are expected, and
// for four times the standard deviation and three pairs more otherwise: it is exceeded once in
// 10,000 times at most (TestSetMargin).
var setKind = func() kind {
	k := bitmapKind
	k.number = "weirSetCount(%s)"
	k.common = "weirSetCount(%[1]s) + weirSetCount(%[2]s) - least(weirSetCount(bitmapOr(%[1]s, %[2]s)), weirSetCount(%[1]s) + weirSetCount(%[2]s))" // as live.Set.Common
	k.distinct = setDistinct
	k.margin = "if(%[1]s <= 0.0001, toUInt64(0), toUInt64(floor(%[1]s + 4 * sqrt(%[1]s) + 3)))"
	return k
}()
