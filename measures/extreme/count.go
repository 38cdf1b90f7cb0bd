// Package extreme has the kinds of measure that keep the least and the greatest value of a number.
package extreme

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"weir/window"
)

// Min keeps the least value of a numeric field, a Float64, and Max the greatest. The state
// is the value itself, because extremes merge as their values do.
var (
	Min = newKind("min", ^uint64(0))
	Max = newKind("max", 0)
)

// newKind makes a kind. flip inverts the ranks of the one that keeps the least number: none or
// all bits. So both keep the greatest rank.
func newKind(name string, flip uint64) *window.Kind {
	return &window.Kind{
		Name:   name,
		Intake: func(*window.Spec, *window.Measure, []int) window.Intake { return &intake{flip: flip} },
		Column: func(*window.Measure) window.Column { return &column{flip: flip} },
		Text:   func(_ *window.Measure, rank uint64) string { return Text(rank, flip) },
	}
}

// Text formats a rank, whose bits of flip are inverted, for people; 0 is nothing.
func Text(rank, flip uint64) string {
	if rank == 0 {
		return "nothing"
	}
	return strconv.FormatFloat(unrank(rank^flip), 'g', -1, 64)
}

// Rank maps a finite float64 to a number above 0, in the same order: its bits with the
// sign flipped, and for a negative number all bits flipped. −0 has the rank of 0: the two are
// equal, so which of them is stored would depend on the order of the events. No rank is ^0,
// which would be that of a NaN.
func Rank(f float64) uint64 {
	bits := math.Float64bits(f + 0) // −0 + 0 is 0
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

type intake struct {
	flip  uint64
	ranks [window.BlockSize]uint64
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if f, ok := d.Float(e, at); ok {
			in.ranks[e] = Rank(f) ^ in.flip
		}
	}
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	ranks := to.(*column).ranks
	for n, i := range rows {
		ranks[i] = max(ranks[i], in.ranks[events[n]])
	}
}

// A column has the rank of each row's number, 0 where there is none.
type column struct {
	flip  uint64
	ranks []uint64
}

func (c *column) Grow(n int) {
	for len(c.ranks) < n {
		c.ranks = append(c.ranks, 0)
	}
}

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	c.ranks[i] = max(c.ranks[i], from.(*column).ranks[j])
}

var errState = errors.New("not the state of a greatest or least number: eight bytes of a finite Float64, or none")

func (c *column) Load(i uint32, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) != 8 {
		return errState
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(state))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errState
	}
	c.ranks[i] = max(c.ranks[i], Rank(f)^c.flip)
	return nil
}

// AppendState appends the eight bytes of the number, little-endian; nothing if there
// is none.
func (c *column) AppendState(dst []byte, i uint32) []byte {
	if c.ranks[i] == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(unrank(c.ranks[i]^c.flip)))
}

func (c *column) Number(i uint32) uint64 { return c.ranks[i] }

func (c *column) Reset() { c.ranks = c.ranks[:0] }

func (c *column) Bytes() int { return 8 * cap(c.ranks) }

// Of returns the number of measure m of a row; ok is false if the row has none.
func Of(r window.Row, m int) (f float64, ok bool) {
	of, i := r.Column(m)
	c := of.(*column)
	if c.ranks[i] == 0 {
		return 0, false
	}
	return unrank(c.ranks[i] ^ c.flip), true
}
