package hll

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The estimate must not fall when a register rises, rounding included: only
// therefore may a number stored beside a state be merged by max. The test walks
// from all registers zero to all at their highest, raises one register by one
// at each step, in several orders, and checks each step on the float before
// rounding.
func TestEstimateMonotone(t *testing.T) {
	walk := func(name string, m int, last int, next func(counts []uint32) int) {
		counts := make([]uint32, last+1)
		counts[0] = uint32(m)
		before := estimate(counts, m, float64(m))
		for counts[last] < uint32(m) {
			k := next(counts)
			counts[k]--
			counts[k+1]++
			e := estimate(counts, int(counts[0]), float64(m))
			if !(e >= before) || round(e) < round(before) {
				t.Fatalf("%s: from %v to %v as a register rises from %d: %v", name, before, e, k, counts)
			}
			before = e
		}
		if !math.IsInf(before, 1) {
			t.Errorf("%s: all registers full count %v", name, before)
		}
	}
	r := rand.New(rand.NewPCG(30, 1))
	lowest := func(counts []uint32) int {
		for k, c := range counts {
			if c > 0 {
				return k
			}
		}
		panic("none")
	}
	highest := func(counts []uint32) int {
		for k := len(counts) - 2; ; k-- {
			if counts[k] > 0 {
				return k
			}
		}
	}
	random := func(counts []uint32) int {
		for {
			if k := r.IntN(len(counts) - 1); counts[k] > 0 {
				return k
			}
		}
	}
	// A register is chosen as a hash chooses it: mostly those of low rank rise.
	weighted := func(counts []uint32) int {
		k := lowest(counts)
		for j := k; j < len(counts)-1; j++ {
			if counts[j] > 0 && r.IntN(2) == 0 {
				return j
			}
		}
		return k
	}
	for name, next := range map[string]func([]uint32) int{"lowest first": lowest, "one after another": highest, "any": random, "mostly low": weighted} {
		walk(name, Registers, MaxRank, next)
		walk(name+", 16 registers", 16, 61, next)
	}
}

// TestFewRegisters: the count of up to 64 registers is their number, whatever the ranks.
// weirPfCount relies on it. The estimate is least if all ranks are 1, and greatest if all
// are the last.
func TestFewRegisters(t *testing.T) {
	for n := range 65 {
		for rank := range MaxRank {
			var counts [MaxRank + 1]uint32
			counts[0], counts[rank+1] = uint32(Registers-n), uint32(n)
			if got := round(estimate(counts[:], Registers-n, Registers)); got != uint64(n) {
				t.Errorf("%d registers of rank %d count %d", n, rank+1, got)
			}
		}
	}
}

// sigma and tau against sums of their series as they are written down.
func TestSigmaTau(t *testing.T) {
	for i := range 16385 {
		x := float64(i) / 16384
		if i < 16384 {
			want := x
			for k := 1.0; k < 40; k++ {
				want += math.Pow(x, math.Pow(2, k)) * math.Pow(2, k-1)
			}
			if got := sigma(x); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("sigma(%v) = %v, want %v", x, got, want)
			}
		}
		want := 1 - x
		for k := 1.0; k < 60; k++ {
			want -= math.Pow(1-math.Pow(x, math.Pow(2, -k)), 2) * math.Pow(2, -k)
		}
		if want /= 3; i == 0 {
			want = 0 // the series has a jump there, the estimator does not use it
		}
		if got := tau(x); math.Abs(got-want) > 1e-14 {
			t.Fatalf("tau(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsInf(sigma(1), 1) {
		t.Errorf("sigma(1) = %v", sigma(1))
	}
}

// Every rank a register can take, alone: a table or a shift too narrow for the
// high ranks shows here and nowhere else.
func TestEveryRank(t *testing.T) {
	for rank := uint8(1); rank <= MaxRank; rank++ {
		e := entry(5<<rankBits) | entry(rank)
		var s Sketch
		s.AddHash(e.hash())
		if n := s.Count(); n != 1 {
			t.Errorf("one register of rank %d counts %d", rank, n)
		}
		var full Sketch
		for i := range uint64(Registers) {
			full.AddHash(i | e.hash()&^(Registers-1))
		}
		want := alphaInf * Registers * math.Pow(2, float64(rank))
		if got := full.Count(); rank < 49 && math.Abs(float64(got)-want) > 0.5+want*1e-9 {
			t.Errorf("all registers of rank %d count %d, want %.1f", rank, got, want)
		} else if rank == MaxRank && got != 1<<63 {
			t.Errorf("all registers full count %d, want 2^63 as in Redis", got)
		}
	}
}
