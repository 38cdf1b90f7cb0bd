package idset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/sketches/sketchtest"
)

// TestCount: the correction is nothing for few hashes, and inverts the number of hashes that
// so many ids are expected to have.
func TestCount(t *testing.T) {
	for hashes := range uint64(65_536) {
		if n := Count(hashes); n != hashes {
			t.Fatalf("%d ids for %d hashes", n, hashes)
		}
	}
	for hashes, want := range map[uint64]uint64{65_536: 65_537, 999_884: 1_000_000, 1 << 31: 2_977_044_472, 1<<32 - 1: 95_265_423_098, 1 << 32: 95_265_423_098} {
		if n := Count(hashes); n != want {
			t.Errorf("%d ids for %d hashes, want %d", n, hashes, want)
		}
	}
	for ids := uint64(1000); ids < 1<<34; ids = ids*3 + 1 {
		hashes := -(1 << 32) * math.Expm1(-float64(ids)/(1<<32))
		if n := Count(uint64(math.Round(hashes))); math.Abs(float64(n)-float64(ids)) > 1+float64(ids)/1e8*math.Exp(float64(ids)/(1<<32)) {
			t.Errorf("%d ids for %.0f hashes, want %d", n, hashes, ids)
		}
	}
}

// draw returns hashes: random ones, small ones, and multiples of a power of two, which share
// their last bits.
func draw(r *rand.Rand) uint32 {
	switch r.IntN(4) {
	case 0:
		return r.Uint32N(300)
	case 1:
		return r.Uint32N(300) << 22
	}
	return r.Uint32()
}

func state(hashes map[uint32]bool) (b []byte) {
	all := make([]uint32, 0, len(hashes))
	for h := range hashes {
		all = append(all, h)
	}
	slices.Sort(all)
	for _, h := range all {
		b = binary.LittleEndian.AppendUint32(b, h)
	}
	return b
}

// TestPool: a pool is like maps, through additions, unions and states in any order.
func TestPool(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 1))
	for range 30 {
		var pools [2]Pool
		var truth [2][]map[uint32]bool
		for p := range pools {
			n := 1 + r.IntN(20)
			pools[p].Grow(n)
			for range n {
				truth[p] = append(truth[p], map[uint32]bool{})
			}
		}
		any := func() (p int, i uint32) {
			p = r.IntN(2)
			return p, r.Uint32N(uint32(len(truth[p])))
		}
		for range 300 {
			p, i := any()
			switch r.IntN(10) {
			case 0:
				q, j := any()
				pools[p].Merge(i, &pools[q], j)
				for h := range truth[q][j] {
					truth[p][i][h] = true
				}
			case 1:
				var mixed []byte
				for range r.IntN(100) {
					h := draw(r)
					mixed = binary.LittleEndian.AppendUint32(mixed, h)
					truth[p][i][h] = true
				}
				if err := pools[p].MergeState(i, mixed); err != nil {
					t.Fatal(err)
				}
			case 2:
				h := draw(r)
				pools[p].Add(i, h)
				truth[p][i][h] = true
			default:
				var of, hashes []uint32
				for range r.IntN(300) {
					i := r.Uint32N(uint32(len(truth[p])))
					of, hashes = append(of, i), append(hashes, draw(r))
					truth[p][i][hashes[len(hashes)-1]] = true
				}
				pools[p].AddBatch(of, hashes)
			}
		}
		for p := range pools {
			for i, want := range truth[p] {
				i := uint32(i)
				if got := pools[p].AppendState([]byte{7}, i); !bytes.Equal(got[1:], state(want)) || pools[p].Len(i) != uint64(len(want)) {
					t.Fatalf("a set of %d has %d, and a state of %d bytes", len(want), pools[p].Len(i), len(got)-1)
				}
				for range 100 {
					if h := draw(r); pools[p].Has(i, h) != want[h] {
						t.Fatalf("it has %d: %t", h, !want[h])
					}
				}
				q, j := any()
				common := uint64(0)
				for h := range truth[q][j] {
					if want[h] {
						common++
					}
				}
				if got := pools[p].Common(i, &pools[q], j); got != common {
					t.Fatalf("%d hashes in common, want %d", got, common)
				}
			}
		}
		pools[0].Reset()
		pools[0].Grow(1)
		if pools[0].Len(0) != 0 || pools[0].Has(0, 0) {
			t.Fatal("a pool that was reset has hashes")
		}
	}
	p := new(Pool)
	p.Grow(1)
	if err := p.MergeState(0, []byte{1, 0, 0, 0, 2}); err == nil || p.Len(0) != 0 {
		t.Errorf("five bytes are read: %d hashes, %v", p.Len(0), err)
	}
}

// TestMemory: a set takes up to 16 bytes a hash, however often it comes, and as much again for the
// runs before it; slices grow to the double.
func TestMemory(t *testing.T) {
	for _, n := range []int{3, 100, 100_000} {
		for _, times := range []int{1, 9} {
			p := new(Pool)
			sets := 300_000 / n
			p.Grow(sets)
			for i := range uint32(sets) {
				for range times {
					for h := range uint32(n) {
						p.Add(i, h*2_654_435_761+i+1)
					}
				}
			}
			if each := float64(p.Bytes()) / float64(sets*n); each > 4*8 || each < 4 {
				t.Errorf("%.1f bytes for a hash in sets of %d", each, n)
			}
		}
	}
}

// TestNoAllocation: a hash that is known allocates nothing.
func TestNoAllocation(t *testing.T) {
	p := new(Pool)
	p.Grow(1)
	of, hashes := make([]uint32, 500), make([]uint32, 500)
	for i := range hashes {
		hashes[i] = uint32(i) * 2_654_435_761
	}
	p.AddBatch(of, hashes)
	if n := testing.AllocsPerRun(100, func() { p.AddBatch(of, hashes) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLaws(t *testing.T) {
	sketchtest.Laws(t, sketchtest.Sketch[*Pool]{
		New: func() *Pool {
			p := new(Pool)
			p.Grow(1)
			return p
		},
		Add:   func(p *Pool, id uint64) { p.Add(0, uint32(id*0x9e3779b97f4a7c15>>32)) },
		Merge: func(dst, src *Pool) { dst.Merge(0, src, 0) },
		Bytes: func(p *Pool) []byte { return p.AppendState(nil, 0) },
		Count: func(p *Pool) uint64 { return p.Len(0) },
	})
}

func Example() {
	p := new(Pool)
	p.Grow(1)
	p.AddBatch([]uint32{0, 0, 0}, []uint32{7, 3_000_000_000, 7})
	fmt.Println(Count(p.Len(0)), p.Has(0, 7), p.Has(0, 8))
	// Output: 2 true false
}

// BenchmarkSets adds ids of two million, or of 20,000, to the sets of 1,000 pages and four windows,
// then unites these with empty sets and makes their states, as a flush does.
func BenchmarkSets(b *testing.B) {
	const n, windows, pages, block = 1 << 19, 4, 1000, 512
	for _, users := range []uint32{2_000_000, 20_000} {
		b.Run(fmt.Sprint(users), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(r, 1.1, 4, pages-1)
			of, hashes := make([]uint32, n), make([]uint32, n)
			for i := range of {
				of[i] = uint32(i/(n/windows)*pages) + uint32(zipf.Uint64())
				hashes[i] = uint32(uint64(1+r.Uint32N(users)) * 0x9e3779b97f4a7c15 >> 32)
			}
			var p, q Pool
			var state []byte
			for b.Loop() {
				p.Reset()
				p.Grow(windows * pages)
				q.Reset()
				q.Grow(windows * pages)
				for at := 0; at < n; at += block {
					p.AddBatch(of[at:at+block], hashes[at:at+block])
				}
				for i := range uint32(windows * pages) {
					q.Merge(i, &p, i)
					state = q.AppendState(state[:0], i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/hash")
		})
	}
}
