package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/sketches/geo"
)

// keptPositions are the only series of positions, or nil.
func keptPositions(l *Windows, job string) (kept *positions) {
	for _, of := range l.jobs[job].cache.series {
		if of.positions != nil {
			kept = of.positions
		}
	}
	return kept
}

// TestPlacesGoOn: as time goes on, questions about positions up to now need of
// the sink what lies beyond the windows of the question before, and nothing
// else; those that end earlier are right too.
func TestPlacesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		q.Measure = "places"
		size := w.spec.Window
		first, last := q.From, q.Until
		q.Until = first + 10*size
		ask(t, "at first", q, l, w.fresh(0))
		w.queries = 0
		for i := range 30 {
			q.From += size
			q.Until += size
			if _, _, err := l.lookup(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			if w.queries != i+1 {
				t.Fatalf("%d queries for %d steps", w.queries, i+1)
			}
		}
		ask(t, "at last", q, l, w.fresh(0))
		for until := first; until <= last; until += size {
			q.From, q.Until = first, until
			ask(t, "all that was", q, l, w.fresh(0))
		}
	})
}

// TestPlacesOfTwo: a question about later windows at the same time does not change an
// answer.
func TestPlacesOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		q.Measure = "places"
		all := q.Until
		for until := q.From + w.spec.Window; until < all; until += w.spec.Window {
			q.Until = until
			later := q
			later.Until = all
			done := make(chan error)
			w.during = func() {
				go func() {
					_, _, err := l.lookup(t.Context(), later)
					done <- err
				}()
				synctest.Wait() // it has come as far as it can alone
			}
			ask(t, "while another asked", q, l, w.fresh(0))
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			for _, of := range l.jobs[w.spec.Job].cache.series { // empty the cache
				for _, p := range of.entries {
					l.cache.drop(p)
				}
			}
		}
	})
}

// TestPlacesForgotten: members that no question is about are forgotten, and
// those that one is about are not, however seldom others ask.
func TestPlacesForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		q.Measure = "places"
		wide := q
		v, _, err := l.lookup(t.Context(), wide)
		if err != nil {
			t.Fatal(err)
		}
		all := v.Value.(*geo.Set).Len()
		var narrow query
		for from := q.From; ; from += w.spec.Window {
			narrow = q
			narrow.From = from
			if v, _, err := l.lookup(t.Context(), narrow); err != nil {
				t.Fatal(err)
			} else if v.Value.(*geo.Set).Len() < all {
				break
			}
		}
		held := func() int { return keptPositions(l, w.spec.Job).last.Len() }
		for range 5 {
			for _, q := range []query{narrow, wide} {
				time.Sleep(2 * tidyEvery / 5)
				ask(t, "in turns", q, l, w.fresh(0))
				if held() < all {
					t.Fatalf("%d members are held while questions are about %d", held(), all)
				}
			}
		}
		for range 7 {
			time.Sleep(2 * tidyEvery / 5)
			ask(t, "some", narrow, l, w.fresh(0))
		}
		if held() >= all {
			t.Errorf("%d members are held, and no question is about some of them", held())
		}
		for start := range l.jobs[w.spec.Job].cache.series[positionsID(3, q.Until)].entries {
			if start < narrow.From {
				t.Errorf("window %d is cached", start)
			}
		}
		ask(t, "all again", wide, l, w.fresh(0))
	})
}

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
