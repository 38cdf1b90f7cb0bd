package set

import (
	"encoding/binary"
	"strings"

	"weir/measures/bitmap"
	"weir/measures/face"
	"weir/window"
)

// count is idset.Count, of the number of different hashes.
const count = "toUInt64(floor(0.5 - 4294967296. * log1p(-least(%s, 4294967295) / 4294967296.)))"

// setOf returns an expression for the number of ids in so many different hashes.
func setOf(hashes string) string { return strings.Replace(count, "%s", hashes, 1) }

// SQL stores a set of hashes as an array of them. As a bitmap, a set of less than 65,536
// hashes has nearly each of them in a container of its own, which the server allocates whenever
// it reads, merges or writes the state: that takes ten times as long (make bench-measures). SQL reads a bitmap that
// is built of the array. Its number is that of weirSetCount.
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
func SQL(*window.Measure) *face.SQL { return &sql }

var sql = face.SQL{
	State: "SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32))",
	Merge: "groupUniqArrayArray(%s)",
	Bytes: "reinterpret(arraySort(%s), 'String')",

	Folded: "arrayCompact(arraySort(groupArrayArray(%s)))",

	Number:      setOf("length(%s)"),
	NumberType:  "UInt64",
	NumberMerge: "max",
	View:        "toUInt64(%s)",
	Rank:        "toUInt64(%s)",

	Common:   setOf("length(%[1]s)") + " + " + setOf("length(%[2]s)") + " - least(" + setOf("length(arrayDistinct(arrayConcat(%[1]s, %[2]s)))") + ", " + setOf("length(%[1]s)") + " + " + setOf("length(%[2]s)") + ")", // as Answer.Common
	Estimate: count,
	Margin:   "if(%[1]s <= 0.0001, toUInt64(0), toUInt64(floor(%[1]s + 4 * sqrt(%[2]s) + 3 * %[3]s)))",
	IDs:      "%s",

	Empty: "CAST([], 'Array(UInt32)')",

	Stored: "_ids", Alias: "bitmapBuild(%s)", AliasType: bitmap.State,
	PackedType: "SimpleAggregateFunction(max, Tuple(UInt32, Array(UInt32)))", Packed: "arrayMap(ids -> (toUInt32(length(ids)), ids), [arraySort(%s)])[1]", Unpacked: ".2",
	Codec: "Delta(4), ZSTD(1)",

	Plain: "Array(UInt32)",
	Runs:  2, // where the hashes of each row end, hashes
	Add: func(runs [][]byte, row window.Row, m int) {
		end := uint64(0)
		if n := len(runs[0]); n > 0 {
			end = binary.LittleEndian.Uint64(runs[0][n-8:])
		}
		pool, i := Of(row, m)
		runs[0] = face.Append64(runs[0], end+pool.Len(i))
	},
	Last: func(run []byte, row window.Row, m int) []byte { return row.AppendState(run, m) },
}

// Functions are the SQL functions of the kind. weirSetCount is idset.Count of a bitmap of hashes, and weirSetUniq that of
// the states of many rows.
var Functions = []face.Function{
	{Name: "weirSetCount", Arrow: "state -> " + setOf("bitmapCardinality(state)")},
	{Name: "weirSetHas", Arrow: has},
	{Name: "weirSetUniq", Arrow: "state -> weirSetCount(groupBitmapMergeState(state))"},
}

// has tells whether an id is in a set whose hashes have no key (Hash). The id is taken as text, as in an event.
const has = `(state, id) -> bitmapContains(state, toUInt32(bitAnd(xxHash64(toString(id)), 4294967295)))`
