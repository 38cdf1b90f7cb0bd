package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/serve/key"
	"weir/sketches/geo"
)

// A Cell is how many members were last in a rectangle of the map.
type Cell struct {
	Hash    string // the geohash
	Members int
}

// Heat counts the members of an answer of positions by geohash cell of so many characters,
// 1 to 9, within the cell of a shorter geohash or, if that is empty, everywhere. The cells
// are in the order of their hashes.
func Heat(value any, precision int, within string) ([]Cell, error) {
	if precision < 1 || precision > 9 {
		return nil, fmt.Errorf("%w: a precision of %d; want 1 to 9 characters", key.ErrQuestion, precision)
	}
	within = strings.ToLower(within)
	if within != "" {
		if _, err := geo.ParseHash([]byte(within)); err != nil || len(within) > precision {
			return nil, fmt.Errorf("%w: %.20q is no geohash of at most %d characters", key.ErrQuestion, within, precision)
		}
	}
	set, _ := value.(*geo.Set)
	if set == nil {
		return nil, nil
	}
	cells := map[string]int{}
	var hash []byte
	for _, score := range set.Slice(0, set.Len()) {
		lon, lat := geo.Decode(uint64(score))
		hash = geo.AppendHash(hash[:0], lon, lat, precision)
		if strings.HasPrefix(string(hash), within) {
			cells[string(hash)]++
		}
	}
	all := make([]Cell, 0, len(cells))
	for h, n := range cells {
		all = append(all, Cell{h, n})
	}
	slices.SortFunc(all, func(a, b Cell) int { return cmp.Compare(a.Hash, b.Hash) })
	return all, nil
}

// A Place is where a member was last.
type Place struct {
	Member   string
	Lon, Lat float64
	Metres   float64 // from the point of Near; 0 of Within
}

// PlacesMost is how many places Near and Within return.
const PlacesMost = 1000

// Near returns the members of an answer of positions within so many metres of a point,
// nearest first, at most n of them. It measures the distance of every member: a search of
// Redis misses those at a longitude of 180 and at the northernmost latitude, and some beyond
// a pole.
func Near(value any, lon, lat, metres float64, n int) ([]Place, error) {
	if _, ok := geo.Encode(lon, lat); !ok || !(metres > 0 && metres <= 20_037_508) {
		return nil, fmt.Errorf("%w: %v m around %v,%v; want a longitude of -180 to 180, a latitude of -85.05112878 to 85.05112878, and up to 20037508 m", key.ErrQuestion, metres, lon, lat)
	}
	set, _ := value.(*geo.Set)
	if set == nil {
		return nil, nil
	}
	n = min(n, PlacesMost)
	var all []Place
	nearest := func() {
		slices.SortStableFunc(all, func(a, b Place) int { return cmp.Compare(a.Metres, b.Metres) })
		all = all[:min(len(all), n)]
	}
	const degree = 111_000 // a degree of latitude has more metres
	for member, score := range set.Slice(0, set.Len()) {
		x, y := geo.Decode(uint64(score))
		if math.Abs(y-lat)*degree > metres {
			continue
		}
		if d := geo.Distance(lon, lat, x, y); d <= metres {
			all = append(all, Place{member, x, y, d})
		}
		if len(all) == 2*PlacesMost { // the others are no longer needed
			nearest()
		}
	}
	nearest()
	return all, nil
}

// Within returns the members of an answer of positions in a rectangle of degrees, edges
// included, at most n of them, in the order of their cells.
func Within(value any, west, south, east, north float64, n int) ([]Place, error) {
	if !(west <= east && south <= north && west >= -180 && east <= 180 && south >= -90 && north <= 90) {
		return nil, fmt.Errorf("%w: the box %v,%v,%v,%v; want west, south, east, north in degrees", key.ErrQuestion, west, south, east, north)
	}
	set, _ := value.(*geo.Set)
	if set == nil {
		return nil, nil
	}
	var all []Place
	for member, score := range set.Slice(0, set.Len()) {
		lon, lat := geo.Decode(uint64(score))
		if lon >= west && lon <= east && lat >= south && lat <= north && len(all) < min(n, PlacesMost) {
			all = append(all, Place{Member: member, Lon: lon, Lat: lat})
		}
	}
	return all, nil
}
