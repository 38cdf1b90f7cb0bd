package hll

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/redistest"
)

var update = flag.Bool("update", false, "write testdata/redis from the redis-server here")

// Files under testdata/redis hold what a real redis-server returned to GET:
// after the additions, with the count stale, and its PFCOUNT in the name.
type golden struct {
	name  string
	build func(g goldenKey)
}

// A goldenKey is the HyperLogLog being built, in Redis or here.
type goldenKey interface {
	add(elements ...[]byte)
	merge(elements ...[]byte) // merges another key with these elements
	dense()
}

func users(from, to int) (list [][]byte) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Appendf(nil, "user:%d", i))
	}
	return list
}

var goldens = []golden{
	{"abc", func(g goldenKey) { g.add([]byte("a"), []byte("b"), []byte("c")) }},
	{"empty", func(g goldenKey) { g.add() }},
	{"10", func(g goldenKey) { g.add(users(0, 10)...) }},
	{"100", func(g goldenKey) { g.add(users(0, 100)...) }},
	{"1000", func(g goldenKey) { g.add(users(0, 1000)...) }},
	{"1000-backwards", func(g goldenKey) {
		for i := 999; i >= 0; i-- {
			g.add(users(i, i+1)...)
		}
	}},
	{"merged", func(g goldenKey) { g.add(users(0, 300)...); g.merge(users(200, 700)...) }},
	{"merged-dense", func(g goldenKey) { g.add(users(0, 30)...); g.dense(); g.merge(users(20, 70)...) }},
	{"promoted", func(g goldenKey) { g.add(users(0, 2500)...) }},
	{"100000", func(g goldenKey) { g.add(users(0, 100000)...) }},
}

type goldenString struct {
	t *testing.T
	v *String
}

func (g goldenString) add(elements ...[]byte) {
	if _, err := g.v.Add(DefaultSparseMax, elements...); err != nil {
		g.t.Fatal(err)
	}
}

func (g goldenString) merge(elements ...[]byte) {
	var other String
	goldenString{g.t, &other}.add(elements...)
	if err := g.v.Merge(DefaultSparseMax, other); err != nil {
		g.t.Fatal(err)
	}
}

func (g goldenString) dense() {
	if _, err := g.v.ToDense(); err != nil {
		g.t.Fatal(err)
	}
}

type goldenRedis struct {
	t   *testing.T
	srv *redistest.Server
	key string
}

func (g goldenRedis) add(elements ...[]byte) {
	for first := true; first || len(elements) > 0; first = false {
		args := []any{"PFADD", g.key}
		k := min(1000, len(elements))
		for _, e := range elements[:k] {
			args = append(args, e)
		}
		elements = elements[k:]
		g.srv.Do(g.t, args...)
	}
}

func (g goldenRedis) merge(elements ...[]byte) {
	other := goldenRedis{g.t, g.srv, "other"}
	g.srv.Do(g.t, "DEL", "other")
	other.add(elements...)
	g.srv.Do(g.t, "PFMERGE", g.key, "other")
}

func (g goldenRedis) dense() { g.srv.Do(g.t, "PFDEBUG", "TODENSE", g.key) }

// The package against the committed files, without a server.
func TestGolden(t *testing.T) {
	for _, c := range goldens {
		v := new(String)
		c.build(goldenString{t, v})
		want, count := readGolden(t, c.name)
		if !bytes.Equal(*v, want) {
			t.Errorf("%s: %d bytes, redis has %d; first difference at %d", c.name, len(*v), len(want), firstDifference(*v, want))
		}
		if n, err := CountStrings(want); err != nil || n != count {
			t.Errorf("%s: count %d, %v, redis counts %d", c.name, n, err, count)
		}
		var s Sketch
		if err := s.MergeRedis(want); err != nil || s.Count() != count {
			t.Errorf("%s: read into a Sketch counts %d, %v, redis %d", c.name, s.Count(), err, count)
		}
	}
	abc, _ := readGolden(t, "abc")
	const want = "48594c4c010000000000000000000080" + "60f38050b1844bfb80425a"
	if got := hex.EncodeToString(abc); got != want {
		t.Errorf("testdata: a, b, c = %s, want %s", got, want)
	}
}

// The committed files against the server here: go test -run GoldenFromRedis -update
// writes them.
func TestGoldenFromRedis(t *testing.T) {
	srv := redistest.Start(t)
	for _, c := range goldens {
		srv.Do(t, "DEL", "k")
		c.build(goldenRedis{t, srv, "k"})
		bytesNow := srv.Do(t, "GET", "k").(string)
		countNow := uint64(srv.Do(t, "PFCOUNT", "k").(int64))
		if *update {
			for _, old := range goldenFiles(t, c.name) {
				os.Remove(old)
			}
			if err := os.WriteFile(fmt.Sprintf("testdata/redis/%s.%d.hll", c.name, countNow), []byte(bytesNow), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if b, n := readGolden(t, c.name); string(b) != bytesNow || n != countNow {
			t.Errorf("%s: the server has other bytes than testdata, or counts %d and not %d", c.name, countNow, n)
		}
	}
}

func goldenFiles(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/redis/" + name + ".*.hll")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readGolden(t *testing.T, name string) (v String, count uint64) {
	t.Helper()
	files := goldenFiles(t, name)
	if len(files) != 1 {
		t.Fatalf("testdata/redis: %d files for %s, want one", len(files), name)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(filepath.Base(files[0]), name+".%d.hll", &count); err != nil {
		t.Fatalf("%s: %v", files[0], err)
	}
	return b, count
}

// States that a real ClickHouse 26.7 made, of the numbers below n:
//
//	SELECT CAST(uniqCombined64State(14)(number) AS String) FROM numbers(n) FORMAT RawBLOB
//
// Up to 512 numbers they are lists of hashes, after that all registers, which
// must be ours byte for byte.
func TestGoldenClickHouse(t *testing.T) {
	for _, n := range []int{0, 10, 16, 17, 100, 512, 513, 100000} {
		state, err := os.ReadFile(fmt.Sprintf("testdata/clickhouse/numbers.%d.state", n))
		if err != nil {
			t.Fatal(err)
		}
		var want naive
		var ours, theirs Sketch
		for i := range uint64(n) {
			// How ClickHouse hashes a UInt64: the end of MurmurHash3.
			h := (i ^ i>>33) * 0xff51afd7ed558ccd
			h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
			h ^= h >> 33
			want.add(h)
			ours.AddHash(h)
		}
		if k, err := theirs.MergeClickHouse(state); err != nil || k != len(state) {
			t.Fatalf("%d numbers: read %d of %d bytes: %v", n, k, len(state), err)
		}
		list := theirs.Registers()
		want.same(t, fmt.Sprint(n, " numbers"), list[:])
		if got := ours.AppendClickHouse(nil); n > 512 && !bytes.Equal(got, state) {
			t.Errorf("%d numbers: our state differs from ClickHouse's at byte %d", n, firstDifference(got, state))
		}
	}
}
