package geo

import (
	"cmp"
	"math"
	"slices"
)

// A Shape is what a search looks into: a circle or a box, of a size in some
// unit. Make one with Circle or Rectangle.
type Shape struct {
	circle bool
	// The radius is kept in both; box edges are lengths from side to side.
	width, height float64
	unit          Unit
}

// Circle is the shape of BYRADIUS and GEORADIUS.
func Circle(radius float64, unit Unit) Shape { return Shape{true, radius, radius, unit} }

// Rectangle is the shape of BYBOX: height along the meridian, width along the
// parallel of each member, both from side to side.
func Rectangle(width, height float64, unit Unit) Shape { return Shape{false, width, height, unit} }

// halfWidth, halfHeight and reach are metres: half the extent along each
// axis, and the distance of the farthest point from the centre as Redis takes
// it when it chooses the cells to scan.
func (s Shape) halfWidth() float64 {
	if s.circle {
		return float64(s.unit) * s.width
	}
	return float64(s.unit) * (s.width / 2)
}

func (s Shape) halfHeight() float64 {
	if s.circle {
		return float64(s.unit) * s.height
	}
	return float64(s.unit) * (s.height / 2)
}

func (s Shape) reach() float64 {
	if s.circle {
		return s.width * float64(s.unit)
	}
	w, h := s.width/2, s.height/2
	return math.Sqrt(float64(w*w)+float64(h*h)) * float64(s.unit)
}

// An Order is that of the hits of a search.
type Order uint8

const (
	Unsorted Order = iota // as the scan meets them; see Search
	Asc                   // nearest first
	Desc                  // farthest first
)

// A Query is one search.
type Query struct {
	Lon, Lat float64 // the centre, within the limits of a position
	Shape    Shape   // of a size that is neither negative nor NaN
	Order    Order
	// Count, if not 0, is the greatest number of hits: the nearest ones, or
	// the farthest with Desc. With Unsorted it implies Asc, as in Redis.
	Count int
	// Any stops the scan at the first Count hits, wherever they lie. Order
	// then sorts only these.
	Any bool
	// WithDist asks for Hit.Dist, which is half the cost of a hit. A sorted
	// search has it anyway.
	WithDist bool
}

// A Hit is a member that lies in the shape.
type Hit struct {
	Member   string
	Score    float64
	Lon, Lat float64
	Dist     float64 // from the centre, in the shape's unit; 0 unless sorted or asked for
}

// Search appends the hits of q to dst and returns it.
//
// The hits, and their order, are those of Redis 7.0. Unsorted hits come cell
// by cell (see Shape.cover) and by score within a cell. Members at the same
// distance keep that order in a sorted search without Count; with it they
// take the order Redis's own partial quicksort leaves them in. Because the
// cells are Redis's as well, a search that reaches over a pole or over
// thousands of kilometres can miss members, as it does in Redis.
//
// A centre outside the limits has no hits.
func (s *Set) Search(dst []Hit, q Query) []Hit {
	if _, ok := Encode(q.Lon, q.Lat); !ok {
		return dst
	}
	if q.Count > 0 && q.Order == Unsorted && !q.Any {
		q.Order = Asc
	}
	limit := math.MaxInt
	if q.Any && q.Count > 0 {
		limit = q.Count
	}
	from := len(dst)
	f := newFilter(q)
	var cells [9]cell
	for _, c := range q.Shape.cover(q.Lon, q.Lat, cells[:0]) {
		dst = s.scan(dst, &f, c, from, limit)
		if len(dst)-from >= limit {
			break
		}
	}
	hits := dst[from:]
	if q.Order != Unsorted || q.WithDist {
		for i := range hits {
			hits[i].Dist = Distance(q.Lon, q.Lat, hits[i].Lon, hits[i].Lat)
		}
	}
	n := len(hits)
	if q.Count > 0 {
		n = min(n, q.Count)
	}
	if q.Order != Unsorted {
		sortHits(hits, n, q.Order)
	}
	for i := range hits[:n] {
		hits[i].Dist /= float64(q.Shape.unit)
	}
	clear(hits[n:])
	return dst[:from+n]
}

// scan appends the members of one cell that pass the filter.
func (s *Set) scan(dst []Hit, f *filter, c cell, from, limit int) []Hit {
	low, high := c.scores()
	for p := s.seek(low, false); p.block < len(s.blocks); p = (place{p.block + 1, 0}) {
		b := s.blocks[p.block][p.index:]
		for i := range b {
			e := &b[i]
			if e.score >= high {
				return dst
			}
			lon, lat := Decode(uint64(e.score))
			if !f.holds(lon, lat) {
				continue
			}
			dst = append(dst, Hit{Member: e.member, Score: e.score, Lon: lon, Lat: lat})
			if len(dst)-from >= limit {
				return dst
			}
		}
	}
	return dst
}

// Position returns the position of a member, for searches around it and for
// GEOPOS.
func (s *Set) Position(member []byte) (lon, lat float64, ok bool) {
	score, ok := s.Score(member)
	if !ok {
		return 0, 0, false
	}
	lon, lat = Decode(uint64(score))
	return lon, lat, true
}

// Add puts a member at a position (GEOADD) and reports whether it is new and
// whether it moved. A position outside the limits is neither.
func (s *Set) Add(member []byte, lon, lat float64) (added, moved bool) {
	score, ok := Encode(lon, lat)
	if !ok {
		return false, false
	}
	return s.Put(member, float64(score))
}

// Stored makes the set that STORE leaves: the hits with their cells.
func Stored(hits []Hit) *Set {
	s := new(Set)
	for i := range hits {
		s.Put([]byte(hits[i].Member), hits[i].Score)
	}
	return s
}

// StoredDist makes the set that STOREDIST leaves: the hits with their
// distances, for which the search must have asked.
func StoredDist(hits []Hit) *Set {
	s := new(Set)
	for i := range hits {
		s.Put([]byte(hits[i].Member), hits[i].Dist)
	}
	return s
}

// A filter decides whether positions lie in a query's shape. Redis computes a
// distance, rounded as it comes, and compares; so does the filter, but only
// in the narrow ring where rounding could matter. Elsewhere the haversine
// itself, before root and arc sine and with the library's fast functions,
// says enough.
type filter struct {
	q        Query
	radius   float64 // of the circle, in metres
	dLat     float64 // no hit is farther from the centre's parallel, in degrees
	dLon     float64 // no hit is farther from the centre's meridian, in degrees
	cosLat   float64 // of the centre
	in, out  float64 // haversines below in are inside, above out outside
	halfWide float64 // of the box, in metres
	halfHigh float64
}

// slack is far above the rounding errors of either computation, 1e-15.
const slack = 1e-12

func newFilter(q Query) filter {
	f := filter{q: q, dLon: 360, cosLat: math.Cos(q.Lat * radian)}
	span := q.Shape.halfHeight() / earthRadius // radians, to the north
	f.dLat = (span + slack) * (1 + slack) / radian
	var reach float64
	if q.Shape.circle {
		f.radius = q.Shape.width * float64(q.Shape.unit)
		reach = f.radius
		// The circle's easternmost point is where a meridian touches it,
		// unless it holds a pole.
		if math.Abs(q.Lat)*radian+span < math.Pi/2-1e-6 {
			f.dLon = math.Asin(min(math.Sin(span)/f.cosLat*(1+1e-9), 1))/radian + 1e-9
		}
	} else {
		f.halfWide = q.Shape.width * float64(q.Shape.unit) / 2
		f.halfHigh = q.Shape.height * float64(q.Shape.unit) / 2
		reach = f.halfWide
	}
	half := min(reach/earthRadius, math.Pi) / 2
	sin := math.Sin(half)
	f.in, f.out = sin*sin*(1-slack), sin*sin*(1+slack)
	if half == math.Pi/2 {
		f.out = 2 // every haversine may be inside: none is above 1
	}
	return f
}

// holds reports whether a position lies in the shape.
func (f *filter) holds(lon, lat float64) bool {
	dLat := math.Abs(lat - f.q.Lat)
	if dLat > f.dLat {
		return false
	}
	dLon := math.Abs(lon - f.q.Lon)
	if dLon > 180 {
		dLon = 360 - dLon
	}
	if dLon > f.dLon {
		return false
	}
	v := math.Sin(dLon * radian / 2)
	if f.q.Shape.circle {
		u := math.Sin(dLat * radian / 2)
		switch h := u*u + f.cosLat*math.Cos(lat*radian)*v*v; {
		case h < f.in:
			return true
		case h > f.out:
			return false
		}
		return Distance(f.q.Lon, f.q.Lat, lon, lat) <= f.radius
	}
	if latDistance(lat, f.q.Lat) > f.halfHigh {
		return false
	}
	c := math.Cos(lat * radian)
	switch h := c * c * v * v; {
	case h < f.in:
		return true
	case h > f.out:
		return false
	}
	return Distance(lon, lat, f.q.Lon, lat) <= f.halfWide
}

// sortHits puts the first n of the sorted hits into their places.
func sortHits(hits []Hit, n int, order Order) {
	compare := func(a, b *Hit) int { return cmp.Compare(a.Dist, b.Dist) }
	if order == Desc {
		compare = func(a, b *Hit) int { return cmp.Compare(b.Dist, a.Dist) }
	}
	if n == len(hits) {
		// glibc's qsort is a merge sort: stable.
		slices.SortStableFunc(hits, func(a, b Hit) int { return compare(&a, &b) })
		return
	}
	partialSort(hits, n, compare)
}
