package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/sketches/geo"
)

// TestNearEdge: longitudes of 180 and -180 are one line, and the members on both sides of it, and on it, are near it.
// So are members at the northernmost latitude, and beyond a pole.
func TestNearEdge(t *testing.T) {
	s := new(geo.Set)
	for member, lon := range map[string]float64{"far": 178, "east": 179.9999, "line": 180, "west": -179.9998} {
		s.Add([]byte(member), lon, -10)
	}
	s.Add([]byte("north"), 10, geo.LatMax)
	s.Add([]byte("beyond"), 100, 85)
	for _, c := range []struct {
		lon, lat, metres float64
		n                int
		want             string
	}{
		{180, -10, 100_000, 2, "[line east]"},
		{-180, -10, 100_000, 2, "[line east]"},
		{180, -10, 100_000, 10, "[line east west]"},
		{-180, -10, 100_000, 10, "[line east west]"},
		{179.999, -10, 100_000, 10, "[east line west]"},
		{-179.999, -10, 100_000, 10, "[west line east]"},
		{10, 85, 50_000, 10, "[north]"},
		{10, geo.LatMax, 50_000, 10, "[north]"},
		{10, 0, 12_000_000, 1, "[north]"},
		{-80, 84.9, 1_130_000, 10, "[north beyond]"},
		{-80, 84.9, 1_120_000, 10, "[north]"},
		{0, 0, 20_037_508, 10, "[north beyond far west east line]"},
	} {
		places, err := Near(s, c.lon, c.lat, c.metres, c.n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range places {
			got = append(got, p.Member)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("the %d nearest to %v,%v within %v m: %v, want %s", c.n, c.lon, c.lat, c.metres, got, c.want)
		}
	}
}

// TestNearMany: the nearest of many members are those that a sort of all finds.
func TestNearMany(t *testing.T) {
	s := new(geo.Set)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 10_000 {
		s.Add(fmt.Append(nil, i), r.Float64()*360-180, r.Float64()*170-85)
	}
	for range 20 {
		lon, lat, metres, n := r.Float64()*360-180, r.Float64()*170-85, math.Pow(10, 5+2.3*r.Float64()), []int{1, 100, 1000}[r.IntN(3)]
		var want []float64
		for _, score := range s.Slice(0, s.Len()) {
			x, y := geo.Decode(uint64(score))
			if d := geo.Distance(lon, lat, x, y); d <= metres {
				want = append(want, d)
			}
		}
		slices.Sort(want)
		places, err := Near(s, lon, lat, metres, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, p := range places {
			got = append(got, p.Metres)
		}
		if !slices.Equal(got, want[:min(n, len(want))]) {
			t.Errorf("%d within %v m of %v,%v: %d places, of %d", n, metres, lon, lat, len(got), len(want))
		}
	}
}
