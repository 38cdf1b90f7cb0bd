package ordered

import (
	"encoding/binary"

	"weir/measures/face"
	"weir/window"
)

// SQL stores the first or the last value of a field behind its Mark, of
// which the greater wins in both kinds; a time of 0 is none. So max is right over states
// and over finished values, and the zeros that ClickHouse puts into a new column lose
// against every value. Views show the value alone, NULL if there is none.
func SQL(*window.Measure) *face.SQL {
	const tuple = "Tuple(time UInt64, slot UInt64, offset UInt64, value String)"
	return &face.SQL{
		State: "SimpleAggregateFunction(max, " + tuple + ")",
		Merge: "max(%s)",
		Bytes: "if(tupleElement(%[1]s, 1) = 0, '', concat(reinterpretAsFixedString(tupleElement(%[1]s, 1)), reinterpretAsFixedString(tupleElement(%[1]s, 2)), " +
			"reinterpretAsFixedString(tupleElement(%[1]s, 3)), tupleElement(%[1]s, 4)))",

		Number:      "%s",
		NumberType:  tuple,
		NumberMerge: "max",
		View:        "if(tupleElement(%[1]s, 1) = 0, NULL, tupleElement(%[1]s, 4))",
		ViewType:    "Nullable(String)",
		Expires:     true,
		Rank: "toUInt64(if(tupleElement(%[1]s, 1) = 0, 0, bitOr(bitShiftLeft(tupleElement(%[1]s, 1), 22), bitAnd(xxHash64(" +
			"concat(toString(tupleElement(%[1]s, 2)), ' ', toString(tupleElement(%[1]s, 3)), ' ', tupleElement(%[1]s, 4))), 4194303))))",

		Empty: "CAST((0, 0, 0, ''), '" + tuple + "')",
		Plain: tuple,
		Runs:  4,
		Add: func(runs [][]byte, row window.Row, m int) {
			mark, value := Of(row, m)
			for i, word := range [...]uint64{mark.Time, mark.Slot, mark.Offset} {
				runs[i] = binary.LittleEndian.AppendUint64(runs[i], word)
			}
			runs[3] = face.AppendString(runs[3], value)
		},
	}
}
