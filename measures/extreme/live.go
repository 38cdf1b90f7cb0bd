package extreme

import (
	"weir/measures/face"
	"weir/window"
)

// Live answers with a face.Number.
var Live = face.Live{
	Shows:   face.Quantity,
	Command: "GET",
	Number:  face.NumberOrNil,
	Value: func(row window.Row, m int) any {
		if f, ok := Of(row, m); ok {
			return face.Number(f)
		}
		return nil
	},
}
