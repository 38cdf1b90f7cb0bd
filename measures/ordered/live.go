package ordered

import (
	"weir/measures/face"
	"weir/window"
)

// Live answers with a Text.
var Live = face.Live{
	Shows:   face.Texts,
	Command: "GET",
	Number:  face.NumberOf(func(t Text) any { return string(t) }, nil),
	Value: func(row window.Row, m int) any {
		if mark, value := Of(row, m); mark != (Mark{}) {
			return Text(value)
		}
		return nil
	},
}

// A Text is the value of a measure that keeps values as they are.
type Text string

// AppendText appends the value.
func (t Text) AppendText(b []byte) ([]byte, error) { return append(b, t...), nil }
