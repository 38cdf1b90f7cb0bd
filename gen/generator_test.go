package gen

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"weir/event"
)

const start event.Time = 1_763_600_000_123

func config(events int64) Config {
	c := Default()
	c.Start, c.Events = start, events
	return c
}

// faultyConfig has some of each fault.
func faultyConfig(events int64) Config {
	c := config(events)
	c.LateShare, c.FutureShare, c.DuplicateShare, c.MalformedShare = 0.02, 0.03, 0.05, 0.04
	return c
}

type maker func(Config) (*Generator, error)

var makers = []struct {
	name string
	make maker
}{{"clicks", Clicks}, {"locations", Locations}}

func generate(t testing.TB, m maker, cfg Config) *Generator {
	t.Helper()
	g, err := m(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func digest(t *testing.T, m maker, cfg Config) string {
	t.Helper()
	g, h := generate(t, m, cfg), sha256.New()
	var r Record
	for g.Next(&r) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(r.Time)))
		h.Write(r.Key)
		h.Write([]byte{0})
		h.Write(r.Value)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// The digests pin the streams: published results name a seed.
func TestDeterminism(t *testing.T) {
	want := map[string]string{
		"clicks 1":    "c9e79c0b6505959f",
		"clicks 2":    "a25a7b50c5252b6d",
		"locations 1": "6e00e42946505c3c",
		"locations 2": "aebe0aeb4f6c3123",
	}
	for _, m := range makers {
		for seed := uint64(1); seed <= 2; seed++ {
			cfg := faultyConfig(20_000)
			cfg.Seed = seed
			name := m.name + " " + strconv.FormatUint(seed, 10)
			got := digest(t, m.make, cfg)
			if again := digest(t, m.make, cfg); again != got {
				t.Errorf("%s: %s, and %s the second time", name, got, again)
			}
			if got != want[name] {
				t.Errorf("%s: digest %s, want %s", name, got, want[name])
			}
		}
	}
}

// says has the fields of an event as the standard library reads them.
type says struct {
	EventID  string       `json:"event_id"`
	TS       *json.Number `json:"ts"`
	UserID   json.Number  `json:"user_id"`
	Page     string       `json:"page"`
	Action   string       `json:"action"`
	Referrer string       `json:"referrer"`
	Country  string       `json:"country"`
	Device   string       `json:"device"`
	Lon      *json.Number `json:"lon"`
	Lat      *json.Number `json:"lat"`
}

// The fields of a Record equal those of its JSON.
func TestFieldsAreWritten(t *testing.T) {
	for _, m := range makers {
		g := generate(t, m.make, faultyConfig(20_000))
		var r Record
		for g.Next(&r) {
			if r.Malformed {
				continue
			}
			var s says
			dec := json.NewDecoder(bytes.NewReader(r.Value))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&s); err != nil {
				t.Fatalf("%s: %v", r.Value, err)
			}
			if s.TS.String() != strconv.FormatInt(int64(r.Stamp), 10) ||
				s.UserID.String() != strconv.Itoa(int(r.User)) || string(r.Key) != s.UserID.String() {
				t.Fatalf("%s: made at %d by %d, key %s", r.Value, r.Stamp, r.User, r.Key)
			}
			if m.name == "clicks" {
				if s.EventID != hex.EncodeToString(r.ID[:]) || s.Page != "/p/"+strconv.Itoa(int(r.Page)) ||
					s.Action == "" || s.Referrer == "" || len(s.Country) != 2 || s.Device == "" {
					t.Fatalf("%s: made as %x on page %d", r.Value, r.ID, r.Page)
				}
				continue
			}
			lon, _ := s.Lon.Float64()
			lat, _ := s.Lat.Float64()
			if lon != float64(r.Lon)/1e6 || lat != float64(r.Lat)/1e6 || math.Abs(lon) > 180 || math.Abs(lat) > 85 {
				t.Fatalf("%s: made at %d, %d", r.Value, r.Lon, r.Lat)
			}
		}
	}
}

// weir's scanner reads every event, and rejects every malformed one.
func TestScanner(t *testing.T) {
	for _, m := range makers {
		paths := []string{"ts", "user_id", "page", "event_id"}
		if m.name == "locations" {
			paths = []string{"ts", "user_id", "lon", "lat"}
		}
		s, err := event.NewScanner(paths)
		if err != nil {
			t.Fatal(err)
		}
		cfg := faultyConfig(50_000)
		cfg.MalformedShare = 0.5
		g := generate(t, m.make, cfg)
		vals := make([]event.Value, len(paths))
		reasons := map[string]int{}
		var r Record
		for g.Next(&r) {
			err := s.Scan(r.Value, vals)
			stamp, hasTime := vals[0].Time(event.Millis)
			onEarth := true
			if m.name == "locations" {
				lat, ok := vals[3].Float()
				onEarth = ok && math.Abs(lat) <= 85.05112878
			}
			if good := err == nil && hasTime && onEarth; good == r.Malformed {
				t.Fatalf("%q: malformed %v, but Scan = %v, time %v, on earth %v", r.Value, r.Malformed, err, hasTime, onEarth)
			}
			if r.Malformed {
				switch {
				case err != nil:
					reasons[err.Error()]++
				case !hasTime:
					reasons["time: "+vals[0].Kind.String()]++
				default:
					reasons["off the earth"]++
				}
				continue
			}
			if user, ok := vals[1].Uint32(); stamp != r.Stamp || !ok || user != r.User {
				t.Fatalf("%s: read %d by %d, made %d by %d", r.Value, stamp, user, r.Stamp, r.User)
			}
		}
		if len(reasons) < 10 {
			t.Errorf("%s: malformed in %d ways only: %v", m.name, len(reasons), reasons)
		}
	}
}

// within fails unless n of total is within four and a half standard deviations
// of a share (a binomial exceeds that once in 150,000).
func within(t *testing.T, what string, n, total int64, share float64) {
	t.Helper()
	mean := float64(total) * share
	bound := 4.5*math.Sqrt(mean*(1-share)) + 1
	if math.Abs(float64(n)-mean) > bound {
		t.Errorf("%s: %d of %d, want %.0f ± %.0f", what, n, total, mean, bound)
	}
}

func TestShares(t *testing.T) {
	const n = 100_000
	for _, m := range makers {
		cfg := faultyConfig(n)
		g := generate(t, m.make, cfg)
		truth := NewTruth(Rules{Window: 60_000, Lateness: 24 * hour, Skew: 600_000, Dedupe: true})
		var r Record
		var early, last int64
		for g.Next(&r) {
			truth.Add(&r)
			if !r.Malformed && r.Stamp < day {
				early++
			}
			if !r.Malformed && r.Stamp >= newYear2099 {
				last++
			}
		}
		f := truth.Outcomes
		within(t, m.name+" malformed", f.Malformed, n, cfg.MalformedShare)
		within(t, m.name+" late", f.Late, n, cfg.LateShare)
		within(t, m.name+" in 1970", early, n, cfg.LateShare/8)
		within(t, m.name+" future", f.Future, n, cfg.FutureShare)
		within(t, m.name+" in 2099", last, n, cfg.FutureShare/8)
		if m.name == "clicks" {
			within(t, m.name+" duplicate", f.Duplicate, n, cfg.DuplicateShare)
		}
		if sum := f.Valid + f.Malformed + f.Late + f.Future + f.Duplicate; sum != n {
			t.Errorf("%s: %d outcomes for %d records", m.name, sum, n)
		}
	}
}

func TestDuplicatesAreTheSameEvent(t *testing.T) {
	cfg := config(100_000)
	cfg.DuplicateShare = 0.1
	g := generate(t, Clicks, cfg)
	type first struct {
		at    int64
		value string
	}
	seen := map[[16]byte]first{}
	var r Record
	var repeats int64
	for i := int64(0); g.Next(&r); i++ {
		old, again := seen[r.ID]
		if !again {
			seen[r.ID] = first{i, string(r.Value)}
			continue
		}
		repeats++
		if old.value != string(r.Value) {
			t.Fatalf("sent %s, then %s", old.value, r.Value)
		}
		// The ring holds the last 1,024 ordinary events, nine tenths of all.
		if i-old.at > 1400 {
			t.Fatalf("an event sent again after %d records", i-old.at)
		}
	}
	within(t, "repeats", repeats, 100_000, 0.1)
}

func TestTimes(t *testing.T) {
	for _, rate := range []int64{1, 7, 1000, 30_000, 2_000_000} {
		cfg := config(10_000)
		cfg.Rate, cfg.Disorder = rate, 5000
		g := generate(t, Clicks, cfg)
		var r Record
		var behind, sum event.Time
		for i := int64(0); g.Next(&r); i++ {
			if want := start + event.Time(i*1000/rate); r.Time != want {
				t.Fatalf("rate %d: record %d at %d, want %d", rate, i, r.Time, want)
			}
			ago := r.Time - r.Stamp
			if ago < 0 || ago > 5000 {
				t.Fatalf("rate %d: happened %d ms before", rate, ago)
			}
			behind, sum = max(behind, ago), sum+ago
		}
		if mean := float64(sum) / 10_000; behind < 4950 || math.Abs(mean-2500) > 4.5*5000/math.Sqrt(12*10_000) {
			t.Errorf("rate %d: at most %d ms of disorder, %.0f on average", rate, behind, mean)
		}
	}
	cfg := config(1000)
	cfg.Disorder, cfg.Start = 5000, 0
	g := generate(t, Clicks, cfg)
	var r Record
	for g.Next(&r) {
		if r.Stamp < 0 {
			t.Fatalf("an event at %d, before 1970", r.Stamp)
		}
	}
	cfg.Disorder = 0
	for g = generate(t, Clicks, cfg); g.Next(&r); {
		if r.Stamp != r.Time {
			t.Fatalf("without disorder, an event at %d in a record at %d", r.Stamp, r.Time)
		}
	}
}

func TestZipf(t *testing.T) {
	const n = 100_000
	for _, skew := range []float64{0, 0.8, 1, 1.5} {
		cfg := config(n)
		cfg.Pages, cfg.Skew = 100, skew
		g := generate(t, Clicks, cfg)
		hits := make([]int64, cfg.Pages+1)
		var r Record
		for g.Next(&r) {
			hits[r.Page]++
		}
		total := 0.0
		for page := 1; page <= cfg.Pages; page++ {
			total += math.Pow(float64(page), -skew)
		}
		for page := 1; page <= cfg.Pages; page++ {
			within(t, "page "+strconv.Itoa(page)+" at skew "+strconv.FormatFloat(skew, 'g', -1, 64),
				hits[page], n, math.Pow(float64(page), -skew)/total)
		}
	}
}

// Log-normal with σ 1.5: the busiest hundredth makes Φ(1.5 - 2.326) of the
// traffic, 20.4 %, the busiest tenth 58.6 %; every person occurs.
func TestActivity(t *testing.T) {
	const n = 300_000
	a, s := newActivity(), source(1)
	var top1, top10, bottom int64
	for range n {
		switch rank := a.choose(s.next(), 1000); {
		case rank >= 1000:
			t.Fatalf("rank %d of 1000", rank)
		case rank >= 990:
			top1++
			top10++
		case rank >= 900:
			top10++
		case rank < 100:
			bottom++
		}
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	within(t, "busiest hundredth", top1, n, phi(1.5-2.3263479))
	within(t, "busiest tenth", top10, n, phi(1.5-1.2815516))
	within(t, "laziest tenth", bottom, n, phi(-1.2815516-1.5))
	if a[1024] != 1<<32 || a[0] != 0 {
		t.Errorf("ranks from %d to %d of 2^32", a[0], a[1024])
	}
}

func TestUsers(t *testing.T) {
	for _, users := range []int64{1, 2, 10, 997, 1 << 20, math.MaxUint32} {
		x, n := coprime(uint64(users)), uint64(users)
		seen := map[uint64]bool{}
		for rank := range min(n, 10_000) {
			seen[rank*x%n] = true
		}
		if len(seen) != int(min(n, 10_000)) {
			t.Errorf("%d users: %d ids for %d ranks", users, len(seen), min(n, 10_000))
		}
		cfg := config(20_000)
		cfg.Users = users
		g := generate(t, Clicks, cfg)
		ids := map[uint32]bool{}
		var r Record
		for g.Next(&r) {
			if r.User == 0 || int64(r.User) > users {
				t.Fatalf("user %d of %d", r.User, users)
			}
			ids[r.User] = true
		}
		if users <= 10 && len(ids) != int(users) {
			t.Errorf("%d of %d users seen", len(ids), users)
		}
	}
}

// People stay near a city, except during the hour of a journey, and move.
func TestPeopleMove(t *testing.T) {
	g := generate(t, Locations, config(0))
	atHome, moved, trips := 0, 0, 0
	for user := uint32(1); user <= 200; user++ {
		lon0, lat0 := g.place(user, start)
		if lon, lat := g.place(user, start); lon != lon0 || lat != lat0 {
			t.Fatal("two places at once")
		}
		for minute := range event.Time(48 * 60) {
			lon1, lat1 := g.place(user, start+minute*60_000)
			lon2, lat2 := g.place(user, start+minute*60_000+1000)
			if lon1 != lon2 || lat1 != lat2 {
				moved++
			}
			if nearCity(lon1, lat1) {
				atHome++
			} else {
				trips++
			}
		}
	}
	if total := 200 * 48 * 60; moved < total*9/10 {
		t.Errorf("people moved in %d of %d seconds", moved, total)
	} else if trips == 0 || trips > total/100 {
		t.Errorf("people were between cities in %d of %d minutes", trips, total)
	}
	if atHome == 0 {
		t.Error("no person in a city")
	}
}

func nearCity(lon, lat int32) bool {
	for _, c := range cities {
		if max(lon-c.lon, c.lon-lon, lat-c.lat, c.lat-lat) <= 50_000 {
			return true
		}
	}
	return false
}

func TestCities(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cities {
		if names[c.name] || c.weight == 0 || c.lon < -179_000_000 || c.lon > 179_000_000 || c.lat < -80_000_000 || c.lat > 80_000_000 {
			t.Errorf("city %+v", c)
		}
		names[c.name] = true
	}
	// A mistyped coordinate shows as a city in the wrong country.
	for _, c := range cities {
		switch c.name {
		case "London":
			if c.lon != -127_758 || c.lat != 51_507_351 {
				t.Errorf("London at %d, %d", c.lon, c.lat)
			}
		case "Palermo":
			if c.lon != 13_361_389 || c.lat != 38_115_556 {
				t.Errorf("Palermo at %d, %d", c.lon, c.lat)
			}
		}
	}
}

func TestDegrees(t *testing.T) {
	for d, want := range map[int32]string{
		0: "0.000000", 1: "0.000001", -1: "-0.000001", 13_361_389: "13.361389", -157_858_337: "-157.858337",
		-127_758: "-0.127758", 180_000_000: "180.000000", 1_000_000: "1.000000",
	} {
		if got := string(appendDegrees(nil, d)); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	g := generate(t, Clicks, config(50_000))
	var r Record
	sum := 0
	for g.Next(&r) {
		sum += len(r.Value)
	}
	if mean := float64(sum) / 50_000; math.Abs(mean-190) > 10 {
		t.Errorf("a click has %.1f bytes on average, want about 190", mean)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Users = 0 }, "Users is 0"},
		{func(c *Config) { c.Users = 1 << 32 }, "Users is 4294967296, want 1 to 4294967295"},
		{func(c *Config) { c.Pages = 0 }, "Pages is 0"},
		{func(c *Config) { c.Rate = 0 }, "Rate is 0"},
		{func(c *Config) { c.Rate = -1 }, "Rate is -1"},
		{func(c *Config) { c.Events = -1 }, "Events is -1"},
		{func(c *Config) { c.Start = -1 }, "Start is -1"},
		{func(c *Config) { c.Disorder = -1 }, "Disorder is -1"},
		{func(c *Config) { c.LateBy = -1 }, "LateBy is -1"},
		{func(c *Config) { c.FutureBy = -1 }, "FutureBy is -1"},
		{func(c *Config) { c.Skew = -0.1 }, "Skew is -0.1"},
		{func(c *Config) { c.Skew = math.NaN() }, "Skew is NaN"},
		{func(c *Config) { c.LateShare = 1.1 }, "LateShare is 1.1"},
		{func(c *Config) { c.MalformedShare = math.NaN() }, "MalformedShare is NaN"},
		{func(c *Config) { c.FutureShare, c.DuplicateShare = 0.6, 0.6 }, "add up to 1.2"},
	} {
		cfg := Default()
		c.change(&cfg)
		for _, m := range makers {
			if _, err := m.make(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", m.name, err, c.want)
			}
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, m := range makers {
		cfg := faultyConfig(0)
		cfg.MalformedShare = 0
		g := generate(t, m.make, cfg)
		var r Record
		for range 2000 {
			g.Next(&r)
		}
		if n := testing.AllocsPerRun(1000, func() { g.Next(&r) }); n != 0 {
			t.Errorf("%s: %v allocations per event", m.name, n)
		}
	}
}

func BenchmarkClicks(b *testing.B)    { benchmark(b, Clicks) }
func BenchmarkLocations(b *testing.B) { benchmark(b, Locations) }

func benchmark(b *testing.B, m maker) {
	cfg := faultyConfig(0)
	cfg.Users = 2_000_000
	g := generate(b, m, cfg)
	var r Record
	b.ReportAllocs()
	for b.Loop() {
		g.Next(&r)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkTruth(b *testing.B) {
	g := generate(b, Clicks, faultyConfig(0))
	truth := NewTruth(Rules{Window: 60_000, Lateness: 24 * hour, Skew: 600_000})
	var r Record
	for b.Loop() {
		g.Next(&r)
		truth.Add(&r)
	}
}
