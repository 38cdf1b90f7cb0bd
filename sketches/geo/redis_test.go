package geo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"weir/internal/redistest"
)

// The tests of this file run the same commands against a real redis-server
// and compare replies: members, order, and every digit.

// text prints a float64 so that Redis reads back the same one.
func text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// randomPlace draws positions of all kinds: anywhere, in a few towns, along
// the antimeridian, near the poles, on the very edges.
func randomPlace(r *rand.Rand) (lon, lat float64) {
	near := func(v, by, low, high float64) float64 {
		return min(max(v+r.NormFloat64()*by, low), high)
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		return r.Float64()*360 - 180, (r.Float64()*2 - 1) * LatMax
	case 3, 4, 5:
		// From 60° on, a search scans all nine cells.
		town := r.IntN(5)
		return near(float64(town)*13, 0.1, -180, 180), near([]float64{-20, 5, 48, 62, 65}[town], 0.1, LatMin, LatMax)
	case 6:
		lon = near(180, 0.5, -400, 400)
		if lon > 180.5 {
			lon -= 360
		}
		lon = min(lon, 180) // often exactly
		return lon, near(float64(r.IntN(3))*30-30, 1, LatMin, LatMax)
	case 7:
		return r.Float64()*360 - 180, math.Copysign(80+r.Float64()*5.05, r.Float64()-0.5)
	case 8:
		// Positions on a grid of whole degrees have equal distances.
		return float64(r.IntN(21) - 10), float64(r.IntN(21) - 10)
	default:
		return []float64{-180, -90, 0, 90, 180}[r.IntN(5)], []float64{LatMin, -45, 0, 45, LatMax}[r.IntN(5)]
	}
}

// fill makes a set of n members and the same in Redis.
func fill(t *testing.T, srv *redistest.Server, r *rand.Rand, key string, n int) *Set {
	s := new(Set)
	args := []any{"GEOADD", key}
	srv.Do(t, "DEL", key)
	for i := range n {
		lon, lat := randomPlace(r)
		member := fmt.Sprintf("m%d", r.IntN(2*n))
		if i%17 == 0 {
			member = fmt.Sprintf("\xff\x00%d", i)
		}
		s.Add([]byte(member), lon, lat)
		args = append(args, text(lon), text(lat), member)
	}
	if reply := srv.Do(t, args...); n > 0 && reply != int64(s.Len()) {
		t.Fatalf("GEOADD of %d positions = %v, want %d new members", n, reply, s.Len())
	}
	return s
}

// TestRedisPositions compares scores, positions, hashes and distances.
func TestRedisPositions(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(9, 9))
	for range 10 {
		s := fill(t, srv, r, "k", 1000)
		list := []any{}
		for member, score := range s.Slice(0, s.Len()) {
			list = append(list, member, string(AppendScore(nil, score)))
		}
		if got := srv.Do(t, "ZRANGE", "k", 0, -1, "WITHSCORES"); !reflect.DeepEqual(got, list) {
			t.Fatalf("ZRANGE WITHSCORES = %v\nwant %v", got, list)
		}
		members := []any{}
		positions, hashes := []any{}, []any{}
		for member, score := range s.Slice(0, s.Len()) {
			members = append(members, member)
			lon, lat, _ := s.Position([]byte(member))
			positions = append(positions, []any{string(AppendCoordinate(nil, lon)), string(AppendCoordinate(nil, lat))})
			hashes = append(hashes, string(AppendHashOf(nil, uint64(score))))
		}
		if got := srv.Do(t, append([]any{"GEOPOS", "k"}, members...)...); !reflect.DeepEqual(got, positions) {
			t.Fatalf("GEOPOS %q = %v\nwant %v", members, got, positions)
		}
		if got := srv.Do(t, append([]any{"GEOHASH", "k"}, members...)...); !reflect.DeepEqual(got, hashes) {
			t.Fatalf("GEOHASH %q = %v\nwant %v", members, got, hashes)
		}
	}
}

// TestRedisDistances compares 60,000 distances to the last digit. Sine,
// cosine and arc sine here are correctly rounded, those of the C library
// nearly so: one string in a million may differ in its last digit.
func TestRedisDistances(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(10, 10))
	s := fill(t, srv, r, "k", 2000)
	members := collect(s.Slice(0, s.Len()))
	units := []struct {
		name string
		unit Unit
	}{{"m", Metre}, {"km", Kilometre}, {"ft", Foot}, {"mi", Mile}}
	const n = 60_000
	differ := 0
	var want []string
	conn := srv.Conn()
	for i := range n {
		a, b := members[r.IntN(len(members))], members[r.IntN(len(members))]
		u := units[r.IntN(4)]
		if err := conn.Send("GEODIST", "k", a.member, b.member, u.name); err != nil {
			t.Fatal(err)
		}
		lon, lat := Decode(uint64(a.score))
		toLon, toLat := Decode(uint64(b.score))
		d := Distance(lon, lat, toLon, toLat) / float64(u.unit)
		want = append(want, string(AppendDistance(nil, d)))
		if len(want) < 1000 && i < n-1 {
			continue
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			got, err := conn.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if got == w {
				continue
			}
			differ++
			text, _ := got.(string)
			g, err := strconv.ParseFloat(text, 64)
			if w, _ := strconv.ParseFloat(w, 64); err != nil || math.Abs(g-w) > 1.01e-4 {
				t.Fatalf("GEODIST = %v, want %v", got, w)
			}
		}
		want = want[:0]
	}
	t.Logf("%d of %d distances differ in the last digit", differ, n)
	if differ > 1 {
		t.Errorf("%d of %d distances differ in the last digit", differ, n)
	}
}

// search is a query and the command that asks Redis the same.
type search struct {
	q                             Query
	args                          []any
	withCoord, withDist, withHash bool
}

func randomSearch(r *rand.Rand, s *Set) search {
	units := []struct {
		name string
		unit Unit
	}{{"m", Metre}, {"km", Kilometre}, {"FT", Foot}, {"mi", Mile}}
	u := units[r.IntN(4)]
	size := func() float64 {
		if r.IntN(20) == 0 {
			return 0
		}
		// From a metre to more than around the Earth.
		m := math.Pow(10, r.Float64()*7.7)
		v, _ := strconv.ParseFloat(strconv.FormatFloat(m/float64(u.unit), 'g', 1+r.IntN(8), 64), 64)
		return v
	}
	var x search
	var member string
	x.q.Lon, x.q.Lat = randomPlace(r)
	if r.IntN(3) == 0 {
		for m := range s.Slice(r.IntN(s.Len()), s.Len()) {
			member = m
			break
		}
		x.q.Lon, x.q.Lat, _ = s.Position([]byte(member))
	}
	if kind := r.IntN(3); kind == 0 {
		radius := size()
		x.q.Shape = Circle(radius, u.unit)
		if member != "" {
			x.args = []any{"GEORADIUSBYMEMBER", "k", member, text(radius), u.name}
		} else {
			x.args = []any{"GEORADIUS", "k", text(x.q.Lon), text(x.q.Lat), text(radius), u.name}
		}
	} else {
		x.args = []any{"GEOSEARCH", "k", "FROMLONLAT", text(x.q.Lon), text(x.q.Lat)}
		if member != "" {
			x.args = []any{"GEOSEARCH", "k", "FROMMEMBER", member}
		}
		if kind == 1 {
			radius := size()
			x.q.Shape = Circle(radius, u.unit)
			x.args = append(x.args, "BYRADIUS", text(radius), u.name)
		} else {
			w, h := size(), size()
			x.q.Shape = Rectangle(w, h, u.unit)
			x.args = append(x.args, "BYBOX", text(w), text(h), u.name)
		}
	}
	x.q.Order = Order(r.IntN(3))
	if x.q.Order > Unsorted {
		x.args = append(x.args, []string{Asc: "ASC", Desc: "DESC"}[x.q.Order])
	}
	if r.IntN(2) == 0 {
		x.q.Count = 1 + r.IntN(1+r.IntN(1+s.Len()))
		x.args = append(x.args, "COUNT", x.q.Count)
		if r.IntN(3) == 0 {
			x.q.Any = true
			x.args = append(x.args, "ANY")
		}
	}
	return x
}

// reply returns what Redis answers to a search with these hits.
func (x search) reply(hits []Hit) any {
	list := []any{}
	for _, h := range hits {
		item := []any{h.Member}
		if x.withDist {
			item = append(item, string(AppendDistance(nil, h.Dist)))
		}
		if x.withHash {
			item = append(item, int64(h.Score))
		}
		if x.withCoord {
			lon, lat := h.Position()
			item = append(item, []any{string(AppendCoordinate(nil, lon)), string(AppendCoordinate(nil, lat))})
		}
		if len(item) == 1 {
			list = append(list, h.Member)
		} else {
			list = append(list, item)
		}
	}
	return list
}

// TestRedisSearches compares random searches over random sets, small (packed
// lists in Redis) and large (skip lists).
func TestRedisSearches(t *testing.T) {
	srv := redistest.Start(t)
	total, hits := 0, 0
	for trial, n := range []int{1, 2, 7, 60, 127, 300, 1000, 2000} {
		r := rand.New(rand.NewPCG(11, uint64(trial)))
		s := fill(t, srv, r, "k", n)
		for range 500 {
			x := randomSearch(r, s)
			x.withCoord, x.withDist, x.withHash = r.IntN(4) == 0, r.IntN(2) == 0, r.IntN(4) == 0
			args := x.args
			if x.withDist {
				args = append(args, "WITHDIST")
			}
			if x.withCoord {
				args = append(args, "WITHCOORD")
			}
			if x.withHash {
				args = append(args, "WITHHASH")
			}
			x.q.WithDist = x.withDist
			got := s.Search(nil, x.q)
			want := srv.Do(t, args...)
			if !reflect.DeepEqual(x.reply(got), want) {
				t.Fatalf("%d members: %q\n ours %v\nredis %v", s.Len(), args, x.reply(got), want)
			}
			total++
			hits += len(got)
		}
	}
	t.Logf("%d searches with %d hits", total, hits)
	if hits < 10*total {
		t.Errorf("only %d hits in %d searches: too few to say anything", hits, total)
	}
}

// TestRedisOrder compares unsorted searches that find members in all nine
// cells, which happens in high latitudes, where cells are narrower than shapes.
func TestRedisOrder(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(16, 1))
	nine := 0
	for range 100 {
		// The centre is the middle of a cell of the step that the radius leads to.
		step := 6 + r.IntN(12)
		box := cellAt(r.Float64()*360-180, 60+5*r.Float64(), step).box()
		lon, lat := middle(box)
		radius := mercatorMax / float64(int(2)<<step) * (1.3 + 0.6*r.Float64())
		s := new(Set)
		args := []any{"GEOADD", "k"}
		srv.Do(t, "DEL", "k")
		for i := range 300 {
			atLon, atLat := around(lon, lat, radius*1.1*math.Sqrt(r.Float64()), 2*math.Pi*r.Float64())
			s.Add(fmt.Append(nil, i), atLon, atLat)
			args = append(args, text(atLon), text(atLat), i)
		}
		srv.Do(t, args...)
		q := Query{Lon: lon, Lat: lat, Shape: Circle(radius, Metre)}
		hits := s.Search(nil, q)
		want := srv.Do(t, "GEORADIUS", "k", text(lon), text(lat), text(radius), "m")
		if got := (search{}).reply(hits); !reflect.DeepEqual(got, want) {
			t.Fatalf("around (%v, %v), %v m:\n ours %v\nredis %v", lon, lat, radius, got, want)
		}
		found := 0
		cells := q.Shape.cover(lon, lat, nil)
		for _, c := range cells {
			low, high := c.scores()
			if slices.ContainsFunc(hits, func(h Hit) bool { return h.Score >= low && h.Score < high }) {
				found++
			}
		}
		if found == 9 {
			nine++
		}
	}
	if nine < 50 {
		t.Errorf("only %d searches found members in all nine cells", nine)
	}
}

// TestRedisTies searches among members at few different places, so that most
// distances are equal, with COUNT: the partial quicksort decides which members
// come, and in what order. The sizes reach each special case of it.
func TestRedisTies(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(14, 1))
	for n := 1; n < 130; n++ {
		s := new(Set)
		args := []any{"GEOADD", "k"}
		srv.Do(t, "DEL", "k")
		places := 1 + r.IntN(n)
		for i := range n {
			lon, lat := float64(r.IntN(places))/100, float64(r.IntN(3))/100
			s.Add(fmt.Append(nil, i), lon, lat)
			args = append(args, text(lon), text(lat), i)
		}
		srv.Do(t, args...)
		for range 12 {
			q := Query{Lon: 0.02, Lat: 0.01, Shape: Circle(1000, Kilometre), Order: Asc + Order(r.IntN(2)), Count: 1 + r.IntN(n)}
			order := []string{Asc: "ASC", Desc: "DESC"}[q.Order]
			want := srv.Do(t, "GEOSEARCH", "k", "FROMLONLAT", "0.02", "0.01", "BYRADIUS", 1000, "km", order, "COUNT", q.Count)
			if got := (search{}).reply(s.Search(nil, q)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%d members at %d places, %s COUNT %d:\n ours %v\nredis %v", n, 3*places, order, q.Count, got, want)
			}
		}
	}
}

// TestRedisForeignScores searches sets whose scores ZADD set, which takes any
// number. Such a member lies at the position that its bits mean, clamped to the
// limits.
func TestRedisForeignScores(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(15, 1))
	for range 20 {
		s := new(Set)
		args := []any{"ZADD", "k"}
		srv.Do(t, "DEL", "k")
		for i := range 200 {
			v := float64(r.Uint64() >> (9 + r.IntN(4)))
			if r.IntN(4) == 0 {
				// East of 180°, near the equator.
				v = float64(1<<53 + 3<<50 + r.Uint64N(1<<50))
			}
			if r.IntN(10) == 0 {
				v += 0.5
			}
			s.Put(fmt.Append(nil, i), v)
			args = append(args, text(v), i)
		}
		srv.Do(t, args...)
		for range 30 {
			lon, lat := []float64{-180, 179.9999, 180, 180}[r.IntN(4)], (r.Float64()*2-1)*LatMax
			if r.IntN(4) == 0 {
				lat = LatMax
			}
			km := math.Round(math.Pow(10, r.Float64()*4.2))
			hits := s.Search(nil, Query{Lon: lon, Lat: lat, Shape: Circle(km, Kilometre), WithDist: true})
			want := srv.Do(t, "GEORADIUS", "k", text(lon), text(lat), km, "km", "WITHDIST")
			if got := (search{withDist: true}).reply(hits); !reflect.DeepEqual(got, want) {
				t.Fatalf("around (%v, %v), %v km:\n ours %v\nredis %v", lon, lat, km, got, want)
			}
		}
	}
}

// TestRedisStore compares what STORE and STOREDIST leave behind. The cells
// must be equal; of the distances, a few in a thousand differ in the last
// bit, where the C library does not round correctly.
func TestRedisStore(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(12, 12))
	s := fill(t, srv, r, "k", 500)
	stored, differ := 0, 0
	for range 300 {
		x := randomSearch(r, s)
		dist := r.IntN(2) == 0
		x.q.WithDist = dist
		args := x.args
		if args[0] == "GEOSEARCH" {
			args = append([]any{"GEOSEARCHSTORE", "dst"}, args[1:]...)
			if dist {
				args = append(args, "STOREDIST")
			}
		} else if dist {
			args = append(args, "STOREDIST", "dst")
		} else {
			args = append(args, "STORE", "dst")
		}
		got := s.Search(nil, x.q)
		if n := srv.Do(t, args...); n != int64(len(got)) {
			t.Fatalf("%q = %v, want %d", args, n, len(got))
		}
		set := Stored(got)
		if dist {
			set = StoredDist(got)
		}
		list, _ := srv.Do(t, "ZRANGE", "dst", 0, -1, "WITHSCORES").([]any)
		if len(list) != 2*set.Len() {
			t.Fatalf("%q stored %d members, want %d", args, len(list)/2, set.Len())
		}
		for i := 0; i < len(list); i += 2 {
			member := []byte(list[i].(string))
			score, err := strconv.ParseFloat(list[i+1].(string), 64)
			ours, ok := set.Score(member)
			if err != nil || !ok {
				t.Fatalf("%q stored %q = %v, want %v, %v", args, member, list[i+1], ours, ok)
			}
			stored++
			if score == ours {
				continue
			}
			if !dist || math.Abs(score-ours) > 1e-15*score {
				t.Fatalf("%q stored %q = %v, want %v", args, member, score, ours)
			}
			differ++
		}
	}
	t.Logf("%d of %d stored scores differ in the last bit", differ, stored)
	if differ > stored/100 {
		t.Errorf("%d of %d stored scores differ in the last bit", differ, stored)
	}
}

// TestRedisScores compares how scores are printed, and the order of a plain
// sorted set.
func TestRedisScores(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(13, 13))
	var s Set
	for range 3000 {
		v := math.Float64frombits(r.Uint64())
		switch r.IntN(5) {
		case 0:
			v = float64(r.IntN(2000) - 1000)
		case 1:
			v = math.Round(r.NormFloat64()*1e6) / 1000
		case 2:
			v = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e17, 1e16, 123456789012345678, 1e-4, 1e-5, 0.1}[r.IntN(10)]
		}
		if math.IsNaN(v) {
			continue
		}
		member := fmt.Sprint("m", r.IntN(2000))
		added, _ := s.Put([]byte(member), v)
		if got := srv.Do(t, "ZADD", "z", text(v), member) == int64(1); got != added {
			t.Fatalf("ZADD %s %s = %v, want %v", text(v), member, got, added)
		}
		if r.IntN(10) == 0 {
			member = fmt.Sprint("m", r.IntN(2000))
			if got, want := srv.Do(t, "ZREM", "z", member) == int64(1), s.Remove([]byte(member)); got != want {
				t.Fatalf("ZREM %s = %v, want %v", member, got, want)
			}
		}
	}
	want := []any{}
	for member, score := range s.Slice(0, s.Len()) {
		want = append(want, member, string(AppendScore(nil, score)))
	}
	if got := srv.Do(t, "ZRANGE", "z", 0, -1, "WITHSCORES"); !reflect.DeepEqual(got, want) {
		t.Fatalf("ZRANGE = %v\nwant %v", got, want)
	}
	bound := func(v float64, open bool) string {
		if open {
			return "(" + text(v)
		}
		return text(v)
	}
	scores := collect(s.Slice(0, s.Len()))
	for range 300 {
		in := Interval{
			Min: scores[r.IntN(len(scores))].score, Max: scores[r.IntN(len(scores))].score,
			OpenMin: r.IntN(2) == 0, OpenMax: r.IntN(2) == 0,
		}
		low, high := bound(in.Min, in.OpenMin), bound(in.Max, in.OpenMax)
		from, to := s.Ranks(in)
		if got := srv.Do(t, "ZCOUNT", "z", low, high); got != int64(to-from) {
			t.Fatalf("ZCOUNT %s %s = %v, want %d", low, high, got, to-from)
		}
		var want []string
		for _, e := range slices.Collect(func(yield func(entry) bool) {
			for member, score := range s.Slice(from, to) {
				if !yield(entry{score, member}) {
					return
				}
			}
		}) {
			want = append(want, e.member)
		}
		var got []string
		for _, m := range srv.Do(t, "ZRANGEBYSCORE", "z", low, high).([]any) {
			got = append(got, m.(string))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("ZRANGEBYSCORE %s %s = %v, want %v", low, high, got, want)
		}
	}
	from, to := s.Ranks(Interval{Min: -500, Max: 0.5})
	if got, want := srv.Do(t, "ZREMRANGEBYSCORE", "z", -500, 0.5), s.RemoveRanks(from, to); got != int64(want) || want == 0 {
		t.Errorf("ZREMRANGEBYSCORE = %v, want %d", got, want)
	}
	if got := srv.Do(t, "ZCARD", "z"); got != int64(s.Len()) {
		t.Errorf("ZCARD = %v, want %d", got, s.Len())
	}
}
