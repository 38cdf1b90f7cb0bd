package clickhouse

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"weir/sketches/histogram"
	"weir/window"
)

// quantileKind stores a histogram by slot: the number of its events, and its words (package
// histogram), a bucket in the upper half of each and its count in the lower one. Of two
// histograms of a slot, that of more events is the later one, and tuples compare by their first
// element first.
//
// A view shows some quantiles, each in a column of its own.
var quantileKind = kind{of: func(*window.Measure) *kind {
	const plain = "Map(UInt64, Tuple(events UInt64, words String))"
	fold := func(histograms string) string {
		return "map(toUInt64(" + whole + "), " + histogramOf("arraySum(tupleElement("+histograms+", 1))", "arrayStringConcat(tupleElement("+histograms+", 2))") + ")"
	}
	var levels, parts []string
	var shares []float64
	for _, q := range window.QuantilesShown() {
		levels, parts = append(levels, strconv.FormatFloat(q.Level, 'g', -1, 64)), append(parts, q.Suffix)
		shares = append(shares, q.Level)
	}
	return &kind{
		state: "SimpleAggregateFunction(maxMap, " + plain + ")",
		merge: "maxMap(%s)",
		bytes: "arrayStringConcat(arrayMap((slot, h) -> concat(reinterpretAsFixedString(slot), reinterpretAsFixedString(tupleElement(h, 1)), " +
			"reinterpretAsFixedString(length(tupleElement(h, 2))), tupleElement(h, 2)), mapKeys(%[1]s), mapValues(%[1]s)))",
		fold:   fold("mapValues(%[1]s)"),
		folded: "arrayMap(latest -> " + fold("latest") + ", [" + latest + "])[1]",
		plus:   "map(toUInt64(" + whole + "), " + histogramOf("sum(tupleElement(%[1]s["+whole+"], 1))", "arrayStringConcat(groupArray(tupleElement(%[1]s["+whole+"], 2)))") + ")",

		number:     "%s[" + whole + "]",
		numberType: "Tuple(UInt64, String)",
		shown:      quantilesOf(wordsOf("tupleElement(%[1]s, 2)"), strings.Join(levels, ", ")),
		shownType:  "Nullable(Float64)",
		parts:      parts,
		levels:     shares,
		rank:       checked("arraySum(w -> " + countOf("w") + " * " + bucketOf("w") + " * " + bucketOf("w") + ", " + wordsOf("tupleElement(%[1]s, 2)") + ")"),

		empty: "CAST(map(), '" + plain + "')",
		plain: plain,
		runs:  4, // where the entries of each row end, slots, events, words
		add: func(runs [][]byte, row window.Row, m int) {
			for slot, h := range row.Histograms(m) {
				runs[1] = append64(runs[1], uint64(slot))
				runs[2] = append64(runs[2], h.Events)
			}
			runs[0] = append64(runs[0], uint64(len(runs[1])/8))
		},
		last: func(run []byte, row window.Row, m int) []byte {
			for _, h := range row.Histograms(m) {
				run = binary.AppendUvarint(run, uint64(histogram.PackedLen(h.Packed)))
				run = histogram.Unpack(run, h.Packed)
			}
			return run
		},
	}
}}

// wordsOf returns the words of a histogram, ascending.
func wordsOf(histogram string) string {
	return "reinterpret(reverse(" + histogram + "), 'Array(UInt64)')"
}
func bucketOf(word string) string { return "bitShiftRight(" + word + ", 32)" }
func countOf(word string) string  { return "bitAnd(" + word + ", 4294967295)" }

// histogramOf returns the histogram of so many events, from words in any order.
//
// Once the words are sorted, those of a bucket are beside each other, and its count is what
// they add to the sum of all before. A count that one word does not hold is rare.
func histogramOf(events, words string) string {
	sorted := "arraySort(" + wordsOf(words) + ")"
	const one = "arrayMap((b, n) -> bitOr(bitShiftLeft(b, 32), n), buckets, counts)"
	const several = "arrayFlatten(arrayMap((b, n) -> arrayMap(n -> bitOr(bitShiftLeft(b, 32), n), arrayConcat(if(modulo(n, 4294967295) = 0, [], [toUInt64(modulo(n, 4294967295))]), arrayWithConstant(intDiv(n, 4294967295), toUInt64(4294967295)))), buckets, counts))"
	return "arrayMap((events, words, next) -> (events, arrayMap((buckets, counts) -> " +
		"reverse(reinterpret(if(arrayMax(counts) < 4294967296, " + one + ", " + several + "), 'String')), " +
		"[arrayMap(w -> " + bucketOf("w") + ", arrayFilter((w, next) -> " + lastWord + ", words, next))], " +
		"[" + differences("arrayFilter((sum, w, next) -> "+lastWord+", arrayCumSum(w -> "+countOf("w")+", words), words, next)") + "])[1]), " +
		"[" + events + "], [" + sorted + "], [arrayShiftLeft(" + sorted + ", 1, " + noWord + ")])[1]"
}

// addedUp returns the sums of values of equal numbers, in the order of these. Numbers and values
// are less than 2^32. Of the words that have both, those of a number are beside each other once
// they are sorted, as in histogramOf.
func addedUp(numbers, values string) string {
	sorted := "arraySort(arrayMap((i, n) -> bitOr(bitShiftLeft(toUInt64(i), 32), n), " + numbers + ", " + values + "))"
	return "arrayMap((words, next) -> " + differences("arrayFilter((sum, w, next) -> "+lastWord+", arrayCumSum(w -> "+countOf("w")+", words), words, next)") +
		", [" + sorted + "], [arrayShiftLeft(" + sorted + ", 1, " + noWord + ")])[1]"
}

// lastWord tells of a word w and the next one whether w is the last one of its upper half. Behind
// the last word is noWord.
var lastWord = bucketOf("w") + " != " + bucketOf("next")

const noWord = "toUInt64(18446744073709551615)"

// differences returns what each sum adds to the one before.
func differences(sums string) string {
	return "arrayMap(sums -> arrayMap((sum, before) -> toUInt64(sum - before), sums, arrayShiftRight(sums, 1)), [" + sums + "])[1]"
}

// quantile adds up states of windows and groups, and returns a quantile of their numbers, NULL
// if there are none. It is an aggregate. A level of 95 in place of 0.95 is refused: it would be
// the greatest number.
var quantile = "(state, level) -> " + quantilesOf(ordered(wordsOf("arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))")),
	"level + throwIf(NOT (level >= 0 AND level <= 1), 'the level of weirQuantile has to be 0 to 1')") + "[1]"

// ordered returns words in the order of the numbers that their buckets stand for. That is the order
// of the words, unless they are of measures with two errors, whose buckets have two scales.
func ordered(words string) string {
	scale := func(word string) string { return "bitShiftRight(" + word + ", 60)" }
	value := "arrayMap(b -> " + bucketValue + ", [toUInt32(" + bucketOf("w") + ")])[1]"
	return "arrayMap(words -> if(" + scale("words[1]") + " = " + scale("words[-1]") + ", words, arraySort(w -> " + value + ", words)), [arraySort(" + words + ")])[1]"
}

// quantilesOf returns the quantiles of a histogram with these words, ascending:
// histogram.Counts.Quantile for each level.
func quantilesOf(words, levels string) string {
	const last = "sums[length(sums)]"
	return "arrayMap((words, sums) -> arrayMap(q -> if(empty(sums), NULL, " +
		"arrayMap(b -> " + bucketValue + ", [toUInt32(" + bucketOf("words[arrayFirstIndex(n -> n > least(toUInt64(q * "+last+"), toUInt64("+last+" - 1)), sums)]") + ")])[1]), " +
		fmt.Sprintf("[%s]), [%s], [arrayCumSum(w -> %s, %[2]s)])[1]", levels, words, countOf("w"))
}

// bucketValue is histogram.Bucket.Value of b.
const bucketValue = "arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), " +
	"[toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1]"
