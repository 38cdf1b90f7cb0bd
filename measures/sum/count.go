// Package sum has the kinds of measure that add up a number, and that show its mean.
package sum

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/big"
	"math/bits"
	"strconv"

	"weir/event"
	"weir/measures/extreme"
	"weir/measures/slots"
	"weir/window"
)

// Sum adds up a numeric field, exactly: in units of 10^-Scale. Avg stores the same, and
// shows the mean.
var (
	Sum = newKind("sum", false, func(m *window.Measure, number uint64) string {
		return Total{Units: int128(int64(number))}.Text(m.Scale)
	})
	Avg = newKind("avg", true, func(_ *window.Measure, rank uint64) string { return extreme.Text(rank, 0) })
)

func newKind(name string, mean bool, text func(*window.Measure, uint64) string) *window.Kind {
	return &window.Kind{
		Name:     name,
		Additive: true,
		Intake: func(_ *window.Spec, m *window.Measure, _ []int) window.Intake {
			return &intake{scale: m.Scale, round: m.Round}
		},
		Column: func(m *window.Measure) window.Column { return &column{mean: mean, scale: m.Scale} },
		Tally:  func(*window.Measure) window.Tally { return new(tally) },
		Text:   text,
	}
}

// maxScale is the greatest Scale. With it a number may have nine digits before the point.
const maxScale = 9

// A Total is the sum of some events.
type Total struct {
	Events uint64 // that had a number
	Units  Int128 // of 10^-Scale
}

// Add returns the total of both.
func (t Total) Add(o Total) Total { return Total{t.Events + o.Events, t.Units.add(o.Units)} }

// later returns the greater of two totals of one slot, in ClickHouse's order of tuples:
// that of more events, which are a longer prefix of the same ones.
func (t Total) later(o Total) Total {
	if o.Events > t.Events || o.Events == t.Events && t.Units.less(o.Units) {
		return o
	}
	return t
}

// Text returns the sum in decimal digits, with scale digits after the point.
func (t Total) Text(scale int) string {
	text := t.Units.big().String()
	if scale == 0 {
		return text
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for len(text) <= scale {
		text = "0" + text
	}
	return sign + text[:len(text)-scale] + "." + text[len(text)-scale:]
}

// Float returns the sum as a Float64, with the roundings of ClickHouse's toFloat64: that of
// the units, and that of the division by 10^scale.
func (t Total) Float(scale int) float64 {
	f, _ := new(big.Float).SetInt(t.Units.big()).Float64()
	return f / powers[scale]
}

var powers = [maxScale + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// Mean returns the sum divided by the number of events, which is not 0.
func (t Total) Mean(scale int) float64 { return t.Float(scale) / float64(t.Events) }

// An Int128 is a signed integer of 128 bits, in two's complement.
type Int128 struct {
	High int64
	Low  uint64
}

func int128(n int64) Int128 { return Int128{n >> 63, uint64(n)} }

func (a Int128) add(b Int128) Int128 {
	low, carry := bits.Add64(a.Low, b.Low, 0)
	return Int128{a.High + b.High + int64(carry), low}
}

func (a Int128) less(b Int128) bool { return a.High < b.High || a.High == b.High && a.Low < b.Low }

func (a Int128) big() *big.Int {
	n := big.NewInt(a.High)
	return n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(a.Low))
}

type intake struct {
	scale int
	round bool
	units [window.BlockSize]int64
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if in.scale == 0 {
			if whole, ok := d.Whole(e, at); ok {
				in.units[e] = whole
				continue
			}
		}
		v := d.Value(e, at)
		scaled := v.Scaled
		if in.round {
			scaled = v.Rounded
		}
		units, large, ok := scaled(in.scale)
		switch {
		case ok:
			in.units[e] = units
		case !v.Numeric():
			d.Refuse(e, at, window.NotNumber(v))
		case large:
			d.Refuse(e, at, "is beyond "+Total{Units: int128(event.MaxUnits)}.Text(in.scale)+", the greatest number that a sum of scale "+strconv.Itoa(in.scale)+" takes")
		default:
			d.Refuse(e, at, "has more than "+strconv.Itoa(in.scale)+" digits after the point, which is the scale of the measure; a greater scale takes them, and round: true rounds them")
		}
	}
}

func (in *intake) Add(to window.Store, cells []uint32, events []window.Entry) {
	totals := to.(*tally).totals
	for n, i := range cells {
		t := &totals[i]
		t.Events++
		t.Units = t.Units.add(int128(in.units[events[n]]))
	}
}

type tally struct {
	totals []Total // by cell
}

func (t *tally) Grow(n int) {
	for len(t.totals) < n {
		t.totals = append(t.totals, Total{})
	}
}

func (t *tally) Reset() { t.totals = t.totals[:0] }

func (t *tally) Bytes() int { return 24 * cap(t.totals) }

func (t *tally) Report(cell uint32, slot window.Slot, to window.Column, row uint32) {
	if total := t.totals[cell]; total.Events > 0 {
		to.(*column).put(row, slot, total)
	}
}

func (t *tally) AppendState(dst []byte) []byte {
	dst, _ = binary.Append(dst, binary.LittleEndian, t.totals) // of a fixed size
	return dst
}

func (t *tally) Load(state []byte) (rest []byte) {
	n, _ := binary.Decode(state, binary.LittleEndian, t.totals)
	return state[n:]
}

type column struct {
	slots.Slots[Total]
	mean  bool // the number is that of Avg
	scale int
}

func (c *column) put(i uint32, slot window.Slot, total Total) {
	have, _ := c.At(i, slot)
	*have = have.later(total)
}

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	for slot, total := range from.(*column).Of(j) {
		c.put(i, slot, *total)
	}
}

// total returns the total of row i: that of its slots, or that of a rollup if it has more.
func (c *column) total(i uint32) (sum Total) {
	var whole Total
	for slot, t := range c.Of(i) {
		if slot == window.Whole {
			whole = *t
		} else {
			sum = sum.Add(*t)
		}
	}
	return sum.later(whole)
}

func (c *column) Plus(i uint32, from window.Column, j uint32) {
	have, _ := c.At(i, window.Whole)
	*have = have.Add(from.(*column).total(j))
}

// Number returns the low half of the units, or for Avg the rank of the mean.
func (c *column) Number(i uint32) uint64 {
	switch t := c.total(i); {
	case t.Events == 0:
		return 0
	case c.mean:
		return extreme.Rank(t.Mean(c.scale))
	default:
		return t.Units.Low
	}
}

// entryBytes is the size of a slot and its total in a state: slot, events, units, all
// little-endian.
const entryBytes = 8 + 8 + 16

var errState = errors.New("not the state of a sum: 32 bytes for each slot, slots ascending")

func (c *column) Load(i uint32, state []byte) error {
	if len(state)%entryBytes != 0 {
		return errState
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(state[at:]) }
	for at := 0; at < len(state); at += entryBytes {
		if at > 0 && word(at) <= word(at-entryBytes) {
			return errState
		}
	}
	for at := 0; at < len(state); at += entryBytes {
		c.put(i, window.Slot(word(at)), Total{word(at + 8), Int128{int64(word(at + 24)), word(at + 16)}})
	}
	return nil
}

func (c *column) AppendState(dst []byte, i uint32) []byte {
	for slot, t := range c.Of(i) {
		for _, word := range [...]uint64{uint64(slot), t.Events, t.Units.Low, uint64(t.Units.High)} {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	return dst
}

// Slots yields the slots of measure m of a row, ascending, and the total of each.
func Slots(r window.Row, m int) iter.Seq2[window.Slot, *Total] {
	c, i := r.Column(m)
	return c.(*column).Of(i)
}

// Of returns the total of measure m of a row.
func Of(r window.Row, m int) Total {
	c, i := r.Column(m)
	return c.(*column).total(i)
}
