package bitmap

import (
	"errors"

	"weir/event"
	"weir/measures/face"
	"weir/sketches/bitmap"
	"weir/window"
)

// Live answers with a *bitmap.Activity.
var Live = face.Live{
	Number:  face.NumberOf((*bitmap.Activity).Count, 0),
	Shows:   face.People,
	Common:  face.CommonOf((*bitmap.Activity).CountAnd),
	Command: "BITCOUNT",
	Member: func(text string) (func(any) bool, error) {
		id, ok := event.Value{Type: event.String, Bytes: []byte(text)}.Uint32() // as events and GETBIT have it
		if !ok {
			return nil, errors.New("the members of a bitmap are numbers below 4294967296, in plain digits without sign, blanks or zeros in front")
		}
		return func(value any) bool {
			a, ok := value.(*bitmap.Activity)
			return ok && a.Has(id)
		}, nil
	},
	Value: func(row window.Row, m int) any {
		a, err := bitmap.FromClickHouse(row.AppendState(nil, m))
		face.Must(err)
		return a
	},
}
