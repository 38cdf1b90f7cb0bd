package sum

import (
	"weir/measures/face"
	"weir/window"
)

// SumLive answers with a Decimal, AvgLive with a face.Number.
var (
	SumLive = face.Live{
		Shows:   face.Quantity,
		Command: "GET",
		Number:  face.NumberOf(func(d Decimal) any { return d }, 0),
		Value: func(row window.Row, m int) any {
			if t := Of(row, m); t.Events > 0 {
				return Decimal(t.Text(row.Spec().Measures[m].Scale))
			}
			return nil
		},
	}
	AvgLive = face.Live{
		Shows:   face.Quantity,
		Command: "GET",
		Number:  face.NumberOrNil,
		Value: func(row window.Row, m int) any {
			if t := Of(row, m); t.Events > 0 {
				return face.Number(t.Mean(row.Spec().Measures[m].Scale))
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
