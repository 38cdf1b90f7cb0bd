package hll

import "math"

// A histogram counts the registers by rank; entries above MaxRank stay zero. 64
// places make a masked rank a safe index, and 16,384 fits a uint16. A sketch in
// use updates it with each register, so that counting needs no pass over the
// registers. It does not update the entry of rank 0: the number of zero
// registers is Registers minus the others.
type histogram [64]uint16

// move records that one register rose from rank old to rank r.
func (h *histogram) move(old, r uint8) {
	h[old&63]--
	h[r&63]++
}

// estimate is Ertl's improved raw estimator ("New cardinality estimation
// algorithms for HyperLogLog sketches", arXiv 1702.01284, algorithm 6), the one
// Redis uses since 5.0:
//
//	z = m·σ(zeros/m) + Σ counts[k]·2^-k + m·τ(1 - counts[last]/m)·2^-(last-1)
//	estimate = m²/(2·ln2·z)
//
// where counts[k] is the number of registers of rank k, m their total and
// counts[0] is ignored in favour of zeros. Every product is rounded on its own
// (the conversions forbid fused multiply-add), in Redis' order of operations,
// so the result is the same on every machine, and the same as Redis'.
//
// It never falls when a register rises. Moving one register from rank k to k+1
// takes 2^-k from z and gives back half of it (for the last rank, at most a
// third, the slope of τ; for rank 0, at least 1, the slope of σ, is taken and
// 1/2 given back). In the order of summation below that is a difference of at
// least one half against rounding errors below 2^-36, every later step is
// monotone, and so is the rounding of the result.
func estimate[T uint16 | uint32](counts []T, zeros int, m float64) float64 {
	last := len(counts) - 1
	z := float64(m * tau((m-float64(counts[last]))/m))
	for k := last - 1; k >= 1; k-- {
		z = float64((z + float64(counts[k])) * 0.5)
	}
	z += float64(m * sigma(float64(zeros)/m))
	return alphaInf * m * m / z
}

const alphaInf = 0.721347520444481703680 // 1/(2 ln 2), with Redis' digits

// sigma is x + Σ x^(2^k)·2^(k-1) over k ≥ 1, which accounts for the registers
// that are still zero.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x = float64(x * x)
		was := z
		z += float64(x * y)
		y += y
		if z == was {
			return z
		}
	}
}

// tau is (1 - x - Σ (1 - x^(2^-k))²·2^-k)/3 over k ≥ 1, which accounts for the
// registers that can rise no further.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		was := z
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
		if z == was {
			return z / 3
		}
	}
}

// round is C's llround as amd64 computes it: a number beyond the range of int64
// becomes 2^63, in Redis as here.
func round(x float64) uint64 {
	if x >= 1<<63 {
		return 1 << 63
	}
	return uint64(math.Round(x))
}

// nonzero returns the number of registers above rank 0.
func (h *histogram) nonzero() (n int) {
	for _, c := range h[1 : MaxRank+1] {
		n += int(c)
	}
	return n
}

// countRanks returns the histogram of a list of entries, without its zero entries.
func countRanks(list []entry) (h histogram) {
	for _, e := range list {
		if e != 0 {
			h[e.rank()]++
		}
	}
	return h
}

// count returns the estimate for Registers registers, of which zeros are zero.
func (h *histogram) count(zeros int) uint64 {
	return round(estimate(h[:MaxRank+1], zeros, Registers))
}
