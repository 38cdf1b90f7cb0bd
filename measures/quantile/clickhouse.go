package quantile

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"weir/measures/face"
	"weir/measures/slots"
	"weir/sketches/histogram"
	"weir/window"
)

// SQL stores a histogram by slot: the number of its events, and its words (package
// histogram), a bucket in the upper half of each and its count in the lower one. Of two
// histograms of a slot, that of more events is the later one, and tuples compare by their first
// element first.
//
// A view shows some quantiles, each in a column of its own.
func SQL(*window.Measure) *face.SQL {
	const plain = "Map(UInt64, Tuple(events UInt64, words String))"
	fold := func(histograms string) string {
		return "map(toUInt64(" + slots.WholeSQL + "), " + histogramSQL("arraySum(tupleElement("+histograms+", 1))", "arrayStringConcat(tupleElement("+histograms+", 2))") + ")"
	}
	var levels, parts []string
	var shares []float64
	for _, q := range Shown() {
		levels, parts = append(levels, strconv.FormatFloat(q.Level, 'g', -1, 64)), append(parts, q.Suffix)
		shares = append(shares, q.Level)
	}
	return &face.SQL{
		State: "SimpleAggregateFunction(maxMap, " + plain + ")",
		Merge: "maxMap(%s)",
		Bytes: "arrayStringConcat(arrayMap((slot, h) -> concat(reinterpretAsFixedString(slot), reinterpretAsFixedString(tupleElement(h, 1)), " +
			"reinterpretAsFixedString(length(tupleElement(h, 2))), tupleElement(h, 2)), mapKeys(%[1]s), mapValues(%[1]s)))",
		Fold:   fold("mapValues(%[1]s)"),
		Folded: "arrayMap(latest -> " + fold("latest") + ", [" + slots.Latest + "])[1]",
		Plus:   "map(toUInt64(" + slots.WholeSQL + "), " + histogramSQL("sum(tupleElement(%[1]s["+slots.WholeSQL+"], 1))", "arrayStringConcat(groupArray(tupleElement(%[1]s["+slots.WholeSQL+"], 2)))") + ")",

		Number:     "%s[" + slots.WholeSQL + "]",
		NumberType: "Tuple(UInt64, String)",
		View:       quantilesOf(wordsOf("tupleElement(%[1]s, 2)"), strings.Join(levels, ", ")),
		ViewType:   "Nullable(Float64)",
		Parts:      parts,
		Levels:     shares,
		Rank:       slots.CheckedSQL("arraySum(w -> " + slots.Lower("w") + " * " + slots.Upper("w") + " * " + slots.Upper("w") + ", " + wordsOf("tupleElement(%[1]s, 2)") + ")"),

		Empty: "CAST(map(), '" + plain + "')",
		Plain: plain,
		Runs:  4, // where the entries of each row end, slots, events, words
		Add: func(runs [][]byte, row window.Row, m int) {
			for slot, h := range Slots(row, m) {
				runs[1] = face.Append64(runs[1], uint64(slot))
				runs[2] = face.Append64(runs[2], h.Events)
			}
			runs[0] = face.Append64(runs[0], uint64(len(runs[1])/8))
		},
		Last: func(run []byte, row window.Row, m int) []byte {
			for _, h := range Slots(row, m) {
				run = binary.AppendUvarint(run, uint64(histogram.PackedLen(h.Packed)))
				run = histogram.Unpack(run, h.Packed)
			}
			return run
		},
	}
}

// wordsOf returns the words of a histogram, ascending.
func wordsOf(histogram string) string {
	return "reinterpret(reverse(" + histogram + "), 'Array(UInt64)')"
}

// histogramSQL returns the histogram of so many events, from words in any order.
//
// Once the words are sorted, those of a bucket are beside each other, and its count is what
// they add to the sum of all before. A count that one word does not hold is rare.
func histogramSQL(events, words string) string {
	sorted := "arraySort(" + wordsOf(words) + ")"
	const one = "arrayMap((b, n) -> bitOr(bitShiftLeft(b, 32), n), buckets, counts)"
	const several = "arrayFlatten(arrayMap((b, n) -> arrayMap(n -> bitOr(bitShiftLeft(b, 32), n), arrayConcat(if(modulo(n, 4294967295) = 0, [], [toUInt64(modulo(n, 4294967295))]), arrayWithConstant(intDiv(n, 4294967295), toUInt64(4294967295)))), buckets, counts))"
	return "arrayMap((events, words, next) -> (events, arrayMap((buckets, counts) -> " +
		"reverse(reinterpret(if(arrayMax(counts) < 4294967296, " + one + ", " + several + "), 'String')), " +
		"[arrayMap(w -> " + slots.Upper("w") + ", arrayFilter((w, next) -> " + slots.LastWord + ", words, next))], " +
		"[" + slots.Sums("words") + "])[1]), " +
		"[" + events + "], [" + sorted + "], [arrayShiftLeft(" + sorted + ", 1, " + slots.NoWord + ")])[1]"
}

// Functions are the SQL functions of the kind. weirQuantile adds up states of windows and groups, and returns a
// quantile of their numbers, NULL if there are none. It is an aggregate. A level of 95 in place of 0.95 is refused: it
// would be the greatest number.
var Functions = []face.Function{{Name: "weirQuantile", Arrow: "(state, level) -> " +
	quantilesOf(ordered(wordsOf("arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))")), "level + throwIf(NOT (level >= 0 AND level <= 1), 'the level of weirQuantile has to be 0 to 1')") + "[1]"}}

// ordered returns words in the order of the numbers that their buckets stand for. That is the order
// of the words, unless they are of measures with two errors, whose buckets have two scales.
func ordered(words string) string {
	scale := func(word string) string { return "bitShiftRight(" + word + ", 60)" }
	value := "arrayMap(b -> " + bucketValue + ", [toUInt32(" + slots.Upper("w") + ")])[1]"
	return "arrayMap(words -> if(" + scale("words[1]") + " = " + scale("words[-1]") + ", words, arraySort(w -> " + value + ", words)), [arraySort(" + words + ")])[1]"
}

// quantilesOf returns the quantiles of a histogram with these words, ascending:
// histogram.Counts.Quantile for each level.
func quantilesOf(words, levels string) string {
	const last = "sums[length(sums)]"
	return "arrayMap((words, sums) -> arrayMap(q -> if(empty(sums), NULL, " +
		"arrayMap(b -> " + bucketValue + ", [toUInt32(" + slots.Upper("words[arrayFirstIndex(n -> n > least(toUInt64(q * "+last+"), toUInt64("+last+" - 1)), sums)]") + ")])[1]), " +
		fmt.Sprintf("[%s]), [%s], [arrayCumSum(w -> %s, %[2]s)])[1]", levels, words, slots.Lower("w"))
}

// bucketValue is histogram.Bucket.Value of b.
const bucketValue = "arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), " +
	"[toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1]"
