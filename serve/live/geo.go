package live

import (
	"weir/sketches/geo"
	"weir/window"
)

// geoKind answers with a *geo.Set: the last position of each member over the
// windows. How that is made: places.go.
var geoKind = Kind{
	Name: window.Geo.String(),
	Number: func(measured any) any {
		if s, ok := measured.(*geo.Set); ok {
			return s.Len()
		}
		return 0
	},
	Member: func(text string) (func(any) bool, error) {
		return func(measured any) bool {
			s, ok := measured.(*geo.Set)
			if ok {
				_, _, ok = s.Position([]byte(text))
			}
			return ok
		}, nil
	},
}
