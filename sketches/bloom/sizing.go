package bloom

import (
	"fmt"
	"math"
)

// MaxBits is the largest split-block filter: the number of a bit is a UInt32
// in ClickHouse.
const MaxBits = 1 << 32

// Bits returns the size in bits of the smallest split-block filter that holds
// capacity items at an error of at most err. It returns an error if capacity is
// not positive, if err is not between 0 and 1, or if MaxBits are not enough.
func Bits(capacity int, err float64) (uint64, error) {
	switch {
	case capacity <= 0:
		return 0, fmt.Errorf("bloom: a capacity of %d items; it must be at least 1", capacity)
	case !(err > 0 && err < 1):
		return 0, fmt.Errorf("bloom: an error of %v; it must lie between 0 and 1", err)
	case SplitBlockError(capacity, MaxBits) > err:
		return 0, fmt.Errorf("bloom: %d items at an error of %v need more than 2³² bits", capacity, err)
	}
	// Each further block lowers the error a little, so the answer lies not far
	// above the size of a classic filter, and a search from there is short. A
	// small chunk needs two filters of a few blocks each: for these it takes four
	// evaluations of the error instead of 24.
	classic := uint64(math.Ceil(float64(capacity) * -math.Log(err) / (math.Ln2 * math.Ln2)))
	low, high := uint64(0), min(1+classic/blockBits, MaxBits/blockBits) // too few blocks, enough blocks
	for SplitBlockError(capacity, high*blockBits) > err {
		low, high = high, min(high+1+high/4, MaxBits/blockBits)
	}
	for low+1 < high {
		mid := (low + high) / 2
		if SplitBlockError(capacity, mid*blockBits) <= err {
			high = mid
		} else {
			low = mid
		}
	}
	return high * blockBits, nil
}

func mustBits(capacity int, err float64) uint64 {
	bits, e := Bits(capacity, err)
	if e != nil {
		panic(e)
	}
	return bits
}

// SplitBlockError returns the expected share of false positives of a split-block
// filter of that many bits (a multiple of 256) after n different items. It
// holds beyond the capacity too: it says how the error grows when a filter is
// overfilled.
//
// The number j of items in a block is Poisson distributed with mean n/blocks.
// Each word of the block has a given bit set with probability 1 − (31/32)^j,
// and a false positive needs all eight.
func SplitBlockError(n int, bits uint64) float64 {
	blocks := bits / blockBits
	if n <= 0 || blocks == 0 {
		return 0
	}
	mean := float64(n) / float64(blocks)
	// The terms below and above this range add less than 1e-20 of the sum:
	// the distribution's standard deviation is √mean, and the factor j⁸ of
	// sparse blocks moves the weight up by at most eight.
	from := max(1, math.Floor(mean-12*math.Sqrt(mean)))
	to := math.Ceil(mean+12*math.Sqrt(mean)) + 60
	lg, _ := math.Lgamma(from + 1)
	p := math.Exp(from*math.Log(mean) - mean - lg)
	sum := 0.0
	for j := from; j <= to; j++ {
		sum += p * falsePositive(j)
		if p *= mean / (j + 1); j > mean && p < 1e-20*sum {
			break // what follows is less than that again
		}
	}
	return min(sum, 1)
}

// falsePositive returns the probability that a block with j items has all eight bits
// of another item. For a small j, the usual case, it is in a table.
func falsePositive(j float64) float64 {
	if j < float64(len(falsePositives)) {
		return falsePositives[int(j)]
	}
	return math.Pow(-math.Expm1(j*math.Log(31.0/32)), perItem)
}

var falsePositives = func() (t [128]float64) {
	for j := range t {
		t[j] = math.Pow(-math.Expm1(float64(j)*math.Log(31.0/32)), perItem)
	}
	return t
}()
