package geo_test

import (
	"fmt"

	"weir/sketches/geo"
)

// GEOADD, GEODIST and GEOSEARCH of Redis's own documentation.
func Example() {
	var s geo.Set
	s.Add([]byte("Palermo"), 13.361389, 38.115556)
	s.Add([]byte("Catania"), 15.087269, 37.502669)

	hits := s.Search(nil, geo.Query{
		Lon: 15, Lat: 37, Shape: geo.Circle(200, geo.Kilometre), Order: geo.Asc, WithDist: true,
	})
	for _, h := range hits {
		fmt.Printf("%s %s km\n", h.Member, geo.AppendDistance(nil, h.Dist))
	}

	a, _ := s.Score([]byte("Palermo"))
	b, _ := s.Score([]byte("Catania"))
	lon, lat := geo.Decode(uint64(a))
	toLon, toLat := geo.Decode(uint64(b))
	fmt.Printf("%s m apart\n", geo.AppendDistance(nil, geo.Distance(lon, lat, toLon, toLat)))
	fmt.Printf("%s\n", geo.AppendHashOf(nil, uint64(a)))
	// Output:
	// Catania 56.4413 km
	// Palermo 190.4424 km
	// 166274.1516 m apart
	// sqc8b49rny0
}

// The later position wins, in any order and with any repetition of the calls.
func ExampleLast() {
	var east, west, all geo.Last
	berlin, _ := geo.Encode(13.4, 52.5)
	paris, _ := geo.Encode(2.35, 48.86)
	east.Put(0, []byte("ann"), geo.Stamp{Time: 1000}, berlin)
	west.Put(0, []byte("ann"), geo.Stamp{Time: 2000}, paris)

	all.Merge(&west)
	all.Merge(&east)
	all.Merge(&west)
	score, _ := all.Set(0).Score([]byte("ann"))
	fmt.Printf("%s\n", geo.AppendHashOf(nil, uint64(score)))
	// Output: u09tvqxnnu0
}
