package gen

import (
	"math"
	"math/bits"
)

// A source is SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014): a counter and a mixer. The
// standard library's generators do not promise their sequences for ever.
type source uint64

const golden = 0x9e3779b97f4a7c15

func (s *source) next() uint64 {
	*s += golden
	return mix(uint64(*s))
}

// below returns a number in [0, n), uniform up to one part in 2^64/n.
func (s *source) below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.next(), n)
	return hi
}

// mix is SplitMix64's finalizer, a permutation of the 64-bit numbers.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns a number that depends on (seed, what, a, b) alone, such as the
// home town of a person.
func hash(seed uint64, what draw, a, b uint64) uint64 {
	return mix(mix(mix(seed+golden*uint64(what))^a) + golden*b)
}

// A draw names the purpose of a hash, so that hashes for two purposes are
// independent.
type draw uint64

const (
	drawStream draw = iota
	drawVisitor
	drawHome
	drawTrip
	drawCorner
)

// threshold turns a share into a bound for 53 random bits.
func threshold(share float64) uint64 { return uint64(share * (1 << 53)) }

// A weighted chooses among n things in proportion to integer weights, by
// Walker's alias method in Vose's form (1991): one draw, two loads.
type weighted struct {
	keep  []uint32 // of 2^32: how often slot i stands for itself
	alias []uint32 // the thing it stands for otherwise
}

// newWeighted takes weights below 2^33, at most 2^20 of them, not all zero.
func newWeighted(weights []uint64) weighted {
	n := uint64(len(weights))
	w := weighted{make([]uint32, n), make([]uint32, n)}
	var total uint64
	for _, x := range weights {
		total += x
	}
	// Slots are filled to the average: a slot with too little takes the rest from
	// one with too much. All numbers are times n, so that they stay whole.
	left := make([]uint64, n)
	var short, long []uint32
	for i, x := range weights {
		left[i] = x * n
		if left[i] < total {
			short = append(short, uint32(i))
		} else {
			long = append(long, uint32(i))
		}
	}
	for len(short) > 0 && len(long) > 0 {
		s, l := short[len(short)-1], long[len(long)-1]
		short = short[:len(short)-1]
		hi, lo := bits.Mul64(left[s], 1<<32)
		q, _ := bits.Div64(hi, lo, total)
		w.keep[s], w.alias[s] = uint32(q), l
		left[l] -= total - left[s]
		if left[l] < total {
			long = long[:len(long)-1]
			short = append(short, l)
		}
	}
	for _, i := range append(short, long...) {
		w.keep[i], w.alias[i] = math.MaxUint32, i
	}
	return w
}

func (w *weighted) choose(random uint64) uint32 {
	slot := uint32(random >> 32 * uint64(len(w.keep)) >> 32)
	if uint32(random) < w.keep[slot] {
		return slot
	}
	return w.alias[slot]
}

// zipf returns weights n^-skew for n things, scaled to 2^32.
func zipf(n int, skew float64) []uint64 {
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = uint64(math.Round(math.Pow(float64(i+1), -skew) * (1 << 32)))
	}
	return weights
}

// activitySigma is the spread of the people's activity, which is log-normal:
// the busiest hundredth makes a fifth of the traffic.
const activitySigma = 1.5

// An activity chooses people by how active they are. If activities are
// log-normal with spread σ, then the person of a random event has the rank Φ(σ
// + z) among all people from least to most active, where z is standard normal
// (the size-biased log-normal is a shifted log-normal). The table holds the
// ranks at 1,024 steps of probability, with straight lines between them, and
// takes 8 KB for any number of people.
type activity [1025]uint64 // of 2^32: rank at probability i/1024

func newActivity() *activity {
	var a activity
	for i := 1; i < len(a)-1; i++ {
		z := math.Sqrt2 * math.Erfinv(2*float64(i)/1024-1)
		a[i] = uint64(math.Round(math.Erfc(-(z+activitySigma)/math.Sqrt2) * (1 << 31)))
	}
	a[len(a)-1] = 1 << 32
	return &a
}

// choose returns a rank in [0, n), n below 2^32.
func (a *activity) choose(random, n uint64) uint64 {
	step, part := random>>54, random>>22&(1<<32-1)
	at := a[step] + (a[step+1]-a[step])*part>>32
	return at * n >> 32
}
