package bloom

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// sigmas measures a filter: it tests probes items that were never added and
// returns how many standard deviations of a binomial the number of false
// positives is away from the expected one.
func sigmas(probes int, expected float64, has func(h uint64) bool, item func() uint64) float64 {
	hits := 0
	for range probes {
		if has(item()) {
			hits++
		}
	}
	n := float64(probes)
	return (float64(hits) - n*expected) / math.Sqrt(n*expected*(1-expected))
}

// within is the bound of the tests below. The seeds are fixed, so a correct
// filter always passes.
const within = 4

// TestSplitBlockError measures filters at their capacity, half of it and far
// beyond. They are large, so that the chance in one filter's own bits (about
// 1/√blocks) is small beside that of the probes.
func TestSplitBlockError(t *testing.T) {
	for _, c := range []struct {
		capacity int
		err      float64
		n        int
		probes   int
	}{
		{2_000_000, 0.01, 2_000_000, 2_000_000},
		{2_000_000, 0.01, 1_000_000, 2_000_000},
		{1_000_000, 0.01, 2_000_000, 200_000},
		{500_000, 0.01, 2_000_000, 100_000},
		{1_000_000, 0.001, 1_000_000, 3_000_000},
		{1_000_000, 0.0001, 1_000_000, 10_000_000},
		{2_000_000, 0.2, 2_000_000, 500_000},
	} {
		r := rand.New(rand.NewPCG(31, uint64(c.capacity)))
		f := New(c.capacity, c.err)
		for range c.n {
			f.Add(r.Uint64())
		}
		want := SplitBlockError(c.n, f.Bits())
		if c.n == c.capacity && (want > c.err || want < 0.99*c.err) {
			t.Errorf("a filter for %v has an expected error of %v", c.err, want)
		}
		if z := sigmas(c.probes, want, f.Has, r.Uint64); math.Abs(z) > within {
			t.Errorf("%d items in a filter for %d at %v: %+.1f sigma from the formula's %.3g", c.n, c.capacity, c.err, z, want)
		}
	}
}

// TestSplitBlockErrorOfRealHashes does the same with XXH64 of short texts.
func TestSplitBlockErrorOfRealHashes(t *testing.T) {
	const n = 1_000_000
	f := New(n, 0.01)
	var text []byte
	next := 0
	item := func() uint64 {
		text = strconv.AppendInt(append(text[:0], "user:"...), int64(next), 10)
		next++
		return Hash(text)
	}
	for range n {
		f.Add(item())
	}
	if z := sigmas(2_000_000, SplitBlockError(n, f.Bits()), f.Has, item); math.Abs(z) > within {
		t.Errorf("%+.1f sigma from the formula", z)
	}
}

func TestPoolErrorIsTheFilters(t *testing.T) {
	const n = 500_000
	r := rand.New(rand.NewPCG(33, 34))
	p := NewPool(n, 0.01)
	p.Grow(2)
	for i := range n { // half of it comes by merging
		p.Add(uint32(i%2), r.Uint64())
	}
	p.Merge(0, p, 1)
	has := func(h uint64) bool { return p.Has(0, h) }
	if z := sigmas(1_000_000, SplitBlockError(n, p.Bits()), has, r.Uint64); math.Abs(z) > within {
		t.Errorf("%+.1f sigma from the formula", z)
	}
}

// TestErrorGrows: every item makes the error larger, every bit smaller, and it
// stays a probability, however overfilled the filter.
func TestErrorGrows(t *testing.T) {
	before := 0.0
	for n := 1; n < 2_000_000_000; n = n*3/2 + 1 {
		e := SplitBlockError(n, 1<<20)
		if !(e >= before-1e-9 && e <= 1) || e == before && e < 0.999 {
			t.Fatalf("%d items: error %v after %v", n, e, before)
		}
		if more := SplitBlockError(n, 1<<21); !(more <= e+1e-9) || more == e && e < 0.999 {
			t.Fatalf("%d items: error %v with twice the bits, %v before", n, more, e)
		}
		before = e
	}
	if SplitBlockError(0, 256) != 0 || SplitBlockError(-1, 256) != 0 {
		t.Error("an empty filter has an error")
	}
}

// TestSplitBlockErrorAgainstBinomial compares the formula, with its Poisson
// distribution and cut-off tails, with the exact one, which is a short
// alternating sum: 1 − (31/32)^j to the 8th, averaged over a binomial j. The
// formula may be above the exact value, by a few parts in the number of blocks,
// and below it only very slightly when nearly everything is a false positive.
func TestSplitBlockErrorAgainstBinomial(t *testing.T) {
	for _, blocks := range []float64{64, 1000, 41_000} {
		for _, load := range []float64{5, 20, 24.4, 50, 200} {
			n := int(blocks * load)
			exact, choose := 0.0, 1.0
			for i := range 9 {
				term := choose * math.Exp(float64(n)*math.Log1p((math.Pow(31.0/32, float64(i))-1)/blocks))
				exact += term * float64(1-i%2*2)
				choose *= float64(8-i) / float64(i+1)
			}
			if got := SplitBlockError(n, uint64(blocks)*256); got/exact-1 > 4/blocks || got/exact-1 < -1e-4 {
				t.Errorf("%v blocks of %v items: %v, exactly %v", blocks, load, got, exact)
			}
		}
	}
}

func TestBits(t *testing.T) {
	for _, c := range []struct {
		capacity int
		err      float64
	}{{1, 0.5}, {1, 1e-9}, {10, 0.01}, {100_000, 0.01}, {1 << 20, 1e-6}, {50_000_000, 0.001}} {
		bits, err := Bits(c.capacity, c.err)
		if err != nil || bits%256 != 0 || bits == 0 {
			t.Fatalf("%d at %v: %d bits, %v", c.capacity, c.err, bits, err)
		}
		if e := SplitBlockError(c.capacity, bits); e > c.err {
			t.Errorf("%d at %v: %d bits give %v", c.capacity, c.err, bits, e)
		}
		if bits > 256 {
			if e := SplitBlockError(c.capacity, bits-256); e <= c.err {
				t.Errorf("%d at %v: a block less would do", c.capacity, c.err)
			}
		}
	}
	for _, c := range []struct {
		capacity int
		err      float64
	}{{0, 0.01}, {-5, 0.01}, {10, 0}, {10, 1}, {10, -1}, {10, math.NaN()}, {10, math.Inf(1)}, {1 << 40, 0.01}, {1 << 29, 1e-9}} {
		if bits, err := Bits(c.capacity, c.err); err == nil {
			t.Errorf("%d at %v: %d bits", c.capacity, c.err, bits)
		}
	}
}

// TestPlantedMistakes: a filter with a small mistake must exceed the bound that
// the correct one keeps.
func TestPlantedMistakes(t *testing.T) {
	const n, probes = 200_000, 1_000_000
	right := New(n, 0.01)
	blocks := right.Bits() / blockBits
	want := SplitBlockError(n, right.Bits())
	salts := [8]uint32{salt0, salt1, salt2, salt3, salt4, salt5, salt6, salt7}
	bit := func(x, salt uint32) uint32 { return x * salt >> 27 }
	for name, p := range map[string]struct {
		caught bool
		block  func(h uint64) uint64
		bit    func(h uint64, word int) uint32
	}{
		"nothing": {false, func(h uint64) uint64 { return block(h, blocks) },
			func(h uint64, w int) uint32 { return bit(uint32(h), salts[w]) }},
		"a salt twice": {true, func(h uint64) uint64 { return block(h, blocks) },
			func(h uint64, w int) uint32 { return bit(uint32(h), salts[max(w, 1)]) }},
		"the low bits of the product": {true, func(h uint64) uint64 { return block(h, blocks) },
			func(h uint64, w int) uint32 { return uint32(h) * salts[w] & 31 }},
		"four bits of five": {true, func(h uint64) uint64 { return block(h, blocks) },
			func(h uint64, w int) uint32 { return bit(uint32(h), salts[w]) &^ uint32(1-min(w, 1)) }},
		"blocks from 12 bits": {true, func(h uint64) uint64 { return block(h>>52<<52, blocks) },
			func(h uint64, w int) uint32 { return bit(uint32(h), salts[w]) }},
		"1/32 of the blocks unused": {true, func(h uint64) uint64 { return block(h, blocks*31/32) },
			func(h uint64, w int) uint32 { return bit(uint32(h), salts[w]) }},
	} {
		r := rand.New(rand.NewPCG(41, 42))
		words := make([]uint32, 8*blocks)
		for range n {
			h := r.Uint64()
			for w := range 8 {
				words[8*p.block(h)+uint64(w)] |= 1 << p.bit(h, w)
			}
		}
		has := func(h uint64) bool {
			for w := range 8 {
				if words[8*p.block(h)+uint64(w)]>>p.bit(h, w)&1 == 0 {
					return false
				}
			}
			return true
		}
		if z := sigmas(probes, want, has, r.Uint64); math.Abs(z) > within != p.caught {
			t.Errorf("%s planted: %+.1f sigma", name, z)
		}
	}
}
