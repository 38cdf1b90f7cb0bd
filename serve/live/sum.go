package live

import "weir/window"

// sumKind answers with a Decimal, avgKind with a Number.
var (
	sumKind = Kind{
		Name:    window.Sum.String(),
		Shows:   Quantity,
		Command: "GET",
		Number: func(value any) any {
			if d, ok := value.(Decimal); ok {
				return d
			}
			return 0
		},
		value: func(row window.Row, m int) any {
			if t := row.Total(m); t.Events > 0 {
				return Decimal(t.Text(row.Spec().Measures[m].Scale))
			}
			return nil
		},
	}
	avgKind = Kind{
		Name:    window.Avg.String(),
		Shows:   Quantity,
		Command: "GET",
		Number:  maxKind.Number,
		value: func(row window.Row, m int) any {
			if t := row.Total(m); t.Events > 0 {
				return Number(t.Mean(row.Spec().Measures[m].Scale))
			}
			return nil
		},
	}
)

// A Decimal is an exact number in decimal digits.
type Decimal string

// AppendText appends the digits.
func (d Decimal) AppendText(b []byte) ([]byte, error) { return append(b, d...), nil }

// MarshalJSON writes the digits as a JSON number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d), nil }
