package bloom

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/sketches/sketchtest"
)

// TestPoolAgainstFilters compares a pool's filters, in each of their forms,
// with a Roaring bitmap of the bits that the published formula gives.
func TestPoolAgainstFilters(t *testing.T) {
	for _, c := range []struct{ capacity, adds int }{{1, 50}, {10, 200}, {500, 3000}, {30_000, 60_000}, {300_000, 30_000}} {
		r := rand.New(rand.NewPCG(3, uint64(c.capacity)))
		const n = 4
		p, q := NewPool(c.capacity, 0.01), NewPool(c.capacity, 0.01)
		for range 2 {
			p.Grow(n)
			q.Grow(n)
			var pt, qt [n]*roaring.Bitmap
			var items [n][]uint64
			for i := range n {
				pt[i], qt[i] = roaring.New(), roaring.New()
			}
			for k := range c.adds {
				i, h := uint32(r.IntN(n)), r.Uint64()
				if k%50 == 0 {
					h = 0
				}
				if i == 2 && k > c.adds/100 {
					continue // one filter stays sparse
				}
				if r.IntN(2) == 0 {
					p.Add(i, h)
					naiveAdd(pt[i], h, p.Bits())
				} else {
					q.AddBatch([]uint32{i}, []uint64{h})
					naiveAdd(qt[i], h, p.Bits())
				}
				items[i] = append(items[i], h)
			}
			checkPool(t, p, pt[:])
			checkPool(t, q, qt[:])
			for i := range uint32(n) {
				p.Merge(i, q, i)
				pt[i].Or(qt[i])
				for _, h := range items[i] {
					if !p.Has(i, h) {
						t.Fatalf("capacity %d: an added item is missing", c.capacity)
					}
				}
			}
			p.Merge(1, p, 2)
			pt[1].Or(pt[2])
			p.Merge(2, p, 3)
			pt[2].Or(pt[3])
			p.Merge(3, p, 3)
			checkPool(t, p, pt[:])
			p.Reset()
			q.Reset()
		}
	}
}

func checkPool(t *testing.T, p *Pool, want []*roaring.Bitmap) {
	t.Helper()
	for i, bits := range want {
		got := p.AppendClickHouse(nil, uint32(i))
		if want := stateByRoaring(bits); !bytes.Equal(got, want) {
			t.Fatalf("filter %d of %d bits: state\n%x, want\n%x", i, bits.GetCardinality(), got[:min(60, len(got))], want[:min(60, len(want))])
		}
	}
}

// naiveAdd sets the bits of an item as the Parquet format describes them.
func naiveAdd(bits *roaring.Bitmap, h, size uint64) {
	block := (h >> 32) * (size / 256) >> 32
	for i, salt := range []uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31} {
		bits.Add(uint32(block*256 + uint64(i)*32 + uint64(uint32(h)*salt>>27)))
	}
}

func stateByRoaring(b *roaring.Bitmap) []byte {
	if b.GetCardinality() <= 32 {
		out := []byte{0, byte(b.GetCardinality())}
		for _, v := range b.ToArray() {
			out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return out
	}
	b = b.Clone()
	b.RunOptimize()
	body, err := b.ToBytes()
	if err != nil {
		panic(err)
	}
	out := []byte{1}
	n := uint64(len(body))
	for ; n >= 128; n >>= 7 {
		out = append(out, byte(n)|128)
	}
	return append(append(out, byte(n)), body...)
}

func TestPoolIsSparseFirst(t *testing.T) {
	p := NewPool(100_000, 0.01)
	p.Grow(1000)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range uint32(1000) {
		for range 10 {
			p.Add(i, r.Uint64())
		}
	}
	if got, full := p.Bytes(), 1000*int(p.Bits()/8); got > full/500 {
		t.Errorf("1000 filters of 10 items take %d bytes, as bits they would take %d", got, full)
	}
}

func TestPoolLaws(t *testing.T) {
	for name, capacity := range map[string]int{"small": 10, "dense": 3000, "sparse": 200_000} {
		t.Run(name, func(t *testing.T) {
			sketchtest.Laws(t, sketchtest.Sketch[*Pool]{
				New:   func() *Pool { p := NewPool(capacity, 0.01); p.Grow(1); return p },
				Add:   func(p *Pool, id uint64) { p.Add(0, id) },
				Merge: func(p, q *Pool) { p.Merge(0, q, 0) },
				Bytes: func(p *Pool) []byte { return p.AppendClickHouse(nil, 0) },
				Sizes: []int{0, 1, 2, 3, 8, 9, 100, 2000},
			})
		})
	}
}

// TestBatchIsAdds fills many filters by AddBatch and by Add: so many that the
// batch reads ahead.
func TestBatchIsAdds(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	const n = 20_000
	p, q := NewPool(500, 0.01), NewPool(500, 0.01)
	p.Grow(n)
	q.Grow(n)
	for range 150 {
		idx, hashes := make([]uint32, r.IntN(3000)), make([]uint64, 3000)
		for k := range idx {
			idx[k], hashes[k] = r.Uint32N(n), r.Uint64()
			if r.IntN(2) == 0 {
				idx[k] = r.Uint32N(5)
			}
			p.Add(idx[k], hashes[k])
		}
		q.AddBatch(idx, hashes)
	}
	if q.Bytes() < touchFrom {
		t.Fatalf("only %d bytes: nothing was touched ahead", q.Bytes())
	}
	for i := range uint32(n) {
		if !bytes.Equal(p.AppendClickHouse(nil, i), q.AppendClickHouse(nil, i)) {
			t.Fatalf("filter %d differs", i)
		}
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	p := NewPool(1000, 0.01)
	fill := func() {
		p.Reset()
		p.Grow(100)
		for h := range uint64(20_000) {
			p.Add(uint32(h%100), h*0x9e3779b97f4a7c15)
		}
	}
	fill()
	if got := testing.AllocsPerRun(5, fill); got > 0 {
		t.Errorf("%v allocations to fill a pool again", got)
	}
}
