package clickhouse

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/redistest"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

// functionsOn creates the SQL functions on the engine.
func functionsOn(t testing.TB, c *Client) {
	t.Helper()
	for _, f := range schema.Functions() {
		if err := c.Exec(t.Context(), f.Name, schema.CreateFunction(c.DB, f), wire.QueryTimeout); err != nil {
			t.Fatal(err)
		}
	}
}

// sketches returns HLLs with states of every form (empty, short and long lists, registers),
// with common ranks and with ranks that only an attacker can make.
func sketches() map[string]*hll.Sketch {
	all := map[string]*hll.Sketch{}
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 2, 15, 16, 17, 63, 64, 65, 99, 100, 101, 127, 128, 129, 300, 511, 512, 513, 1000, 5000, 20_000, 41_000, 300_000} {
		s := new(hll.Sketch)
		for range n {
			s.AddHash(r.Uint64())
		}
		all[fmt.Sprint(n, " hashes")] = s
	}
	// One register each, by rank: a hash with the bit that makes the rank.
	for _, rank := range []int{1, 2, 44, 45, 49, 50, 51} {
		for _, n := range []int{1, 20, 64, 65, 16384} {
			s := new(hll.Sketch)
			for i := range uint64(n) {
				h := i
				if rank < 51 {
					h |= 1 << (13 + rank)
				}
				s.AddHash(h)
			}
			all[fmt.Sprintf("%d registers of rank %d", n, rank)] = s
		}
	}
	// Every rank at once: the sum needs more than 53 bits.
	s := new(hll.Sketch)
	for i := range uint64(16384) {
		rank := 1 + i%51
		if rank < 51 {
			s.AddHash(i | 1<<(13+rank))
		} else {
			s.AddHash(i)
		}
	}
	all["every rank"] = s
	// Fill one register after another.
	for _, n := range []int{16383, 16000, 8192} {
		s := new(hll.Sketch)
		for i := range uint64(n) {
			s.AddHash(i | 1<<14)
		}
		all[fmt.Sprint(n, " of rank 1")] = s
	}
	return all
}

func state(s *hll.Sketch) string {
	return "CAST(unhex('" + hex.EncodeToString(s.AppendClickHouse(nil)) + "') AS AggregateFunction(uniqCombined64(14), UInt64))"
}

// TestPfCount: weirPfCount equals hll.Count, which equals PFCOUNT, for all forms of a
// state and for merged states.
func TestPfCount(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	var states []string
	want := map[string]string{}
	for name, s := range sketches() {
		states = append(states, "SELECT "+wire.Text(name)+" AS name, "+state(s)+" AS s")
		want[name] = fmt.Sprint(s.Count())
	}
	counts(t, c, states, want)
	// Lists that overlap keep several keys of one register when merged.
	states, want = nil, map[string]string{}
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{8, 30, 60, 150, 260, 4000} {
		var union hll.Sketch
		var parts []string
		for range 5 {
			s := new(hll.Sketch)
			for range n {
				s.AddHash(r.Uint64() & 0xffff_ffff_ffff_c07f) // 128 registers
			}
			union.Merge(s)
			parts = append(parts, "SELECT "+state(s)+" AS s")
		}
		name := fmt.Sprintf("five of %d merged", n)
		states = append(states, "SELECT "+wire.Text(name)+" AS name, uniqCombined64MergeState(14)(s) AS s FROM ("+strings.Join(parts, " UNION ALL ")+")")
		want[name] = fmt.Sprint(union.Count())
	}
	counts(t, c, states, want)
}

// counts compares the numbers of states, each a SELECT of its name and the state. All are
// in one statement, because the engine analyses weirPfCount for milliseconds.
func counts(t *testing.T, c *Client, states []string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	sql := "SELECT name, toString(weirPfCount(s)) FROM (" + strings.Join(states, " UNION ALL ") + ")"
	ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_query_size": 8 << 20}))
	err := c.Query(ctx, "count", sql, func(scan func(...any) error) error {
		var name, n string
		err := scan(&name, &n)
		got[name] = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: weirPfCount is %s, want %s", name, got[name], n)
		}
	}
}

// TestPfCountIsRedis: weirPfCount equals PFCOUNT of the same registers in a real Redis.
func TestPfCountIsRedis(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	redis := redistest.Start(t)
	var states []string
	want := map[string]string{}
	for _, n := range []int{3, 40, 400, 3000, 50_000} {
		s := new(hll.Sketch)
		args := []any{"PFADD", fmt.Sprint("k", n)}
		for i := range n {
			id := fmt.Sprintf("user-%d", i*i)
			s.Add([]byte(id))
			args = append(args, id)
		}
		redis.Do(t, args...)
		name := fmt.Sprint(n, " ids")
		states = append(states, "SELECT "+wire.Text(name)+" AS name, "+state(s)+" AS s")
		want[name] = fmt.Sprint(redis.Do(t, "PFCOUNT", fmt.Sprint("k", n)))
	}
	counts(t, c, states, want)
}

func TestBloomHas(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	const capacity, share = 1000, 0.01
	p := bloom.NewPool(capacity, share)
	p.Grow(1)
	for i := range capacity {
		p.Add(0, bloom.Hash(fmt.Appendf(nil, "id%d", i)))
	}
	p.Add(0, bloom.Hash([]byte("81234")))
	bits := p.Bits()
	s := "CAST(unhex('" + hex.EncodeToString(p.AppendClickHouse(nil, 0)) + "') AS AggregateFunction(groupBitmap, UInt32))"
	var want uint64
	for i := range 20_000 {
		if p.Has(0, bloom.Hash(fmt.Appendf(nil, "id%d", i))) {
			want++
		}
	}
	got := one(t, c, fmt.Sprintf("SELECT sum(weirBloomHas(s, concat('id', toString(number)), %d)), any(weirBloomHas(s, 81234, %d)) FROM (SELECT %s AS s, number FROM numbers(20000))", bits, bits, s))
	if got != fmt.Sprintf("(%d,1)", want) || want < capacity {
		t.Errorf("weirBloomHas says yes %s times, Has %d times", got, want)
	}
}

func TestGeoFunctions(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	r := rand.New(rand.NewPCG(3, 3))
	scores := []uint64{0, 1<<52 - 1, 3479099956230698, 3479447370796909}
	for range 500 {
		s, ok := geo.Encode(r.Float64()*360-180, r.Float64()*170-85)
		if !ok {
			t.Fatal("encode")
		}
		scores = append(scores, s)
	}
	for _, at := range [][2]float64{{-180, -85.05112878}, {180, 85.05112878}, {179.9999999, 0}} {
		s, _ := geo.Encode(at[0], at[1])
		scores = append(scores, s)
	}
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(scores)), ","), "[]")
	other := scores[2]
	i := 0
	sql := fmt.Sprintf("SELECT s, reinterpretAsUInt64(weirLon(s)), reinterpretAsUInt64(weirLat(s)), weirGeohash(s, 11), weirGeohash(s, 5), weirGeoDist(s, %d) FROM (SELECT arrayJoin(arrayMap(x -> toUInt64(x), [%s])) AS s)", other, list)
	err := c.Query(t.Context(), "geo", sql, func(scan func(...any) error) error {
		var s, lon, lat uint64
		var hash, short string
		var dist float64
		if err := scan(&s, &lon, &lat, &hash, &short, &dist); err != nil {
			return err
		}
		i++
		x, y := geo.Decode(s)
		if math.Float64bits(x) != lon || math.Float64bits(y) != lat {
			t.Errorf("%d is at %v %v, want %v %v", s, math.Float64frombits(lon), math.Float64frombits(lat), x, y)
		}
		if want := string(geo.AppendHashOf(nil, s)); hash != want || short != want[:5] {
			t.Errorf("geohash of %d is %s and %s, want %s", s, hash, short, want)
		}
		toLon, toLat := geo.Decode(other)
		if want := geo.Distance(x, y, toLon, toLat); math.Abs(dist-want) > 1e-6+1e-9*want {
			t.Errorf("distance of %d is %v, want %v", s, dist, want)
		}
		return nil
	})
	if err != nil || i != len(scores) {
		t.Errorf("%d of %d scores, %v", i, len(scores), err)
	}
}
