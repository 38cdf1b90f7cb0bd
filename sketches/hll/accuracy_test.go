package hll

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// The cardinalities that the test looks at, and the relative standard error at
// each, measured in 20,000 trials to half a percent of its value. For few
// elements it comes from collisions of registers, 1/√(2m) = 0.552 %; for many
// it is 1.04/√m = 0.81 %.
var accuracy = [...]struct {
	n   int
	rse float64
}{
	{100, 0.0055}, {1000, 0.00556}, {5000, 0.005785}, {12000, 0.00603}, {41000, 0.00671}, {70000, 0.007215}, {300000, 0.007914},
}

// An estimator is a sketch or a broken model of one.
type estimator interface {
	AddHash(h uint64) bool
	Count() uint64
	raw() float64 // before rounding
}

func (s *Sketch) raw() float64 {
	s.refresh()
	return estimate(s.hist[:MaxRank+1], Registers-s.n, Registers)
}

// measure grows estimators through all cardinalities up to limit, trial by
// trial with different elements, and returns what is wrong with its estimates:
// a bias beyond four standard errors of the mean of the trials (0.10 % of n for
// a thousand), or a root mean square error more than four of its own standard
// errors away from the expected one, above or below (9 % for a thousand). It
// looks at the estimate before rounding: at 100 elements a sketch has 0.3
// collisions of registers on average, each of which costs 1, so rounding to a
// whole number would alone be a bias of 0.3 %.
func measure(fresh func() estimator, trials, limit int) (faults []string) {
	var sum, squares [len(accuracy)]float64
	tens := 0 // trials in which ten elements are not counted as ten
	var id [8]byte
	for trial := range trials {
		s := fresh()
		i := 0
		grow := func(n int) {
			for ; i < n; i++ {
				binary.LittleEndian.PutUint64(id[:], uint64(trial)<<32|uint64(i))
				s.AddHash(Hash(id[:]))
			}
		}
		grow(1)
		if e := s.Count(); e != 1 {
			return []string{fmt.Sprintf("one element counts %v", e)}
		}
		grow(10)
		switch e := s.Count(); {
		case e < 9 || e > 11:
			return []string{fmt.Sprintf("ten elements count %v", e)}
		case e != 10:
			tens++
		}
		for k, a := range accuracy {
			if a.n > limit {
				break
			}
			grow(a.n)
			e := s.raw()/float64(a.n) - 1
			sum[k] += e
			squares[k] += e * e
		}
	}
	T := float64(trials)
	// Two of ten elements share a register in 45 of 16,384 trials.
	if p := 45. / Registers; float64(tens) > T*p+4*math.Sqrt(T*p) {
		faults = append(faults, fmt.Sprintf("ten elements are miscounted in %d of %d trials", tens, trials))
	}
	for k, a := range accuracy {
		if a.n > limit {
			break
		}
		bias, rmse := sum[k]/T, math.Sqrt(squares[k]/T)
		if math.Abs(bias) > 4*a.rse/math.Sqrt(T) {
			faults = append(faults, fmt.Sprintf("n=%d: bias %+.4f %%, at most %.4f", a.n, 100*bias, 400*a.rse/math.Sqrt(T)))
		}
		// The variance of a variance, for a normal distribution; at 100
		// elements the few collisions are Poisson, with a longer tail.
		spread := 4 / math.Sqrt(2*T)
		if a.n == 100 {
			spread *= math.Sqrt((2 + 1/0.302) / 2)
		}
		if q := rmse / a.rse; math.Abs(q-1) > spread {
			faults = append(faults, fmt.Sprintf("n=%d: rmse %.4f %%, want %.4f within %.0f %%", a.n, 100*rmse, 100*a.rse, 100*spread))
		}
	}
	return faults
}

func TestAccuracy(t *testing.T) {
	for _, f := range measure(func() estimator { return new(Sketch) }, 1000, 300000) {
		t.Error(f)
	}
}

// A model counts like a Sketch, from registers packed as Redis packs them. Its
// fields plant mistakes in it.
type model struct {
	indexBits int
	rankOff   int
	constant  float64
	lostCarry bool // the part of a register in the next byte is not written

	packed [packedBytes]byte
}

func (m *model) AddHash(h uint64) bool {
	_, r := split(h)
	i := uint32(h & (1<<m.indexBits - 1))
	r = uint8(int(r) + m.rankOff)
	b := i * 6 / 8
	var next byte
	if b+1 < packedBytes {
		next = m.packed[b+1]
	}
	rose := packedRaise(m.packed[:], i, r) < r
	if m.lostCarry && b+1 < packedBytes {
		m.packed[b+1] = next
	}
	return rose
}

func (m *model) raw() float64 {
	h := packedHistogram(m.packed[:])
	return estimate(h[:MaxRank+1], int(h[0]), Registers) * m.constant / alphaInf
}

func (m *model) Count() uint64 { return round(m.raw()) }

// The statistics must be able to fail: some HyperLogLog library has made each
// mistake planted here, and a fifth of the trials is enough to find it.
func TestAccuracyFindsMistakes(t *testing.T) {
	for _, c := range []struct {
		name  string
		model model
		right bool
	}{
		{"no mistake", model{14, 0, alphaInf, false, [packedBytes]byte{}}, true},
		{"the constant for 64 registers", model{indexBits: 14, constant: 0.709}, false},
		{"the constant for 16 registers", model{indexBits: 14, constant: 0.673}, false},
		{"rank one too high", model{indexBits: 14, constant: alphaInf, rankOff: 1}, false},
		{"rank one too low", model{indexBits: 14, constant: alphaInf, rankOff: -1}, false},
		{"13 index bits", model{indexBits: 13, constant: alphaInf}, false},
		{"carry lost at a register boundary", model{indexBits: 14, constant: alphaInf, lostCarry: true}, false},
	} {
		faults := measure(func() estimator { m := c.model; return &m }, 200, 41000)
		if c.right != (len(faults) == 0) {
			t.Errorf("%s: found %q", c.name, faults)
		}
		t.Logf("%s: %q", c.name, faults)
	}
}

// The exact counts of a real Redis in testdata find mistakes that are too small
// or too rare for statistics. TestEveryRank and TestRedisEstimates set
// registers that no stream of events reaches during a test.
func TestExactCountsFindMistakes(t *testing.T) {
	v, count := readGolden(t, "100000")
	h := packedHistogram(v[headerBytes:])
	e := estimate(h[:MaxRank+1], int(h[0]), Registers)
	if round(e) != count {
		t.Fatalf("count %v, redis %d", e, count)
	}
	oldConstant := 0.7213 / (1 + 1.079/Registers)
	if n := round(e / alphaInf * oldConstant); n == count {
		t.Errorf("the constant of the original paper (0.013 %% off) gives the same count")
	}
}
