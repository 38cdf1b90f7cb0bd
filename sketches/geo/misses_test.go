package geo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/internal/redistest"
)

// around returns a position at a distance in metres and a bearing in radians.
func around(lon, lat, distance, bearing float64) (float64, float64) {
	d, phi := distance/earthRadius, lat*radian
	sin := math.Sin(phi)*math.Cos(d) + math.Cos(phi)*math.Sin(d)*math.Cos(bearing)
	to := math.Asin(min(max(sin, -1), 1))
	east := math.Atan2(math.Sin(bearing)*math.Sin(d)*math.Cos(phi), math.Cos(d)-math.Sin(phi)*sin)
	return math.Mod(lon+east/radian+540, 360) - 180, to / radian
}

// TestSearchMisses measures the distance of every member to find hits outside
// the nine cells that Redis scans. It finds them in shapes that reach over a
// pole and are between 550 and 1,253 km in radius, and nowhere else: not at the
// antimeridian, and not in shapes of thousands of kilometres.
//
// Beyond the pole, the cosine that widens the bounds is negative. So the
// western bound lies east of the eastern one, and the search drops its eastern
// and western neighbours. Smaller shapes cannot reach the pole from the
// northernmost position; larger ones use cells so large that the search drops
// none.
func TestSearchMisses(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	missed := 0
	for range 6_000 {
		lon, lat := r.Float64()*360-180, (r.Float64()*2-1)*LatMax
		radius := math.Pow(10, r.Float64()*5.3+2)
		switch r.IntN(4) {
		case 0:
			lon = math.Copysign(180-r.ExpFloat64(), lon)
		case 1:
			lat = math.Copysign(LatMax-8*r.Float64(), lat)
			radius = 4e5 + 1e6*r.Float64()
		}
		q := Query{Lon: lon, Lat: lat, Shape: Circle(radius, Metre)}
		tall, reach := radius, radius
		if r.IntN(2) == 0 {
			w, h := radius*math.Exp(r.NormFloat64()), radius*math.Exp(r.NormFloat64())
			q.Shape = Rectangle(2*w, 2*h, Metre)
			tall, reach = h, math.Hypot(w, h)
		}
		s := new(Set)
		for i := range 60 {
			atLon, atLat := around(lon, lat, 1.2*reach*math.Sqrt(r.Float64()), 2*math.Pi*r.Float64())
			s.Add(fmt.Append(nil, i), atLon, atLat)
		}
		want := 0
		for _, score := range s.Slice(0, s.Len()) {
			atLon, atLat := Decode(uint64(score))
			if q.Shape.inside(lon, lat, atLon, atLat) {
				want++
			}
		}
		got := len(s.Search(nil, q))
		if got == want {
			continue
		}
		missed++
		overPole := math.Abs(lat)+tall/earthRadius/radian > 90
		if got > want || !overPole || reach < 550e3 || reach > 1253e3 {
			t.Errorf("%d hits of %d: %+v", got, want, q)
		}
	}
	t.Logf("%d searches missed members", missed)
	if missed == 0 {
		t.Error("no search missed a member: the test sees nothing, or Search is better than its comment says")
	}
}

// TestSearchOverPole looks for a member beyond the pole from all around it. A
// real server finds it, or misses it, from the same places.
func TestSearchOverPole(t *testing.T) {
	srv := redistest.Start(t)
	const lon, lat, atLat = 100, 85, 84.9
	var s Set
	s.Add([]byte("beyond"), lon, lat)
	srv.Do(t, "GEOADD", "k", lon, lat, "beyond")
	seen := map[bool]int{}
	for at := -180.0; at < 180; at += 5 {
		for _, km := range []float64{560, 600, 620, 800, 1300} {
			q := Query{Lon: at, Lat: atLat, Shape: Circle(km, Kilometre)}
			got := len(s.Search(nil, q))
			reply, _ := srv.Do(t, "GEORADIUS", "k", at, atLat, km, "km").([]any)
			if len(reply) != got {
				t.Errorf("from (%v, %v), %v km: %d hits, Redis has %d", at, atLat, km, got, len(reply))
			}
			if storedLon, storedLat, _ := s.Position([]byte("beyond")); q.Shape.inside(at, atLat, storedLon, storedLat) {
				seen[got == 1]++
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("found %d times, missed %d times: want both", seen[true], seen[false])
	}
	t.Logf("found %d times, missed %d times", seen[true], seen[false])
}

// TestSearchFromEdge: from a longitude of 180 a search misses members west of it, which the same search
// from -180 finds, and it alone finds a member at 180, as a real server does.
func TestSearchFromEdge(t *testing.T) {
	srv := redistest.Start(t)
	var s Set
	for member, lon := range map[string]float64{"east": 179.9999, "west": -179.9999, "line": 180} {
		s.Add([]byte(member), lon, -10)
		srv.Do(t, "GEOADD", "k", lon, -10, member)
	}
	for lon, want := range map[float64]string{180: "[east line]", -180: "[east west]", 179.999: "[east west]"} {
		var got []string
		for _, h := range s.Search(nil, Query{Lon: lon, Lat: -10, Shape: Circle(100, Kilometre)}) {
			got = append(got, h.Member)
		}
		slices.Sort(got)
		reply, _ := srv.Do(t, "GEORADIUS", "k", lon, -10, 100, "km").([]any)
		if fmt.Sprint(got) != want || len(reply) != len(got) {
			t.Errorf("from %v: %v, want %s; Redis has %d", lon, got, want, len(reply))
		}
	}
}

// TestSearchNorth: a member at the northernmost latitude is found from that latitude only, as with a
// real server.
func TestSearchNorth(t *testing.T) {
	srv := redistest.Start(t)
	var s Set
	for member, lat := range map[string]float64{"below": 85.0511, "limit": LatMax} {
		s.Add([]byte(member), 10, lat)
		srv.Do(t, "GEOADD", "k", 10, lat, member)
	}
	for lat, want := range map[float64]string{LatMax: "[below limit]", 85: "[below]", 80: "[below]"} {
		var got []string
		for _, h := range s.Search(nil, Query{Lon: 10, Lat: lat, Shape: Circle(3000, Kilometre)}) {
			got = append(got, h.Member)
		}
		slices.Sort(got)
		reply, _ := srv.Do(t, "GEORADIUS", "k", 10, lat, 3000, "km").([]any)
		if fmt.Sprint(got) != want || len(reply) != len(got) {
			t.Errorf("from %v: %v, want %s; Redis has %d", lat, got, want, len(reply))
		}
	}
}
