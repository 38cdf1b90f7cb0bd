package window

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// An extreme keeps the greatest or the least value of a numeric field, a Float64. The
// state is the value itself, because extremes merge as their values do.
type extreme struct {
	grouped
	name string
	// flip inverts the ranks of the kind that keeps the least number: none or all bits.
	// So both kinds keep the greatest rank.
	flip uint64
}

func (k extreme) String() string { return k.name }

func (extreme) HoldsValues() bool { return false }

func (k extreme) text(_ *Measure, rank uint64) string {
	if rank == 0 {
		return "nothing"
	}
	return strconv.FormatFloat(unrank(rank^k.flip), 'g', -1, 64)
}

func (extreme) paths(*Measure) []string { return nil }

func (k extreme) column(*Measure) column { return &extremeColumn{flip: k.flip} }

func (k extreme) intake(*Spec, *Measure, []int) intake { return &extremeIntake{flip: k.flip} }

// rank maps a finite float64 to a number above 0, in the same order: its bits with the
// sign flipped, and for a negative number all bits flipped. f must not be −0. The rank is
// not ^0 either, which would be that of a NaN.
func rank(f float64) uint64 {
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func unrank(rank uint64) float64 {
	if rank>>63 == 1 {
		return math.Float64frombits(rank &^ (1 << 63))
	}
	return math.Float64frombits(^rank)
}

// positive replaces −0 by 0. The two are equal, so which of them is stored would depend
// on the order of the events.
func positive(f float64) float64 {
	if f == 0 {
		return 0
	}
	return f
}

type extremeIntake struct {
	flip  uint64
	ranks [blockSize]uint64
}

func (in *extremeIntake) read(d *decoder, at, n int) (bool, string) {
	f, reason := d.float(at)
	in.ranks[n] = rank(positive(f)) ^ in.flip
	return reason == "", reason
}

func (in *extremeIntake) add(to store, rows []uint32) {
	ranks := to.(*extremeColumn).ranks
	for n, i := range rows {
		ranks[i] = max(ranks[i], in.ranks[n])
	}
}

// An extremeColumn has the rank of each row's number, 0 where there is none.
type extremeColumn struct {
	flip  uint64
	ranks []uint64
}

func (c *extremeColumn) grow(n int) {
	for len(c.ranks) < n {
		c.ranks = append(c.ranks, 0)
	}
}

func (c *extremeColumn) merge(i uint32, from column, j uint32) {
	c.ranks[i] = max(c.ranks[i], from.(*extremeColumn).ranks[j])
}

var errExtremeState = errors.New("not the state of a greatest or least number: eight bytes of a finite Float64, or none")

func (c *extremeColumn) load(i uint32, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) != 8 {
		return errExtremeState
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(state))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errExtremeState
	}
	c.ranks[i] = max(c.ranks[i], rank(positive(f))^c.flip)
	return nil
}

// appendState appends the eight bytes of the number, little-endian; nothing if there
// is none.
func (c *extremeColumn) appendState(dst []byte, i uint32) []byte {
	if c.ranks[i] == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(unrank(c.ranks[i]^c.flip)))
}

func (c *extremeColumn) number(i uint32) uint64 { return c.ranks[i] }

func (c *extremeColumn) reset() { c.ranks = c.ranks[:0] }

func (c *extremeColumn) bytes() int { return 8 * cap(c.ranks) }

// Extreme returns the number of measure m, which is of kind Max or Min; ok is false if
// the row has none.
func (r Row) Extreme(m int) (f float64, ok bool) {
	c := r.t.columns[m].(*extremeColumn)
	n := c.ranks[r.i]
	if n == 0 {
		return 0, false
	}
	return unrank(n ^ c.flip), true
}
