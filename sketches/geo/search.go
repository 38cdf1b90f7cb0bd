package geo

import (
	"cmp"
	"math"
	"slices"
)

// A Shape is the area that a search covers: a circle or a box, with its size in
// some unit. Make one with Circle or Rectangle.
type Shape struct {
	circle bool
	// The radius is kept in both; box edges are lengths from side to side.
	width, height float64
	unit          Unit
}

// Circle returns the shape of BYRADIUS and GEORADIUS.
func Circle(radius float64, unit Unit) Shape { return Shape{true, radius, radius, unit} }

// Rectangle returns the shape of BYBOX: height along the meridian, width along the
// parallel of each member, both from side to side.
func Rectangle(width, height float64, unit Unit) Shape { return Shape{false, width, height, unit} }

// halfWidth, halfHeight and reach are in metres: half the extent along each
// axis, and the distance of the farthest point from the centre, by which Redis
// chooses the cells to scan.
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
	// WithDist asks for Hit.Dist, 0.16 µs for each.
	WithDist bool
}

// A Hit is a member that lies in the shape.
type Hit struct {
	Member string
	Score  float64 // its cell; see Position
	Dist   float64 // from the centre, in the shape's unit; 0 unless asked for
}

// Position returns where the hit is, the centre of its cell.
func (h *Hit) Position() (lon, lat float64) { return Decode(CellOf(h.Score)) }

// Search appends the hits of q to dst and returns it.
//
// The hits, and their order, are those of Redis 7.0. Unsorted hits come cell by
// cell (see Shape.cover) and by score within a cell. Members at the same
// distance keep that order in a sorted search without Count; with Count,
// Redis's partial quicksort decides their order. The cells are Redis's too, so
// a search that reaches over a pole with a radius between 550 and 1,253 km can
// miss members beyond it, as in Redis, and members at a longitude of 180 or at
// LatMax are found from that longitude or latitude only.
//
// A search with a centre outside the limits has no hits.
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
	if q.Order != Unsorted {
		hits := dst[from:]
		n := sortHits(hits, &q, &f.from)
		clear(hits[n:])
		dst = dst[:from+n]
	}
	for i := range dst[from:] {
		h := &dst[from+i]
		if q.WithDist {
			h.Dist = h.from(&f.from) / float64(q.Shape.unit)
		} else {
			h.Dist = 0
		}
	}
	return dst
}

// unknown is the distance of a hit that is not computed yet.
const unknown = -1

// from returns the distance of a hit during a search, in metres.
func (h *Hit) from(o *origin) float64 {
	if h.Dist == unknown {
		h.Dist = o.distance(h.Position())
	}
	return h.Dist
}

// scan appends the members of one cell that pass the filter, until dst has
// from+limit hits.
func (s *Set) scan(dst []Hit, f *filter, c cell, from, limit int) []Hit {
	low, high := c.scores()
	for p := s.seek(low, false); p.block < len(s.blocks); p = (place{p.block + 1, 0}) {
		b := s.blocks[p.block][p.index:]
		for i := range b {
			e := &b[i]
			if e.score >= high {
				return dst
			}
			if score := uint64(e.score); !f.near(score) || !f.holds(score) {
				continue
			}
			dst = append(dst, Hit{e.member, e.score, unknown})
			if len(dst)-from >= limit {
				return dst
			}
		}
	}
	return dst
}

// sortHits sorts hits so that those to return come first, and returns their
// number: q.Count, or all if that is 0.
//
// Distances rounded as in Redis take long to compute. So unless the query wants
// all of them, sortHits compares haversines first, and computes distances only
// for pairs whose haversines are too close. Each comparison has the result that
// the distances have, and so has the order, ties included.
func sortHits(hits []Hit, q *Query, from *origin) int {
	// To sort small keys and move every hit once is several times faster than to
	// sort the hits.
	type key struct {
		distance float64 // the haversine, or the distance
		hit      int
	}
	some := q.Count > 0 && q.Count < len(hits)
	keys := make([]key, len(hits))
	for i := range hits {
		if h := &hits[i]; q.WithDist && !some {
			keys[i] = key{h.from(from), i}
		} else {
			keys[i] = key{from.haversine(h.Position()), i}
		}
	}
	sign := 1
	if q.Order == Desc {
		sign = -1
	}
	near := func(a, b int) int { return sign * cmp.Compare(hits[a].from(from), hits[b].from(from)) }
	n := len(hits)
	if some {
		n = q.Count
		partialSort(keys, n, func(a, b *key) int {
			if c := compareDistances(a.distance, b.distance); c != 0 {
				return sign * c
			}
			return near(a.hit, b.hit)
		})
	} else {
		// Equal distances stay as they were found: glibc's qsort, a merge
		// sort, does that.
		slices.SortFunc(keys, func(a, b key) int {
			if c := compareDistances(a.distance, b.distance); c != 0 {
				return sign * c
			}
			return cmp.Or(near(a.hit, b.hit), a.hit-b.hit)
		})
	}
	wanted := make([]Hit, n)
	for i := range wanted {
		wanted[i] = hits[keys[i].hit]
	}
	copy(hits, wanted)
	return n
}

// compareDistances compares haversines, or distances; it returns 0 if rounding errors
// could change the result.
func compareDistances(a, b float64) int {
	switch {
	case a < b*(1-tight):
		return -1
	case a*(1-tight) > b:
		return 1
	}
	return 0
}

// Position returns the position of a member, for searches around it and for
// GEOPOS.
func (s *Set) Position(member []byte) (lon, lat float64, ok bool) {
	score, ok := s.Score(member)
	if !ok {
		return 0, 0, false
	}
	lon, lat = Decode(CellOf(score))
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
	entries := make([]entry, len(hits))
	for i := range hits {
		entries[i] = entry{hits[i].Score, hits[i].Member}
	}
	return newSet(entries)
}

// StoredDist makes the set that STOREDIST leaves: the hits with their
// distances, for which the search must have asked.
func StoredDist(hits []Hit) *Set {
	entries := make([]entry, len(hits))
	for i := range hits {
		entries[i] = entry{hits[i].Dist, hits[i].Member}
	}
	return newSet(entries)
}
