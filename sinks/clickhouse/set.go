package clickhouse

import (
	"encoding/binary"
	"strings"

	"weir/window"
)

// setDistinct is idset.Count.
const setDistinct = "toUInt64(floor(0.5 - 4294967296. * log1p(-least(%s, 4294967295) / 4294967296.)))"

// setOf returns an expression for the number of ids in so many different hashes.
func setOf(hashes string) string { return strings.Replace(setDistinct, "%s", hashes, 1) }

// setKind stores a set of hashes as an array of them. As a bitmap, a set of less than 65,536
// hashes has nearly each of them in a container of its own, which the server allocates whenever
// it reads, merges or writes the state: that takes ten times as long (make bench-measures). SQL reads a bitmap that
// is built of the array. Its number is that of weirSetCount (functions.go).
//
// In a rollup the array is in ascending order, with its length before it. Of two rollups of a
// window, that with more hashes stays, as with hits. A merge of parts keeps the order, and the
// differences of a million hashes take 2.3 bytes each.
//
// Ids with one hash are taken for one. Of n ids, n²/2^33 pairs have one hash in the mean, and n·k/2^32
// pairs with one of k of them; their number has a Poisson distribution. Each pair can change a
// number of ids by one, and a number of sessions by all that both begin. The margin allows for no pair where a change of 0.0001 or less is expected, and
// for four times the standard deviation and three pairs more otherwise: it is exceeded once in
// 10,000 times at most (TestSetMargin).
var setKind = kind{
	state: "SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32))",
	merge: "groupUniqArrayArray(%s)",
	bytes: "reinterpret(arraySort(%s), 'String')",

	folded: "arrayCompact(arraySort(groupArrayArray(%s)))",

	number:      setOf("length(%s)"),
	numberType:  "UInt64",
	numberMerge: "max",
	shown:       "toUInt64(%s)",
	rank:        "toUInt64(%s)",

	common:   setOf("length(%[1]s)") + " + " + setOf("length(%[2]s)") + " - least(" + setOf("length(arrayDistinct(arrayConcat(%[1]s, %[2]s)))") + ", " + setOf("length(%[1]s)") + " + " + setOf("length(%[2]s)") + ")", // as live.Set.Common
	distinct: setDistinct,
	margin:   "if(%[1]s <= 0.0001, toUInt64(0), toUInt64(floor(%[1]s + 4 * sqrt(%[2]s) + 3 * %[3]s)))",
	ids:      "%s",

	empty: "CAST([], 'Array(UInt32)')",

	stored: "_ids", alias: "bitmapBuild(%s)", aliasType: bitmapKind.state,
	rolled: "SimpleAggregateFunction(max, Tuple(UInt32, Array(UInt32)))", packed: "arrayMap(ids -> (toUInt32(length(ids)), ids), [arraySort(%s)])[1]", unpacked: ".2",
	codec: "Delta(4), ZSTD(1)",

	plain: "Array(UInt32)",
	runs:  2, // where the hashes of each row end, hashes
	add: func(runs [][]byte, row window.Row, m int) {
		end := uint64(0)
		if n := len(runs[0]); n > 0 {
			end = binary.LittleEndian.Uint64(runs[0][n-8:])
		}
		pool, i := row.Set(m)
		runs[0] = append64(runs[0], end+pool.Len(i))
	},
	last: func(run []byte, row window.Row, m int) []byte { return row.AppendState(run, m) },
}
