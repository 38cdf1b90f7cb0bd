package clickhouse

import (
	"fmt"
	"strconv"
	"strings"

	"weir/window"
)

// quantileKind stores counts by slot and bucket (package histogram): the bucket is in the lower
// 32 bits of a key, the slot in the 64 above. The count of a bucket in a chunk only grows, and
// so does its sum over the chunks: the greater of two counts of a key is the later one.
//
// A view shows some quantiles, each in a column of its own.
var quantileKind = kind{of: func(*window.Measure) *kind {
	const plain = "Map(UInt128, UInt64)"
	// Every key with the slot window.Whole: it has all bits set.
	const wholeKeys = "arrayMap(k -> bitOr(k, toUInt128('79228162514264337589248983040')), mapKeys(%[1]s))"
	// Each count of the states as a number: the bucket in the upper 32 bits, the slot, the count
	// in the lower 32, which suffice for a chunk. So the counts of a bucket are beside each other,
	// and the last of those of a slot is the greatest.
	const counts = "arraySort(groupArrayArray(arrayMap((k, n) -> bitOr(bitOr(bitShiftLeft(k, 96), bitShiftLeft(bitShiftRight(k, 32), 32)), toUInt128(n)), mapKeys(%[1]s), mapValues(%[1]s))))"
	var levels, parts []string
	for _, q := range window.QuantilesShown() {
		levels, parts = append(levels, strconv.FormatFloat(q.Level, 'g', -1, 64)), append(parts, q.Suffix)
	}
	return &kind{
		state: "SimpleAggregateFunction(maxMap, " + plain + ")",
		merge: "maxMap(%s)",
		bytes: "arrayStringConcat(arrayMap((k, n) -> concat(reinterpretAsFixedString(k), reinterpretAsFixedString(n)), mapKeys(%[1]s), mapValues(%[1]s)))",
		fold: "arrayMap(t -> mapFromArrays(tupleElement(t, 1), tupleElement(t, 2)), " +
			"[arrayReduce('sumMap', [" + wholeKeys + "], [mapValues(%[1]s)])])[1]",
		folded: "arrayMap((all, next) -> arrayMap((ends, sums) -> mapFromArrays(" +
			"arrayMap(b -> bitOr(b, toUInt128('79228162514264337589248983040')), ends), arrayMap((sum, before) -> toUInt64(sum - before), sums, arrayShiftRight(sums, 1))), " +
			"[arrayFilter((b, x, y) -> bitShiftRight(x, 96) != bitShiftRight(y, 96), arrayMap(x -> bitShiftRight(x, 96), all), all, next)], " +
			"[arrayFilter((sum, x, y) -> bitShiftRight(x, 96) != bitShiftRight(y, 96), " +
			"arrayCumSum(arrayMap((x, y) -> if(bitShiftRight(x, 32) != bitShiftRight(y, 32), toUInt64(bitAnd(x, 4294967295)), 0), all, next)), all, next)])[1], " +
			"[" + counts + "], [arrayShiftLeft(" + counts + ", 1, toUInt128('340282366920938463463374607431768211455'))])[1]",
		plus: "sumMap(%s)",

		number:     "%s",
		numberType: plain,
		shown:      quantilesOf("arrayMap(k -> "+bucketOf("k")+", mapKeys(%[1]s))", "mapValues(%[1]s)", strings.Join(levels, ", ")),
		shownType:  "Nullable(Float64)",
		parts:      parts,
		rank: "bitOr(bitShiftLeft(arraySum(mapValues(%[1]s)), 24), bitShiftRight(" +
			"arraySum((k, n) -> n * toUInt64(" + bucketOf("k") + ") * toUInt64(" + bucketOf("k") + "), mapKeys(%[1]s), mapValues(%[1]s)) * 11400714819323198485, 40))",

		empty: "CAST(map(), '" + plain + "')",
		plain: plain,
		runs:  3, // where the entries of each row end, keys, counts
		add: func(runs [][]byte, row window.Row, m int) {
			for slot, counts := range row.Histograms(m) {
				for _, e := range *counts {
					runs[1] = append64(append64(runs[1], uint64(slot)<<32|uint64(e.Bucket)), uint64(slot)>>32)
					runs[2] = append64(runs[2], e.N)
				}
			}
			runs[0] = append64(runs[0], uint64(len(runs[2])/8))
		},
	}
}}

// quantile adds up states of windows and groups, and returns a quantile of their numbers, NULL
// if there are none. It is an aggregate.
var quantile = "(state, level) -> arrayMap(t -> " + quantilesOf("tupleElement(t, 1)", "tupleElement(t, 2)", "level") +
	"[1], [sumMap(arrayMap(k -> " + bucketOf("k") + ", mapKeys(state)), mapValues(state))])[1]"

func bucketOf(key string) string { return "toUInt32(bitAnd(" + key + ", 4294967295))" }

// quantilesOf returns the quantiles of a histogram with these buckets, ascending, and counts:
// histogram.Counts.Quantile for each level.
func quantilesOf(buckets, counts, levels string) string {
	const last = "sums[length(sums)]"
	return "arrayMap((buckets, sums) -> arrayMap(q -> if(empty(sums), NULL, " +
		"arrayMap(b -> " + bucketValue + ", [buckets[arrayFirstIndex(n -> n > least(toUInt64(q * " + last + "), toUInt64(" + last + " - 1)), sums)]])[1]), " +
		fmt.Sprintf("[%s]), [%s], [arrayCumSum(%s)])[1]", levels, buckets, counts)
}

// bucketValue is histogram.Bucket.Value of b.
const bucketValue = "arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), " +
	"[toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1]"
