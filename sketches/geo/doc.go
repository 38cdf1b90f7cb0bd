// Package geo finds the members near a place the way Redis does: a position is
// a 52-bit cell, a set of positions is a sorted set whose scores are cells, and
// a search scans a few ranges of that set.
//
// The smallest use:
//
//	var s geo.Set
//	s.Add([]byte("Palermo"), 13.361389, 38.115556)
//	s.Add([]byte("Catania"), 15.087269, 37.502669)
//	hits := s.Search(nil, geo.Query{
//		Lon: 15, Lat: 37, Shape: geo.Circle(200, geo.Kilometre), Order: geo.Asc,
//	})
//
// # Contract
//
// Scores, texts, the order of an unsorted search and the digits of distances
// and coordinates are those of Redis 7.0; the differential tests run the same
// commands against a real server. A position is the centre of its cell, which
// is at most 0.6 m wide (at the equator; narrower towards the poles) and 0.3 m
// high, so a distance between two stored positions is off by up to 0.7 m,
// besides the half a percent by which a sphere differs from the Earth.
//
// No type here locks: one goroutine at a time may change a value, and while
// none does, any number may read it. A method copies byte slices that it is
// given; byte slices that it returns are valid until the next change.
package geo
