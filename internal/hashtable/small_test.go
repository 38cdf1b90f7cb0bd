package hashtable

import (
	"math/rand/v2"
	"testing"
)

// keysNear returns keys as measures have them: neighbours, multiples of a power of two, or any.
func keysNear(r *rand.Rand) uint32 {
	switch r.IntN(3) {
	case 0:
		return 1 + r.Uint32N(200)
	case 1:
		return (1 + r.Uint32N(200)) << 20
	}
	return max(1, r.Uint32())
}

// TestSmall: tables are like maps, through additions one by one and many at once, room that
// is made before, and a reset.
func TestSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 2))
	var s Small[uint64]
	var sets Small[uint32]
	for round := range 40 {
		n := 1 + r.IntN(60)
		s.Grow(n)
		sets.Grow(n)
		truth := make([]map[uint32]uint32, n)
		for i := range truth {
			truth[i] = map[uint32]uint32{}
		}
		for range 50 {
			i := r.Uint32N(uint32(n))
			switch r.IntN(4) {
			case 0:
				key := keysNear(r)
				*s.Add(i, key)++
				if e := *sets.Add(i, key); e != key {
					t.Fatalf("key %d has the entry %d", key, e)
				}
				truth[i][key]++
			case 1:
				s.Reserve(i, r.IntN(200))
				sets.Reserve(i, r.IntN(200))
			default:
				var of, keys []uint32
				for range r.IntN(200) {
					i, key := r.Uint32N(uint32(n)), keysNear(r)
					of, keys = append(of, i), append(keys, key)
					truth[i][key]++
				}
				Count(&s, of, keys)
				Insert(&sets, append(of, 0), append(keys, 0)) // a free entry is no key
			}
		}
		for i, want := range truth {
			i := uint32(i)
			got, set := map[uint32]uint32{}, map[uint32]bool{}
			for _, e := range s.Slots(i) {
				if e != 0 {
					got[uint32(e>>32)] = uint32(e)
				}
			}
			for _, key := range sets.Slots(i) {
				set[key] = true
			}
			if s.Len(i) != len(want) || sets.Len(i) != len(want) || len(got) != len(want) {
				t.Fatalf("round %d: table %d has %d and %d entries, want %d", round, i, s.Len(i), sets.Len(i), len(want))
			}
			for key, count := range want {
				if got[key] != count || !set[key] || s.Find(i, key) != uint64(key)<<32|uint64(count) || sets.Find(i, key) != key {
					t.Fatalf("round %d: key %d has %d, want %d", round, key, got[key], count)
				}
			}
			for range 50 {
				if key := keysNear(r); want[key] == 0 && (s.Find(i, key) != 0 || sets.Find(i, key) != 0) {
					t.Fatalf("round %d: key %d is found", round, key)
				}
			}
			if used := 4 * s.Len(i); used > 3*len(s.Slots(i)) {
				t.Fatalf("%d entries in %d slots", s.Len(i), len(s.Slots(i)))
			}
		}
		s.Reset()
		sets.Reset()
		if s.Tables() != 0 {
			t.Fatalf("%d tables after a reset", s.Tables())
		}
	}
}

// TestSmallMemory: what is given up is used again, and a key that is known allocates nothing.
func TestSmallMemory(t *testing.T) {
	var s Small[uint64]
	of, keys := make([]uint32, 1000), make([]uint32, 1000)
	for i := range keys {
		of[i], keys[i] = uint32(i%50), uint32(1+i)
	}
	fill := func() {
		s.Reset()
		s.Grow(50)
		Count(&s, of, keys)
	}
	fill()
	if n := testing.AllocsPerRun(100, fill); n > 0 {
		t.Errorf("%v allocations to fill it again", n)
	}
	// Twenty keys each in tables of 32 slots, and the smaller ones before them, which others
	// have used.
	if most := 50*12 + 8*(50*32+50*16); s.Bytes() > 2*most+8<<10 {
		t.Errorf("%d bytes, want at most twice %d", s.Bytes(), most)
	}
}

// BenchmarkSmallCount counts keys of a range: in one table, and in tables that are made anew
// for each 65,536 additions, as those of a chunk are.
func BenchmarkSmallCount(b *testing.B) {
	for _, c := range []struct {
		name   string
		tables int
		anew   bool
	}{{"hot", 1, false}, {"chunks", 1000, true}} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1 << 16
			r := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(r, 1.07, 1, uint64(c.tables-1))
			of, keys := make([]uint32, n), make([]uint32, n)
			for i := range of {
				of[i], keys[i] = uint32(zipf.Uint64()), 1<<27+uint32(100+30*r.NormFloat64())
			}
			var s Small[uint64]
			s.Grow(c.tables)
			for b.Loop() {
				if c.anew {
					s.Reset()
					s.Grow(c.tables)
				}
				for at := 0; at < n; at += 512 {
					Count(&s, of[at:at+512], keys[at:at+512])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
		})
	}
}
