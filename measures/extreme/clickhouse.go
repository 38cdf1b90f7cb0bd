package extreme

import (
	"encoding/binary"
	"math"

	"weir/measures/face"
	"weir/window"
)

// MinSQL stores the least value of a number, whose rank is the greatest; NULL if no event had one. The state is the number itself, so the aggregate, max or min, is
// right over states and over finished numbers. It costs nine bytes in each of the two columns,
// before compression.
func MinSQL(*window.Measure) *face.SQL { return sql("min", "bitNot") }

// MaxSQL is MinSQL for the greatest value.
func MaxSQL(*window.Measure) *face.SQL { return sql("max", "") }

// sql has the same for an aggregate. order makes an order of ranks out of that of the numbers.
func sql(aggregate, order string) *face.SQL {
	return &face.SQL{
		State: "SimpleAggregateFunction(" + aggregate + ", Nullable(Float64))",
		Merge: aggregate + "(%s)",
		Bytes: "if(isNull(%[1]s), '', unhex(hex(assumeNotNull(%[1]s))))",

		Number:      "%s",
		NumberType:  "Nullable(Float64)",
		NumberMerge: aggregate,
		View:        "toFloat64(%s)",
		Rank: "toUInt64(if(isNull(%[1]s), 0, " + order + "(if(assumeNotNull(%[1]s) < 0, bitNot(reinterpretAsUInt64(assumeNotNull(%[1]s))), " +
			"bitOr(reinterpretAsUInt64(assumeNotNull(%[1]s)), 9223372036854775808)))))",

		Empty: "CAST(NULL, 'Nullable(Float64)')",
		Plain: "Nullable(Float64)",
		Runs:  2, // one byte a row that says whether it is NULL, then the numbers
		Add: func(runs [][]byte, row window.Row, m int) {
			f, ok := Of(row, m)
			null := byte(1)
			if ok {
				null = 0
			}
			runs[0] = append(runs[0], null)
			runs[1] = binary.LittleEndian.AppendUint64(runs[1], math.Float64bits(f))
		},
	}
}
