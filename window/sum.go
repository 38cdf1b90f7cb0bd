package window

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/big"
	"math/bits"
	"strconv"

	"weir/event"
)

// Sum adds up a numeric field, exactly: in units of 10^-Scale. Avg stores the same, and
// shows the mean.
var (
	Sum Kind = sumKind{name: "sum"}
	Avg Kind = sumKind{name: "avg"}
)

type sumKind struct {
	added
	name string
}

func (k sumKind) String() string { return k.name }

// maxScale is the greatest Scale. With it a number may have nine digits before the point.
const maxScale = 9

func (sumKind) paths(*Measure) []string { return nil }

func (k sumKind) column(m *Measure) column { return &sumColumn{mean: k == Avg, scale: m.Scale} }

func (sumKind) tally(*Measure) tally { return new(sumTally) }

func (sumKind) intake(_ *Spec, m *Measure, _ []int) intake { return &sumIntake{scale: m.Scale} }

func (k sumKind) text(m *Measure, number uint64) string {
	if k == Avg {
		return Max.text(m, number)
	}
	return Total{Units: int128(int64(number))}.Text(m.Scale)
}

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

type sumIntake struct {
	scale int
	units [blockSize]int64
}

func (in *sumIntake) read(d *decoder, at, n int) (bool, string) {
	if in.scale == 0 {
		if whole, ok := d.whole(at); ok {
			in.units[n] = whole
			return true, ""
		}
	}
	units, large, ok := d.vals[at].Scaled(in.scale)
	in.units[n] = units
	switch {
	case ok:
		return true, ""
	case d.vals[at].Kind != event.Number:
		return false, d.wrong(at, "is not a number")
	case large:
		return false, d.wrong(at, "is beyond "+Total{Units: int128(event.MaxUnits)}.Text(in.scale)+", the greatest number that a sum of scale "+strconv.Itoa(in.scale)+" takes")
	}
	return false, d.wrong(at, "has more than "+strconv.Itoa(in.scale)+" digits after the point, which is the scale of the measure")
}

func (in *sumIntake) add(to store, cells []uint32) {
	totals := to.(*sumTally).totals
	for n, i := range cells {
		t := &totals[i]
		t.Events++
		t.Units = t.Units.add(int128(in.units[n]))
	}
}

type sumTally struct {
	totals []Total // by cell
}

func (t *sumTally) grow(n int) {
	for len(t.totals) < n {
		t.totals = append(t.totals, Total{})
	}
}

func (t *sumTally) reset() { t.totals = t.totals[:0] }

func (t *sumTally) bytes() int { return 24 * cap(t.totals) }

func (t *sumTally) report(cell uint32, slot Slot, to column, row uint32) {
	if total := t.totals[cell]; total.Events > 0 {
		to.(*sumColumn).put(row, slot, total)
	}
}

type sumColumn struct {
	slots[Total]
	mean  bool // the number is that of Avg
	scale int
}

func (c *sumColumn) put(i uint32, slot Slot, total Total) {
	have, _ := c.at(i, slot)
	*have = have.later(total)
}

func (c *sumColumn) merge(i uint32, from column, j uint32) {
	for slot, total := range from.(*sumColumn).of(j) {
		c.put(i, slot, *total)
	}
}

// total returns the total of row i: that of its slots, or that of a rollup if it has more.
func (c *sumColumn) total(i uint32) (sum Total) {
	var whole Total
	for slot, t := range c.of(i) {
		if slot == Whole {
			whole = *t
		} else {
			sum = sum.Add(*t)
		}
	}
	return sum.later(whole)
}

func (c *sumColumn) plus(i uint32, from column, j uint32) {
	have, _ := c.at(i, Whole)
	*have = have.Add(from.(*sumColumn).total(j))
}

// number returns the low half of the units, or for Avg the rank of the mean.
func (c *sumColumn) number(i uint32) uint64 {
	switch t := c.total(i); {
	case t.Events == 0:
		return 0
	case c.mean:
		return rank(positive(t.Mean(c.scale)))
	default:
		return t.Units.Low
	}
}

// entryBytes is the size of a slot and its total in a state: slot, events, units, all
// little-endian.
const entryBytes = 8 + 8 + 16

var errSumState = errors.New("not the state of a sum: 32 bytes for each slot, slots ascending")

func (c *sumColumn) load(i uint32, state []byte) error {
	if len(state)%entryBytes != 0 {
		return errSumState
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(state[at:]) }
	for at := 0; at < len(state); at += entryBytes {
		if at > 0 && word(at) <= word(at-entryBytes) {
			return errSumState
		}
	}
	for at := 0; at < len(state); at += entryBytes {
		c.put(i, Slot(word(at)), Total{word(at + 8), Int128{int64(word(at + 24)), word(at + 16)}})
	}
	return nil
}

func (c *sumColumn) appendState(dst []byte, i uint32) []byte {
	for slot, t := range c.of(i) {
		for _, word := range [...]uint64{uint64(slot), t.Events, t.Units.Low, uint64(t.Units.High)} {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	return dst
}

// Totals yields the slots of measure m, which is of kind Sum or Avg, and the total of
// each, slots ascending.
func (r Row) Totals(m int) iter.Seq2[Slot, *Total] { return r.t.columns[m].(*sumColumn).of(r.i) }

// Total returns the total of measure m, which is of kind Sum or Avg.
func (r Row) Total(m int) Total { return r.t.columns[m].(*sumColumn).total(r.i) }
