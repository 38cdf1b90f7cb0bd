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
	{"edges", func(r *rand.Rand) uint32 { return uint32(r.IntN(200)) * 0xffff }, 4000},
}

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
			sketchtest.Laws(t, sketchtest.Kind[*Pool]{
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
				idx[k], vals[k] = r.Uint32N(5), r.Uint32()
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

func TestAddAllocatesNothing(t *testing.T) {
	var p Pool
	fill := func() {
		p.Reset()
		p.Grow(100)
		for v := range uint32(20_000) {
			p.Add(v%100, v*7)
		}
	}
	fill()
	if got := testing.AllocsPerRun(5, fill); got > 0 {
		t.Errorf("%v allocations to fill a pool again", got)
	}
}
