package sum

import (
	"encoding/binary"
	"fmt"

	"weir/measures/extreme"
	"weir/measures/face"
	"weir/measures/slots"
	"weir/window"
)

// SQL stores the exact sum of a number by slot, with the number of events
// that it is of. Of two values of a slot, that of more events is the later one, and
// tuples compare by their first element first.
func SQL(m *window.Measure) *face.SQL {
	return sql(m, "%s["+slots.WholeSQL+"].2", fmt.Sprintf("Decimal(38, %d)", m.Scale),
		"toUInt64(bitAnd(reinterpret(%s, 'UInt128'), toUInt128(18446744073709551615)))")
}

// AvgSQL stores what SQL does, and shows the mean.
func AvgSQL(m *window.Measure) *face.SQL {
	return sql(m, "if(%[1]s["+slots.WholeSQL+"].1 = 0, NULL, toFloat64(%[1]s["+slots.WholeSQL+"].2) / %[1]s["+slots.WholeSQL+"].1)", "Nullable(Float64)", extreme.MaxSQL(m).Rank)
}

func sql(m *window.Measure, number, numberType, rank string) *face.SQL {
	plain := fmt.Sprintf("Map(UInt64, Tuple(UInt64, Decimal(38, %d)))", m.Scale)
	total := func(aggregate, events, units string) string {
		return "map(toUInt64(" + slots.WholeSQL + "), (" + fmt.Sprintf(aggregate, events) + ", " + fmt.Sprintf(aggregate, units) + "))"
	}
	sums := func(values string) string { return total("arraySum(%s, "+values+")", "sum -> sum.1", "sum -> sum.2") }
	return &face.SQL{
		State: "SimpleAggregateFunction(maxMap, " + plain + ")",
		Merge: "maxMap(%s)",
		Bytes: "arrayStringConcat(arrayMap((slot, sum) -> concat(reinterpretAsFixedString(slot), reinterpretAsFixedString(sum.1), reinterpretAsFixedString(sum.2))," +
			" mapKeys(%[1]s), mapValues(%[1]s)))",
		Fold:   sums("mapValues(%%[1]s)"),
		Folded: "arrayMap(latest -> " + sums("latest") + ", [" + slots.Latest + "])[1]",
		Plus:   total("sum(%s)", "%[1]s["+slots.WholeSQL+"].1", "%[1]s["+slots.WholeSQL+"].2"),

		Number:     number,
		NumberType: numberType,
		View:       "%s",
		Rank:       rank,

		Empty: "CAST(map(), '" + plain + "')",
		Plain: plain,
		Runs:  4, // where the entries of each row end, slots, events, units
		Add: func(runs [][]byte, row window.Row, m int) {
			for slot, t := range Slots(row, m) {
				runs[1] = face.Append64(runs[1], uint64(slot))
				runs[2] = face.Append64(runs[2], t.Events)
				runs[3] = binary.LittleEndian.AppendUint64(face.Append64(runs[3], t.Units.Low), uint64(t.Units.High))
			}
			runs[0] = face.Append64(runs[0], uint64(len(runs[1])/8))
		},
	}
}
