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
					reasons["time: "+vals[0].Type.String()]++
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
