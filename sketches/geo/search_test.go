package geo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// inside tests a point as Redis does, without a shortcut.
func (s Shape) inside(lon, lat, atLon, atLat float64) bool {
	if s.circle {
		return Distance(lon, lat, atLon, atLat) <= s.halfWidth()
	}
	return latDistance(lat, atLat) <= s.halfHeight() && Distance(atLon, atLat, lon, atLat) <= s.halfWidth()
}

// naiveSearch is Search without filter and fast sorting.
func naiveSearch(s *Set, q Query) []string {
	type hit struct {
		member string
		dist   float64
	}
	var hits []hit
scan:
	for _, c := range q.Shape.cover(q.Lon, q.Lat, nil) {
		low, high := c.scores()
		for member, score := range s.Slice(0, s.Len()) {
			lon, lat := Decode(uint64(score))
			if score >= low && score < high && q.Shape.inside(q.Lon, q.Lat, lon, lat) {
				hits = append(hits, hit{member, Distance(q.Lon, q.Lat, lon, lat)})
				if q.Any && len(hits) == q.Count {
					break scan
				}
			}
		}
	}
	if q.Order != Unsorted {
		slices.SortStableFunc(hits, func(a, b hit) int {
			if q.Order == Desc {
				a, b = b, a
			}
			return cmp.Compare(a.dist, b.dist)
		})
	}
	var members []string
	for _, h := range hits {
		members = append(members, h.member)
	}
	return members
}

func members(hits []Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Member)
	}
	return out
}

// TestSearchTwin compares the filter's four steps with the plain test, over
// shapes of all sizes and with members on their very edges.
func TestSearchTwin(t *testing.T) {
	for trial := range 60 {
		r := rand.New(rand.NewPCG(30, uint64(trial)))
		s := new(Set)
		spread := math.Pow(10, r.Float64()*6-4) // degrees
		cLon, cLat := randomPlace(r)
		for i := range 200 {
			lon, lat := randomPlace(r)
			if i%2 == 0 {
				lon = min(max(cLon+r.NormFloat64()*spread, -180), 180)
				lat = min(max(cLat+r.NormFloat64()*spread, LatMin), LatMax)
			}
			s.Add(fmt.Append(nil, i), lon, lat)
		}
		all := collect(s.Slice(0, s.Len()))
		for range 60 {
			x := randomSearch(r, s)
			q := x.q
			if r.IntN(2) == 0 {
				q.Lon, q.Lat = cLon, cLat
			}
			if q.Order != Unsorted && !q.Any {
				q.Count = 0 // ties under Count are compared with Redis
			} else if !q.Any {
				q.Count, q.Order = 0, Unsorted
			}
			if r.IntN(2) == 0 {
				// Through a member, or beside it by an ulp.
				lon, lat := Decode(uint64(all[r.IntN(len(all))].score))
				radius := Distance(q.Lon, q.Lat, lon, lat)
				q.Shape = Circle(nudged(r, radius), Metre)
				if r.IntN(2) == 0 {
					w, h := 2*Distance(lon, lat, q.Lon, lat), 2*latDistance(q.Lat, lat)
					q.Shape = Rectangle(nudged(r, w), nudged(r, h), Metre)
				}
			}
			q.WithDist = r.IntN(2) == 0
			hits := s.Search(nil, q)
			if got, want := members(hits), naiveSearch(s, q); !slices.Equal(got, want) {
				t.Fatalf("trial %d: %+v\ngot  %v\nwant %v", trial, q, got, want)
			}
			for _, h := range hits {
				want := 0.0
				if q.WithDist {
					lon, lat := h.Position()
					want = Distance(q.Lon, q.Lat, lon, lat) / float64(q.Shape.unit)
				}
				if h.Dist != want {
					t.Fatalf("trial %d: %+v: %s is %v away, want %v", trial, q, h.Member, h.Dist, want)
				}
			}
		}
	}
}

// TestHaversine: haversine is as exact as its comment says, for near and for
// distant positions.
func TestHaversine(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	worst := 0.0
	for range 200_000 {
		lon, lat := randomPlace(r)
		from := originAt(randomPlace(r))
		if r.IntN(2) == 0 {
			spread := math.Pow(10, r.Float64()*8-7) // degrees
			from = originAt(lon+spread*r.NormFloat64(), min(max(lat+spread*r.NormFloat64(), LatMin), LatMax))
		}
		phi := float64(lat * radian)
		u, v := sine((phi-from.radLat)/2), sine((float64(lon*radian)-from.radLon)/2)
		if want := u*u + from.cos*cosine(phi)*v*v; want > 0 {
			worst = max(worst, math.Abs(from.haversine(lon, lat)-want)/want)
		}
	}
	if worst > 1e-14 {
		t.Errorf("the error is %v of it", worst)
	}
	t.Logf("%v at worst", worst)
}

func nudged(r *rand.Rand, v float64) float64 {
	switch r.IntN(3) {
	case 0:
		return math.Nextafter(v, 0)
	case 1:
		return math.Nextafter(v, math.Inf(1))
	}
	return v
}
