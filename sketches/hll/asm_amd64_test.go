//go:build !purego

package hll

import (
	"math/rand/v2"
	"testing"
)

// Each assembly routine against its plain form, on random, extreme and
// unaligned registers, with guards around them.
func TestMaxAssembly(t *testing.T) {
	if !hasAVX2 {
		t.Log("no AVX2 on this machine: nothing to compare")
		return
	}
	forEachMaxCase(t, func(name string, d *registers, sources []*registers) {
		want, avx2 := *d, *d
		for _, s := range sources {
			maxWords(&want, s)
			maxAVX2(&avx2, s)
		}
		if avx2 != want {
			t.Fatalf("%s: AVX2 differs from plain Go", name)
		}
		if len(sources) >= 4 {
			want, avx2 = *d, *d
			for _, s := range sources[:4] {
				maxWords(&want, s)
			}
			max4AVX2(&avx2, sources[0], sources[1], sources[2], sources[3])
			if avx2 != want {
				t.Fatalf("%s: four at once differ from plain Go", name)
			}
		}
		v := make([]byte, denseBytes)
		sources[0].pack(v[headerBytes:])
		for i := range headerBytes {
			v[i] = 0xff // read by the assembly and to be ignored
		}
		want, avx2 = *d, *d
		maxPacked(&want, v[headerBytes:])
		maxPackedAVX2(&avx2, &v[headerBytes])
		if avx2 != want {
			t.Fatalf("%s: packed AVX2 differs from plain Go", name)
		}
	})
}

// What runs on a processor without AVX2 is plain Go.
func TestMaxWithoutAVX2(t *testing.T) {
	defer func(had bool) { hasAVX2 = had }(hasAVX2)
	hasAVX2 = false
	TestMax(t)
	TestGolden(t)
}

func TestSearchAssembly(t *testing.T) {
	r := rand.New(rand.NewPCG(80, 1))
	for range 2000 {
		var p Pool
		p.Grow(70)
		var b batch
		n := 1 + r.IntN(batchMax)
		hits := 0
		for k := range n {
			l := p.line(uint32(r.IntN(70)))
			// Numbers do not repeat in a line. Behind the last one they are 0,
			// where register 0 must not be found.
			for i, number := range r.Perm(40)[:r.IntN(inline+1)] {
				l.index[i], l.rank[i], l.n = uint16(number), uint8(1+r.IntN(MaxRank)), uint16(i+1)
			}
			if r.IntN(4) == 0 {
				l.form, l.n = form(1+r.IntN(2)), uint16(r.IntN(1500))
			}
			b.lines[k], b.entries[k] = l, entryOf(uint64(r.IntN(40)))
		}
		for k := range b.found {
			b.found[k] = 0xaa
		}
		want := b
		searchPlain(&want, n)
		searchLines(&b, n)
		for k := range b.found {
			if want.found[k] != 0 {
				hits++
			}
			if w, g := want.found[k], b.found[k]; w != g {
				t.Fatalf("event %d of %d: found at %d, want %d; line %v, entry %x", k, n, g, w, b.lines[k], b.entries[k])
			}
		}
		if n > 20 && hits == 0 {
			t.Fatal("nothing found: the test is too tame")
		}
	}
}
