package bitmap

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/sketches/sketchtest"
)

// A twin is the naive form of a Pool: a Go map per index.
type twin []map[uint32]bool

// shapes draw values so that every form of a set is reached.
var shapes = []struct {
	name string
	draw func(*rand.Rand) uint32
	adds int
}{
	{"few", func(r *rand.Rand) uint32 { return uint32(r.IntN(40)) }, 2000},
	{"one chunk", func(r *rand.Rand) uint32 { return 7<<16 | uint32(r.IntN(1<<16)) }, 40000},
	{"dense", func(r *rand.Rand) uint32 { return uint32(r.IntN(300_000)) }, 60000},
	{"wide", func(r *rand.Rand) uint32 { return r.Uint32() }, 20000},
	{"colliding", func(r *rand.Rand) uint32 { return r.Uint32N(30_000) * unhash16 }, 60000},
	{"edges", func(r *rand.Rand) uint32 { return uint32(r.IntN(200)) * 0xffff }, 4000},
}

// unhash16 is the inverse of hash16: n × unhash16 has the hash n.
const unhash16 = 340573321

func TestPoolAgainstMaps(t *testing.T) {
	for _, sh := range shapes {
		t.Run(sh.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			const n = 5
			var p Pool
			var q Pool
			p.Grow(n)
			q.Grow(n)
			for round := range 3 {
				pt, qt := make(twin, n), make(twin, n)
				for i := range n {
					pt[i], qt[i] = map[uint32]bool{}, map[uint32]bool{}
				}
				for range sh.adds {
					i, v := uint32(r.IntN(n)), sh.draw(r)
					if i == 3 && len(pt[i]) > 20 {
						continue // one set stays small
					}
					if r.IntN(2) == 0 {
						p.Add(i, v)
						pt[i][v] = true
					} else {
						q.AddBatch([]uint32{i}, []uint32{v})
						qt[i][v] = true
					}
				}
				comparePool(t, &p, pt, r, sh.draw)
				comparePool(t, &q, qt, r, sh.draw)
				for i := range uint32(n) {
					j := (i + uint32(round)) % n
					p.Merge(i, &q, j)
					maps.Copy(pt[i], qt[j])
				}
				p.Merge(0, &p, 3)
				maps.Copy(pt[0], pt[3])
				p.Merge(3, &p, 0)
				maps.Copy(pt[3], pt[0])
				p.Merge(2, &p, 2)
				comparePool(t, &p, pt, r, sh.draw)
				p.Reset()
				q.Reset()
				if p.Len() != 0 {
					t.Fatalf("Len %d after Reset", p.Len())
				}
				p.Grow(n)
				q.Grow(n)
			}
		})
	}
}

func comparePool(t *testing.T, p *Pool, want twin, r *rand.Rand, draw func(*rand.Rand) uint32) {
	t.Helper()
	for i, set := range want {
		i := uint32(i)
		if got := p.Count(i); got != uint64(len(set)) {
			t.Fatalf("set %d: Count %d, want %d", i, got, len(set))
		}
		for v := range set {
			if !p.Has(i, v) {
				t.Fatalf("set %d: %d is missing", i, v)
			}
		}
		for range 1000 {
			if v := draw(r); p.Has(i, v) != set[v] {
				t.Fatalf("set %d: Has(%d) = %v", i, v, !set[v])
			}
		}
		if got, want := p.AppendClickHouse(nil, i), stateByRoaring(slices.Sorted(maps.Keys(set))); !bytes.Equal(got, want) {
			t.Fatalf("set %d of %d: state differs from the Roaring library's\n%x\n%x", i, len(set), got[:min(80, len(got))], want[:min(80, len(want))])
		}
	}
}

// stateByRoaring returns the twin of AppendClickHouse: the same state by the
// Roaring library.
func stateByRoaring(ascending []uint32) []byte {
	if len(ascending) <= 32 {
		out := []byte{0, byte(len(ascending))}
		for _, v := range ascending {
			out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return out
	}
	b := roaring.New()
	b.AddMany(ascending)
	b.RunOptimize()
	body, err := b.ToBytes()
	if err != nil {
		panic(err)
	}
	out := []byte{1}
	for n := uint64(len(body)); ; n >>= 7 {
		if n < 128 {
			out = append(out, byte(n))
			break
		}
		out = append(out, byte(n)|128)
	}
	return append(out, body...)
}

func TestPoolLaws(t *testing.T) {
	for name, bits := range map[string]uint{"wide": 32, "close": 13} {
		t.Run(name, func(t *testing.T) {
			sketchtest.Laws(t, sketchtest.Sketch[*Pool]{
				New:   func() *Pool { p := new(Pool); p.Grow(1); return p },
				Add:   func(p *Pool, id uint64) { p.Add(0, uint32(id)) },
				Merge: func(p, q *Pool) { p.Merge(0, q, 0) },
				Bytes: func(p *Pool) []byte { return p.AppendClickHouse(nil, 0) },
				Count: func(p *Pool) uint64 { return p.Count(0) },
				ID:    func(x uint64) uint64 { return x & (1<<bits - 1) },
				Sizes: []int{0, 1, 2, 4, 5, 32, 33, 700, 5000},
			})
		})
	}
}

// TestBatchIsAdds fills many sets by AddBatch and by Add: so many that the
// batch reads ahead.
func TestBatchIsAdds(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	const n = touchFrom + 100
	var p, q Pool
	p.Grow(n)
	q.Grow(n)
	for range 60 {
		idx, vals := make([]uint32, r.IntN(3000)), make([]uint32, 3000)
		for k := range idx {
			idx[k], vals[k] = r.Uint32N(n), r.Uint32N(100)
			if r.IntN(2) == 0 {
				idx[k], vals[k] = r.Uint32N(2), r.Uint32()*min(1, r.Uint32N(2000))
			}
			p.Add(idx[k], vals[k])
		}
		q.AddBatch(idx, vals)
	}
	for i := range uint32(n) {
		if !bytes.Equal(p.AppendClickHouse(nil, i), q.AppendClickHouse(nil, i)) {
			t.Fatalf("set %d differs", i)
		}
	}
}

// TestBatchOfZero adds 0, which marks a free slot, to a flat set in which the search for it
// ends in a free slot.
func TestBatchOfZero(t *testing.T) {
	var p Pool
	p.Grow(touchFrom)
	for v := range uint32(40) {
		p.Add(0, (v+1)*20_011)
	}
	if f := &p.flat[p.ents[0].ref]; p.ents[0].form != formFlat || p.flats[f.class].Run(f.ref)[f.home(0)] != 0 {
		t.Fatal("other values are needed")
	}
	p.AddBatch([]uint32{0, 0}, []uint32{0, 0})
	if !p.Has(0, 0) || p.Count(0) != 41 {
		t.Errorf("0 is in the set: %v; %d values", p.Has(0, 0), p.Count(0))
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	for name, times := range map[string]uint32{"close": 7, "wide": 1 << 16 * 7} {
		var p Pool
		var state []byte
		fill := func() {
			p.Reset()
			p.Grow(100)
			for v := range uint32(20_000) {
				p.Add(v%100, v*times)
			}
			state = p.AppendClickHouse(state[:0], 0)
		}
		fill()
		fill()                                             // a slab that has given pages back needs them again
		if got := testing.AllocsPerRun(5, fill); got > 1 { // a list of the writer of states
			t.Errorf("%s: %v allocations to fill a pool again", name, got)
		}
	}
}

// TestForms: hashes stay in one table, ids that lie together get chunks, and so do values
// that are made to have one hash.
func TestForms(t *testing.T) {
	if n := uint32(unhash16); hash16(n) != 1 {
		t.Fatalf("unhash16 has the hash %d", hash16(n))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name string
		n    int
		of   func(i int) uint32
		want uint8
	}{
		{"33 ids of one chunk", 33, func(i int) uint32 { return uint32(i) }, formSet},
		{"33 ids", 33, func(i int) uint32 { return uint32(i) * 20_000 }, formFlat},
		{"ids below a million", 10_000, func(int) uint32 { return r.Uint32N(1_000_000) }, formSet},
		{"hashes", 1_000_000, func(int) uint32 { return r.Uint32() }, formFlat},
		{"three million hashes", 3_500_000, func(int) uint32 { return r.Uint32() }, formSet},
		{"one hash", 1_000, func(i int) uint32 { return uint32(i) * unhash16 }, formFlat},
		{"one hash, many", 2_000, func(i int) uint32 { return uint32(i) * unhash16 }, formSet},
	} {
		var p Pool
		p.Grow(1)
		for i := range c.n {
			p.Add(0, c.of(i))
		}
		if got := p.ents[0].form; got != c.want {
			t.Errorf("%s: form %d, want %d", c.name, got, c.want)
		}
		if p.ents[0].form != formFlat {
			continue
		}
		far, f := 0, &p.flat[p.ents[0].ref]
		table := p.flats[f.class].Run(f.ref)
		for at, v := range table {
			if v != 0 {
				far = max(far, (at-int(f.home(v)))&(len(table)-1))
			}
		}
		t.Logf("%s: %d slots, the longest search %d, %d bytes", c.name, len(table), far, p.Bytes())
	}
}

// TestMergeFlat merges large tables into small ones, which takes no long searches.
func TestMergeFlat(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 20, 40, 500, 50_000} {
		var p, q Pool
		p.Grow(2)
		q.Grow(1)
		for range n {
			p.Add(0, r.Uint32())
		}
		p.Add(0, 0)
		for range 40_000 {
			v := r.Uint32()
			q.Add(0, v)
			p.Add(1, v)
		}
		p.Merge(1, &p, 0)
		p.Merge(0, &q, 0)
		if p.ents[0].form != formFlat {
			t.Errorf("%d: form %d", n, p.ents[0].form)
		}
		if !bytes.Equal(p.AppendClickHouse(nil, 0), p.AppendClickHouse(nil, 1)) {
			t.Errorf("%d and 40,000 values merge to %d, and to %d", n, p.Count(0), p.Count(1))
		}
	}
}
