package counts

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw returns a key of bag i as measures have them: neighbours, multiples of a power of two, or any,
// 0 among them; of some bags only neighbours, at either end of all keys, or in the middle, where there
// are ever more.
func draw(r *rand.Rand, i uint32) uint32 {
	switch i % 5 {
	case 1:
		return r.Uint32N(70)
	case 2:
		return math.MaxUint32 - r.Uint32N(90)
	case 3:
		return 1<<27 - r.Uint32N(1<<r.Uint32N(10))
	case 4:
		return 1<<27 + r.Uint32N(1<<r.Uint32N(10))
	}
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
				i := uint32(zipf.Uint64())
				key := draw(r, i)
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
		var loaded Pool
		loaded.Grow(n)
		if rest := loaded.Load(append(p.AppendState(nil), 5)); len(rest) != 1 || rest[0] != 5 {
			t.Fatalf("round %d: behind the state is %x", round, rest)
		}
		for i := range uint32(n) {
			for _, key := range []uint32{7, draw(r, i)} {
				p.Add(i, key)
				loaded.Add(i, key)
			}
			if got, want := loaded.Append(nil, i), p.Append(nil, i); !slices.Equal(got, want) {
				t.Fatalf("round %d: bag %d is loaded as %x, want %x", round, i, got, want)
			}
		}
		p.Reset()
	}
	for _, form := range []uint8{single, firstList, lastList, tabled + 7, tabled + 10, ranged, ranged + 7, ranged + 9} {
		if !forms[form] {
			t.Errorf("no bag had the form %d: %v", form, slices.Sorted(maps.Keys(forms)))
		}
	}
}

// TestFull: a bag with more of a key than an array counts has a table, also when it becomes larger.
func TestFull(t *testing.T) {
	for _, times := range []uint32{math.MaxUint16, math.MaxUint16 + 1, 200_000} {
		var p Pool
		p.Grow(1)
		truth := map[uint32]uint32{}
		add := func(keys ...uint32) {
			AddBatch(&p, make([]uint32, len(keys)), keys)
			for _, key := range keys {
				truth[key]++
			}
		}
		add(1, 2, 3, 4, 5, 6, 7, 8, 9)
		for range times - 1 {
			add(7)
		}
		if array := p.bags[0].form >= ranged; array != (times <= math.MaxUint16) {
			t.Errorf("%d of a key: form %d", times, p.bags[0].form)
		}
		for key := range uint32(500) {
			add(key)
		}
		words := p.Append(nil, 0)
		for _, w := range words {
			if truth[Key(w)] != Count(w) {
				t.Errorf("%d of key %d, want %d", Count(w), Key(w), truth[Key(w)])
			}
		}
		if len(words) != len(truth) {
			t.Errorf("%d keys, want %d", len(words), len(truth))
		}
	}
}

// TestEnds: the first and the last keys of all are in order beside each other's neighbours.
func TestEnds(t *testing.T) {
	const last = math.MaxUint32
	for _, far := range []uint32{0, last} {
		var p Pool
		p.Grow(1)
		for n := range uint32(70) { // towards the end, which the array does not exceed
			p.Add(0, far^(75-n))
		}
		p.Add(0, ^far)
		words := p.Append(nil, 0)
		if len(words) != 71 || !slices.IsSorted(words) || Key(words[0]) != min(^far, 6) || Key(words[70]) != max(^far, last-6) {
			t.Errorf("after %d: %x", far, words)
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
	for stride, slots := range map[uint32]int{1: 2048 * 2, 8: 4096 * 8} {
		var p Pool
		p.Grow(50)
		for i := range uint32(50) {
			for key := range uint32(2000) {
				p.Add(i, key*stride)
			}
		}
		// 2,000 keys in 2,048 counts of two bytes, or in 4,096 of eight. Those before are used again.
		if most := 58 * slots; p.Bytes() > most {
			t.Errorf("%d bytes for 2,000 keys with a stride of %d in 50 bags, want at most %d", p.Bytes(), stride, most)
		}
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

// BenchmarkAdd adds keys of a range: to one bag, and to bags that are made anew for each chunk, as
// those of a partition are, and read at its end. These are of eight pools in turns, which do not fit
// in a cache of 1 MiB together; a window has 1,000 of them, and the chunk four windows. Their keys
// are buckets of ids at scale 6, or numbers of frequent keys.
func BenchmarkAdd(b *testing.B) {
	const n, windows, pages, block = 1 << 18, 4, 1000, 512
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, pages-1)
	var of, bucket, number, none [n]uint32
	for i := range n {
		of[i] = uint32(i/(n/windows)*pages) + uint32(zipf.Uint64())
		bucket[i] = 6<<28 + 1<<27 + uint32(64*(1023+math.Log2(1+2e6*r.Float64())))
		number[i] = 1 + r.Uint32N(4<<r.Uint32N(4))
	}
	for _, c := range []struct {
		name     string
		pools    int
		of, keys *[n]uint32
	}{{"hot", 1, &none, &bucket}, {"buckets", 8, &of, &bucket}, {"numbers", 8, &of, &number}} {
		b.Run(c.name, func(b *testing.B) {
			pools := make([]Pool, c.pools)
			var words []uint64
			for b.Loop() {
				for p := range pools {
					pools[p].Reset()
					pools[p].Grow(windows * pages)
				}
				for at := 0; at < n; at += block {
					for p := range pools {
						AddBatch(&pools[p], c.of[at:at+block], c.keys[at:at+block])
					}
				}
				for p := range pools {
					for i := range uint32(windows * pages) {
						words = pools[p].Append(words[:0], i)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*c.pools), "ns/key")
		})
	}
}

// TestWiden: keys that come beyond one end, the other, or both in turns move a bag a few times, and
// not once each; and keys at the ends of all numbers have room.
func TestWiden(t *testing.T) {
	const n = 1 << 14
	for name, key := range map[string]func(i uint32) uint32{
		"up":    func(i uint32) uint32 { return 1<<27 + i },
		"down":  func(i uint32) uint32 { return ^i },
		"turns": func(i uint32) uint32 { return 1<<27 + (i/2)*(i%2) - (i/2)*(1-i%2) },
		"far":   func(i uint32) uint32 { return (i%2)*(1<<31) + i },
	} {
		var p Pool
		p.Grow(1)
		truth, moves, before := map[uint32]uint32{}, 0, bag{}
		for i := range uint32(n) {
			p.Add(0, key(i))
			truth[key(i)]++
			if b := p.bags[0]; b.form != before.form || b.form >= ranged && b.n != before.n { // the first key
				moves++
				before = b
			}
		}
		for _, w := range p.Append(nil, 0) {
			if truth[Key(w)] != Count(w) {
				t.Fatalf("%s: %d of key %d, want %d", name, Count(w), Key(w), truth[Key(w)])
			}
			delete(truth, Key(w))
		}
		if len(truth) > 0 || moves > 50 {
			t.Errorf("%s: %d keys are gone, %d moves", name, len(truth), moves)
		}
	}
}
