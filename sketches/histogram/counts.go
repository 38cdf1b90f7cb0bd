package histogram

import "slices"

// A Count says how many numbers are in a bucket.
type Count struct {
	Bucket Bucket
	N      uint64
}

// Counts is a histogram: its buckets that are not empty, ascending, all of one scale.
type Counts []Count

// Add adds the counts of o: the histogram of different numbers. It does not keep o.
func (c *Counts) Add(o Counts) {
	have := *c
	missing, i := 0, 0
	for _, e := range o {
		for i < len(have) && have[i].Bucket < e.Bucket {
			i++
		}
		if i == len(have) || have[i].Bucket != e.Bucket {
			missing++
		}
	}
	// From the end, so that it moves into the room behind what it has.
	i = len(have) - 1
	have = slices.Grow(have, missing)[:len(have)+missing]
	for to, j := len(have)-1, len(o)-1; j >= 0; to-- {
		switch {
		case i < 0 || have[i].Bucket < o[j].Bucket:
			have[to] = o[j]
			j--
		case have[i].Bucket == o[j].Bucket:
			have[to] = Count{o[j].Bucket, have[i].N + o[j].N}
			i, j = i-1, j-1
		default:
			have[to] = have[i]
			i--
		}
	}
	*c = have
}

// Total returns how many numbers there are.
func (c Counts) Total() (n uint64) {
	for _, e := range c {
		n += e.N
	}
	return n
}

// Quantile returns the value of the bucket with number ⌊q·n⌋ of the n numbers in ascending
// order, from 0, and the last number for q = 1. It differs from that number by at most
// Error times the number. ok is false if there are no numbers. q is 0 to 1.
func (c Counts) Quantile(q float64) (v float64, ok bool) {
	if len(c) == 0 {
		return 0, false
	}
	at := uint64(q * float64(c.Total()))
	for _, e := range c[:len(c)-1] {
		if at < e.N {
			return e.Bucket.Value(), true
		}
		at -= e.N
	}
	return c[len(c)-1].Bucket.Value(), true
}

// Below returns the share of the numbers that are less than v; those in the bucket of v
// count half. It is not a number if there are no numbers.
func (c Counts) Below(v float64) float64 {
	at, in := slices.BinarySearchFunc(c, v, func(e Count, v float64) int { return e.Bucket.compare(v) })
	below := float64(c[:at].Total())
	if in {
		below += float64(c[at].N) / 2
	}
	return below / float64(c.Total())
}

// compare tells whether the numbers of the bucket are less than v, greater, or around it.
func (b Bucket) compare(v float64) int {
	least, most := b.Bounds()
	switch place := b.place(); {
	case v < least || v == least && place >= 0:
		return 1
	case v > most || v == most && place <= 0:
		return -1
	}
	return 0
}
