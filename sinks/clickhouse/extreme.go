package clickhouse

import (
	"encoding/binary"
	"math"

	"weir/window"
)

// extremeKind stores the greatest or the least value of a number; NULL if no event had
// one. The state is the number itself, so the aggregate, max or min, is right over states
// and over finished numbers. It costs nine bytes in each of the two columns, before
// compression. order makes an order of ranks out of that of the numbers.
func extremeKind(aggregate, order string) kind {
	return kind{
		state: "SimpleAggregateFunction(" + aggregate + ", Nullable(Float64))",
		merge: aggregate + "(%s)",
		bytes: "if(isNull(%[1]s), '', unhex(hex(assumeNotNull(%[1]s))))",

		number:      "%s",
		numberType:  "Nullable(Float64)",
		numberMerge: aggregate,
		shown:       "toFloat64(%s)",
		rank: "toUInt64(if(isNull(%[1]s), 0, " + order + "(if(assumeNotNull(%[1]s) < 0, bitNot(reinterpretAsUInt64(assumeNotNull(%[1]s))), " +
			"bitOr(reinterpretAsUInt64(assumeNotNull(%[1]s)), 9223372036854775808)))))",

		empty: "CAST(NULL, 'Nullable(Float64)')",
		plain: "Nullable(Float64)",
		runs:  2, // one byte a row that says whether it is NULL, then the numbers
		add: func(runs [][]byte, row window.Row, m int) {
			f, ok := row.Extreme(m)
			null := byte(1)
			if ok {
				null = 0
			}
			runs[0] = append(runs[0], null)
			runs[1] = binary.LittleEndian.AppendUint64(runs[1], math.Float64bits(f))
		},
	}
}
