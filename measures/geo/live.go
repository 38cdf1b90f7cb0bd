package geo

import (
	"weir/measures/face"
	"weir/sketches/geo"
)

// Live answers with a *geo.Set: the last position of each member over the
// windows. Package live makes it.
var Live = face.Live{
	Number:  face.NumberOf((*geo.Set).Len, 0),
	Shows:   face.Positions,
	Command: "ZCARD",
	Member: face.MemberOf(func(s *geo.Set, member []byte) bool {
		_, _, ok := s.Position(member)
		return ok
	}),
}
