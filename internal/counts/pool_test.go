package counts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw returns keys as measures have them: neighbours, multiples of a power of two, or any, 0
// among them.
func draw(r *rand.Rand) uint32 {
	switch r.IntN(3) {
	case 0:
		return r.Uint32N(200)
	case 1:
		return r.Uint32N(200) << 20
	}
	return r.Uint32()
}

// TestPool: bags are like maps, in every form, and after a reset.
func TestPool(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 2))
	var p Pool
	forms := map[uint8]bool{}
	for round := range 60 {
		n := 2 + r.IntN(300)
		p.Grow(n)
		truth := make([]map[uint32]uint32, n)
		for i := range truth {
			truth[i] = map[uint32]uint32{}
		}
		zipf := rand.NewZipf(r, 1.3, 1, uint64(n-1))
		for range r.IntN(40) {
			var of, keys []uint32
			for range r.IntN(300) {
				i, key := uint32(zipf.Uint64()), draw(r)
				if i == 0 && round%2 == 0 { // one key again and again
					key = 7
				}
				of, keys = append(of, i), append(keys, key)
				truth[i][key]++
			}
			AddBatch(&p, of, keys)
		}
		for i, want := range truth {
			got := p.Append([]uint64{1}, uint32(i))[1:]
			for k, w := range got {
				if want[Key(w)] != Count(w) || k > 0 && got[k-1] >= w {
					t.Fatalf("round %d: bag %d has %d of key %d, want %d; or out of order", round, i, Count(w), Key(w), want[Key(w)])
				}
			}
			if len(got) != len(want) || p.Empty(uint32(i)) != (len(want) == 0) {
				t.Fatalf("round %d: bag %d has %d keys, want %d", round, i, len(got), len(want))
			}
			forms[p.bags[i].form] = true
		}
		p.Reset()
	}
	for _, form := range []uint8{single, firstList, lastList, tabled + leastBits, tabled + 10} {
		if !forms[form] {
			t.Errorf("no bag had the form %d: %v", form, slices.Sorted(maps.Keys(forms)))
		}
	}
}

// TestMemory: what is given up is used again, what is known allocates nothing, and a pool with
// few keys is small.
func TestMemory(t *testing.T) {
	var p Pool
	of, keys := make([]uint32, 100_000), make([]uint32, 100_000)
	for i := range keys {
		of[i], keys[i] = uint32(i%50), uint32(i/50)
	}
	of = append(of, make([]uint32, 20_000)...) // bag 0 has a table with a page of its own
	for i := range uint32(20_000) {
		keys = append(keys, i)
	}
	fill := func() {
		p.Reset()
		p.Grow(50)
		AddBatch(&p, of, keys)
	}
	fill()
	fill()
	if n := testing.AllocsPerRun(20, fill); n > 0 {
		t.Errorf("%v allocations to fill it again", n)
	}
	// 2,000 keys each in tables of 4,096 slots, half as much for those before, and one of 32,768.
	if most := 8 * (50*4096*3/2 + 2*32768); p.Bytes() > 2*most {
		t.Errorf("%d bytes, want at most twice %d", p.Bytes(), most)
	}
	var few Pool
	few.Grow(10)
	for i := range uint32(10) {
		few.Add(i, i)
		few.Add(i, 2*i)
	}
	if few.Bytes() > 4<<10 {
		t.Errorf("%d bytes for twenty keys", few.Bytes())
	}
}

func Example() {
	p := new(Pool)
	p.Grow(2)
	AddBatch(p, []uint32{1, 1, 1}, []uint32{7, 3, 7})
	for _, w := range p.Append(nil, 1) {
		fmt.Println(Key(w), Count(w))
	}
	// Output:
	// 3 1
	// 7 2
}

// BenchmarkAdd adds keys of a range: to one bag, and to bags that are made anew for each 65,536
// additions, as those of a chunk are, and read at its end.
func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name string
		bags int
		anew bool
	}{{"hot", 1, false}, {"chunks", 1000, true}} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1 << 16
			r := rand.New(rand.NewPCG(1, 2))
			of, keys := make([]uint32, n), make([]uint32, n)
			var zipf *rand.Zipf
			if c.bags > 1 {
				zipf = rand.NewZipf(r, 1.07, 1, uint64(c.bags-1))
			}
			for i := range of {
				if keys[i] = 1<<27 + uint32(100+30*r.NormFloat64()); zipf != nil {
					of[i] = uint32(zipf.Uint64())
				}
			}
			var p Pool
			p.Grow(c.bags)
			var words []uint64
			for b.Loop() {
				if c.anew {
					p.Reset()
					p.Grow(c.bags)
				}
				for at := 0; at < n; at += 512 {
					AddBatch(&p, of[at:at+512], keys[at:at+512])
				}
				for i := range uint32(c.bags) {
					words = p.Append(words[:0], i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
		})
	}
}
