package clickhouse

import (
	"encoding/binary"
	"fmt"

	"weir/window"
)

// sumKind and avgKind store the exact sum of a number by slot, with the number of events
// that it is of. Of two values of a slot, that of more events is the later one, and
// tuples compare by their first element first.
var (
	sumKind = kind{of: func(m *window.Measure) *kind {
		return summed(m, "%s["+whole+"].2", fmt.Sprintf("Decimal(38, %d)", m.Scale),
			"toUInt64(bitAnd(reinterpret(%s, 'UInt128'), toUInt128(18446744073709551615)))")
	}}
	avgKind = kind{of: func(m *window.Measure) *kind {
		return summed(m, "if(%[1]s["+whole+"].1 = 0, NULL, toFloat64(%[1]s["+whole+"].2) / %[1]s["+whole+"].1)", "Nullable(Float64)", maxKind.rank)
	}}
)

// whole is window.Whole in SQL.
const whole = "18446744073709551615"

// latest is an aggregate of states that are maps from slots: the later value of each slot, in
// an array, as mapValues of their maxMap.
const latest = "arrayMap(entries -> arrayMap(e -> tupleElement(e, 2), arrayFilter((e, next) -> tupleElement(e, 1) != next, entries, arrayShiftLeft(arrayMap(e -> tupleElement(e, 1), entries), 1, toUInt64(" + whole + ")))), " +
	"[arraySort(groupArrayArray(arrayMap((slot, value) -> (slot, value), mapKeys(%[1]s), mapValues(%[1]s))))])[1]"

func summed(m *window.Measure, number, numberType, rank string) *kind {
	plain := fmt.Sprintf("Map(UInt64, Tuple(UInt64, Decimal(38, %d)))", m.Scale)
	total := func(aggregate, events, units string) string {
		return "map(toUInt64(" + whole + "), (" + fmt.Sprintf(aggregate, events) + ", " + fmt.Sprintf(aggregate, units) + "))"
	}
	sums := func(values string) string { return total("arraySum(%s, "+values+")", "sum -> sum.1", "sum -> sum.2") }
	return &kind{
		state: "SimpleAggregateFunction(maxMap, " + plain + ")",
		merge: "maxMap(%s)",
		bytes: "arrayStringConcat(arrayMap((slot, sum) -> concat(reinterpretAsFixedString(slot), reinterpretAsFixedString(sum.1), reinterpretAsFixedString(sum.2))," +
			" mapKeys(%[1]s), mapValues(%[1]s)))",
		fold:   sums("mapValues(%%[1]s)"),
		folded: "arrayMap(latest -> " + sums("latest") + ", [" + latest + "])[1]",
		plus:   total("sum(%s)", "%[1]s["+whole+"].1", "%[1]s["+whole+"].2"),

		number:     number,
		numberType: numberType,
		shown:      "%s",
		rank:       rank,

		empty: "CAST(map(), '" + plain + "')",
		plain: plain,
		runs:  4, // where the entries of each row end, slots, events, units
		add: func(runs [][]byte, row window.Row, m int) {
			for slot, t := range row.Totals(m) {
				runs[1] = append64(runs[1], uint64(slot))
				runs[2] = append64(runs[2], t.Events)
				runs[3] = binary.LittleEndian.AppendUint64(append64(runs[3], t.Units.Low), uint64(t.Units.High))
			}
			runs[0] = append64(runs[0], uint64(len(runs[1])/8))
		},
	}
}
