package live

import (
	"weir/sketches/geo"
	"weir/window"
)

// geoKind answers with a *geo.Set: the last position of each member over the
// windows. positions.go has how it is made.
var geoKind = Kind{
	Name:   window.Geo.String(),
	Number: numberOf((*geo.Set).Len),
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
