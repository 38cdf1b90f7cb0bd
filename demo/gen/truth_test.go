package gen

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/event"
)

var rules = Rules{Window: 60_000, Lateness: 24 * hour, Skew: 600_000, Precision: 5}

// A stream made by hand, with an answer computed by hand.
func TestTruthByHand(t *testing.T) {
	const m = 60_000
	id := func(n byte) [16]byte { return [16]byte{n} }
	r := rules
	r.Dedupe = true
	truth := NewTruth(r)
	for _, rec := range []Record{
		{Time: 100 * m, Stamp: 100*m - 1, User: 1, Page: 1, ID: id(1)},
		{Time: 100 * m, Stamp: 100 * m, User: 1, Page: 1, ID: id(2)},
		{Time: 100 * m, Stamp: 100*m + 1, User: 2, Page: 1, ID: id(3)},
		{Time: 100 * m, Stamp: 100*m + 2, User: 2, Page: 1, ID: id(4)},
		{Time: 100 * m, Stamp: 100*m + 2, User: 2, Page: 1, ID: id(4)},  // again
		{Time: 100 * m, Stamp: 100*m + 2, User: 3, Page: 1, ID: id(12)}, // in the same millisecond
		{Time: 100 * m, Stamp: 100 * m, User: 3, Page: 7, ID: id(5)},
		{Time: 100 * m, Malformed: true},
		{Time: 2000 * m, Stamp: 2000*m - 1440*m, User: 4, Page: 1, ID: id(6)},     // just in time
		{Time: 2000 * m, Stamp: 2000*m - 1440*m - 1, User: 4, Page: 1, ID: id(7)}, // too late
		{Time: 2000 * m, Stamp: 2000*m - 1440*m - 1, User: 4, Page: 1, ID: id(7)}, // too late again, no duplicate
		{Time: 2000 * m, Stamp: 2000*m + 10*m, User: 5, Page: 1, ID: id(8)},
		{Time: 2000 * m, Stamp: 2000*m + 10*m + 1, User: 5, Page: 1, ID: id(9)},
		{Time: maxStamp, Stamp: maxStamp + 1, User: 5, Page: 1, ID: id(10)},
		{Time: 5, Stamp: -1, User: 5, Page: 1, ID: id(11)},
	} {
		truth.Add(&rec)
	}
	if want := (Outcomes{Valid: 8, Malformed: 3, Late: 2, Future: 1, Duplicate: 1}); truth.Outcomes != want {
		t.Errorf("outcomes %+v, want %+v", truth.Outcomes, want)
	}
	want := map[Group]struct {
		hits, sum   int64
		users       map[uint32]int64
		first, last Moment
	}{
		{99 * m, "/p/1"}:   {1, 1, map[uint32]int64{1: 1}, Moment{100*m - 1, []uint32{1}}, Moment{100*m - 1, []uint32{1}}},
		{100 * m, "/p/1"}:  {4, 8, map[uint32]int64{1: 1, 2: 2, 3: 1}, Moment{100 * m, []uint32{1}}, Moment{100*m + 2, []uint32{2, 3}}},
		{100 * m, "/p/7"}:  {1, 3, map[uint32]int64{3: 1}, Moment{100 * m, []uint32{3}}, Moment{100 * m, []uint32{3}}},
		{560 * m, "/p/1"}:  {1, 4, map[uint32]int64{4: 1}, Moment{560 * m, []uint32{4}}, Moment{560 * m, []uint32{4}}},
		{2010 * m, "/p/1"}: {1, 5, map[uint32]int64{5: 1}, Moment{2010 * m, []uint32{5}}, Moment{2010 * m, []uint32{5}}},
	}
	if len(truth.Counts) != len(want) {
		t.Errorf("%d groups, want %d", len(truth.Counts), len(want))
	}
	for g, w := range want {
		c := truth.Counts[g]
		if want := (&Count{w.hits, w.sum, w.users, w.first, w.last}); !reflect.DeepEqual(c, want) {
			t.Errorf("%v: %+v, want %+v", g, c, want)
		}
	}
}

func TestPlacesByHand(t *testing.T) {
	truth := NewTruth(Rules{Window: 60_000, Lateness: 1000_000, Skew: 1000})
	at := func(stamp event.Time, user uint32, lon, lat int32) {
		truth.Add(&Record{Time: 120_000, Stamp: stamp, User: user, Lon: lon, Lat: lat})
	}
	at(60_500, 1, 13_361_389, 38_115_556)
	at(60_900, 1, 15_087_269, 37_502_669)
	at(60_700, 1, 2_349_014, 48_864_716) // came later, was earlier
	at(60_100, 2, -5_603_000, 42_605_000)
	at(120_000, 1, 0, 0)
	want := map[Member]Place{
		{60_000, 1}:  {60_900, 15.087269, 37.502669},
		{60_000, 2}:  {60_100, -5.603, 42.605},
		{120_000, 1}: {120_000, 0, 0},
	}
	if !maps.Equal(truth.Places, want) {
		t.Errorf("places %v, want %v", truth.Places, want)
	}
	groups := []Group{{60_000, "ezs42"}, {60_000, "sqc8b"}, {60_000, "sqdtr"}, {60_000, "u09tv"}, {120_000, "s0000"}}
	if !slices.Equal(truth.Groups(), groups) {
		t.Errorf("groups %v, want %v", truth.Groups(), groups)
	}
}

// The truth equals the answer of a consumer that has only the bytes and reads
// them with the standard library.
func TestTruthFromBytes(t *testing.T) {
	for _, m := range makers {
		cfg := faultyConfig(30_000)
		cfg.Rate, cfg.Users = 100, 500
		g := generate(t, m.make, cfg)
		rules := rules
		rules.Dedupe = m.name == "clicks"
		truth := NewTruth(rules)
		var outcomes Outcomes
		counted := map[Group][]says{}
		seen := map[string]bool{}
		places := map[Member]Place{}
		var r Record
		for g.Next(&r) {
			truth.Add(&r)
			s, ok := read(r.Value)
			if !ok {
				outcomes.Malformed++
				continue
			}
			n, _ := s.TS.Int64()
			ts := event.Time(n)
			switch {
			case ts < r.Time-rules.Lateness:
				outcomes.Late++
				continue
			case ts > r.Time+rules.Skew:
				outcomes.Future++
				continue
			case rules.Dedupe && seen[s.EventID]:
				outcomes.Duplicate++
				continue
			}
			seen[s.EventID] = true
			outcomes.Valid++
			group := Group{ts / rules.Window * rules.Window, s.Page}
			if m.name == "locations" {
				lon, _ := s.Lon.Float64()
				lat, _ := s.Lat.Float64()
				group.Name = geohash(lon, lat, 5)
				id, _ := s.UserID.Int64()
				who := Member{group.Window, uint32(id)}
				if p, ok := places[who]; !ok || ts > p.Stamp {
					places[who] = Place{ts, lon, lat}
				}
			}
			counted[group] = append(counted[group], s)
		}
		if truth.Outcomes != outcomes {
			t.Errorf("%s: outcomes %+v, from bytes %+v", m.name, truth.Outcomes, outcomes)
		}
		if len(truth.Counts) != len(counted) || len(counted) < 100 {
			t.Errorf("%s: %d groups, from bytes %d", m.name, len(truth.Counts), len(counted))
		}
		for group, c := range truth.Counts {
			if want := countOf(t, counted[group]); !reflect.DeepEqual(c, want) {
				t.Fatalf("%s %v: %+v, from bytes %+v", m.name, group, c, want)
			}
		}
		if !maps.Equal(truth.Places, places) {
			t.Errorf("%s: %d places, from bytes %d, or different ones", m.name, len(truth.Places), len(places))
		}
	}
}

// countOf counts events by sorting them.
func countOf(t *testing.T, events []says) *Count {
	t.Helper()
	stamp := func(s says) event.Time {
		n, err := s.TS.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return event.Time(n)
	}
	user := func(s says) uint32 {
		n, err := s.UserID.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
	slices.SortFunc(events, func(a, b says) int {
		return cmp.Or(cmp.Compare(stamp(a), stamp(b)), cmp.Compare(user(a), user(b)))
	})
	c := &Count{Users: map[uint32]int64{}}
	at := func(of says) Moment {
		m := Moment{Stamp: stamp(of)}
		for _, s := range events {
			if stamp(s) == m.Stamp && !slices.Contains(m.Users, user(s)) {
				m.Users = append(m.Users, user(s))
			}
		}
		return m
	}
	c.First, c.Last = at(events[0]), at(events[len(events)-1])
	for _, s := range events {
		c.Hits++
		c.Sum += int64(user(s))
		c.Users[user(s)]++
	}
	return c
}

// read reads an event strictly, on top of the standard library's lax parser.
func read(value []byte) (s says, ok bool) {
	if !utf8.Valid(value) || json.Unmarshal(value, &s) != nil || s.TS == nil {
		return s, false
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(value, &keys) != nil || keys["ts"] == nil || strings.Count(string(value), `"ts":`) != 1 || strings.HasPrefix(string(keys["ts"]), `"`) {
		return s, false
	}
	if s.Lat != nil {
		if lat, err := s.Lat.Float64(); err != nil || lat > 85.05112878 {
			return s, false
		}
	}
	return s, true
}

// TestTruthFile: the file is as truthfile.go describes it.
func TestTruthFile(t *testing.T) {
	truth := NewTruth(rules)
	const at = 1763600040456
	for _, r := range []Record{
		{Time: at, Stamp: at + 10_000, User: 81234, Page: 17},
		{Time: at, Stamp: at, User: 7, Page: 17},
		{Time: at, Stamp: at + 1, User: 7, Page: 17},
		{Time: at, Malformed: true},
		{Time: at, Stamp: at + 10_000, User: 81234, Lon: 13361389, Lat: 38115556},
	} {
		truth.Add(&r)
	}
	const want = `{"window":60000,"lateness":86400000,"skew":600000,"dedupe":false,"precision":5,"valid":4,"malformed":1,"late":0,"future":0,"duplicate":0,"groups":2,"places":1}
{"window":1763600040000,"group":"/p/17","hits":3,"sum":81248,"users":{"7":2,"81234":1},"first":{"ts":1763600040456,"users":[7]},"last":{"ts":1763600050456,"users":[81234]}}
{"window":1763600040000,"group":"sqc8b","hits":1,"sum":81234,"users":{"81234":1},"first":{"ts":1763600050456,"users":[81234]},"last":{"ts":1763600050456,"users":[81234]}}
{"window":1763600040000,"user":81234,"ts":1763600050456,"lon":13.361389,"lat":38.115556}
`
	var file strings.Builder
	if err := truth.Write(&file); err != nil || file.String() != want {
		t.Errorf("written %v:\n%s, want\n%s", err, &file, want)
	}
}

// Vectors of Redis's documentation, GEOHASH Sicily Palermo Catania, and of
// the geohash article.
func TestGeohash(t *testing.T) {
	for _, c := range []struct {
		lon, lat float64
		want     string
	}{
		{13.361389, 38.115556, "sqc8b49rny"},
		{15.087269, 37.502669, "sqdtr74hyu"},
		{-5.6, 42.6, "ezs42"},
		{0, 0, "s0000"},
		{-180, -90, "00000"},
		{179.999999, 89.999999, "zzzzz"},
	} {
		if got := geohash(c.lon, c.lat, len(c.want)); got != c.want {
			t.Errorf("%v, %v: %s, want %s", c.lon, c.lat, got, c.want)
		}
	}
}
