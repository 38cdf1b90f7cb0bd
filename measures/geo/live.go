package geo

import (
	"weir/measures/face"
	"weir/sketches/geo"
)

// Live answers with a *geo.Set: the last position of each member over the
// windows. Package live makes it.
var Live = face.Live{
	Number:  face.NumberOf((*geo.Set).Len),
	Shows:   face.Positions,
	Command: "ZCARD",
	Member: func(text string) (func(any) bool, error) {
		return func(value any) bool {
			s, ok := value.(*geo.Set)
			if ok {
				_, _, ok = s.Position([]byte(text))
			}
			return ok
		}, nil
	},
}
