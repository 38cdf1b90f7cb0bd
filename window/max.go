package window

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"weir/event"
)

// Max keeps the greatest value of a numeric field, a Float64. The state is the value
// itself, because a maximum merges by maximum.
var Max Kind = maxKind{}

type maxKind struct{ grouped }

func (maxKind) String() string { return "max" }

func (maxKind) HoldsIDs() bool { return false }

func (maxKind) Text(rank uint64) string {
	if rank == 0 {
		return "nothing"
	}
	return strconv.FormatFloat(unrank(rank), 'g', -1, 64)
}

func (maxKind) check(*Measure, func(bool, string, ...any)) {}

func (maxKind) paths(*Measure) []string { return nil }

func (maxKind) column(*Measure) column { return new(maxColumn) }

func (maxKind) intake(*Spec, *Measure, []int) intake { return new(maxIntake) }

// rank maps a finite float64 to a number above 0, in the same order: its bits with the
// sign flipped, and for a negative number all bits flipped. f must not be −0.
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

type maxIntake struct{ ranks [blockSize]uint64 }

func (in *maxIntake) read(d *decoder, at, n int) (bool, string) {
	f, ok := d.vals[at].Float()
	switch {
	case ok:
	case d.vals[at].Kind == event.Number:
		return false, d.wrong(at, "is a number beyond 1.8e308, the greatest Float64")
	default:
		return false, d.wrong(at, "is not a number")
	}
	in.ranks[n] = rank(positive(f))
	return true, ""
}

func (in *maxIntake) add(to column, rows []uint32) {
	ranks := to.(*maxColumn).ranks
	for n, i := range rows {
		ranks[i] = max(ranks[i], in.ranks[n])
	}
}

// A maxColumn has the rank of each row's number, 0 where there is none.
type maxColumn struct{ ranks []uint64 }

func (c *maxColumn) grow(n int) {
	for len(c.ranks) < n {
		c.ranks = append(c.ranks, 0)
	}
}

func (c *maxColumn) merge(i uint32, from column, j uint32) {
	c.ranks[i] = max(c.ranks[i], from.(*maxColumn).ranks[j])
}

var errMaxState = errors.New("not the state of a greatest number: eight bytes of a finite Float64, or none")

func (c *maxColumn) load(i uint32, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) != 8 {
		return errMaxState
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(state))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errMaxState
	}
	c.ranks[i] = max(c.ranks[i], rank(positive(f)))
	return nil
}

// appendState appends the eight bytes of the number, little-endian; nothing if there
// is none.
func (c *maxColumn) appendState(dst []byte, i uint32) []byte {
	if c.ranks[i] == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(unrank(c.ranks[i])))
}

func (c *maxColumn) number(i uint32) uint64 { return c.ranks[i] }

func (c *maxColumn) reset() { c.ranks = c.ranks[:0] }

func (c *maxColumn) bytes() int { return 8 * cap(c.ranks) }

// Max returns the number of measure m, which is of kind Max; ok is false if the row has
// none.
func (r Row) Max(m int) (f float64, ok bool) {
	n := r.Number(m)
	if n == 0 {
		return 0, false
	}
	return unrank(n), true
}
