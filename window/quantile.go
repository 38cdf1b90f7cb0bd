package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"weir/sketches/histogram"
)

// Quantile keeps a histogram of a numeric field, of which every quantile is known with a
// relative error of at most Measure.Error.
//
// A flush sends the histogram of the chunk so far. It has at most as many buckets as the chunk
// has events of the window and group.
var Quantile Kind = quantileKind{}

type quantileKind struct {
	added
	checkedCount
}

func (quantileKind) String() string { return "quantile" }

// LeastError and MostError bound Measure.Error of measures of kind Quantile.
const LeastError, MostError = 0.001, 0.3

// A Shown is a quantile that views show, in a column with a suffix.
type Shown struct {
	Suffix string
	Level  float64
}

// QuantilesShown returns the quantiles that views show of a measure of kind Quantile.
func QuantilesShown() [4]Shown {
	return [...]Shown{{"_p50", 0.5}, {"_p90", 0.9}, {"_p95", 0.95}, {"_p99", 0.99}}
}

func (quantileKind) paths(*Measure) []string { return nil }

func (quantileKind) column(*Measure) column { return new(quantileColumn) }

func (quantileKind) tally(*Measure) tally { return new(quantileTally) }

func (quantileKind) intake(_ *Spec, m *Measure, _ []int) intake {
	return &quantileIntake{layout: histogram.NewLayout(histogram.ScaleFor(m.Error))}
}

type quantileIntake struct {
	layout  *histogram.Layout
	buckets [blockSize]histogram.Bucket
}

func (in *quantileIntake) read(d *decoder, at, n int) (bool, string) {
	f, reason := d.float(at)
	in.buckets[n] = in.layout.Of(f)
	return reason == "", reason
}

func (in *quantileIntake) add(to store, cells []uint32) {
	to.(*quantileTally).pool.AddBatch(cells, in.buckets[:len(cells)])
}

type quantileTally struct {
	pool   histogram.Pool
	packed []byte // to use again
}

func (t *quantileTally) grow(n int) { t.pool.Grow(n) }
func (t *quantileTally) reset()     { t.pool.Reset() }
func (t *quantileTally) bytes() int { return t.pool.Bytes() + cap(t.packed) }

func (t *quantileTally) report(cell uint32, slot Slot, to column, row uint32) {
	var numbers uint64
	if t.packed, numbers = t.pool.AppendPacked(t.packed[:0], cell); numbers > 0 {
		to.(*quantileColumn).put(row, slot, Histogram{numbers, t.packed})
	}
}

// A Histogram is that of some events that had a number.
type Histogram struct {
	Events uint64
	Packed []byte // see histogram.Pack
}

// histogramOf returns the histogram of some events with these words, as package histogram stores it.
func histogramOf(events uint64, words []byte) Histogram {
	return Histogram{events, histogram.Pack(nil, words)}
}

// A quantileColumn has a histogram for each slot of each row. Of two of a slot, that of more
// events is of a longer prefix of the chunk.
type quantileColumn struct {
	slots[quantileValue]
	packed arena
	sums   map[uint32]*quantileSum // by row that plus has added to
}

// A quantileValue says where in packed a Histogram lies.
type quantileValue struct {
	events uint64
	place
}

// A quantileSum adds up histograms of different events.
type quantileSum struct {
	events uint64
	counts histogram.Counts
}

func (c *quantileColumn) histogram(v *quantileValue) Histogram {
	return Histogram{v.events, c.packed.at(v.place)}
}

// later tells which of two histograms of one slot is the greater one in ClickHouse's order of
// tuples.
func (h Histogram) later(o Histogram) bool {
	if h.Events != o.Events || bytes.Equal(h.Packed, o.Packed) {
		return h.Events > o.Events
	}
	return bytes.Compare(histogram.Unpack(nil, h.Packed), histogram.Unpack(nil, o.Packed)) > 0
}

func (c *quantileColumn) put(i uint32, slot Slot, h Histogram) {
	if have, _ := c.at(i, slot); h.later(c.histogram(have)) {
		*have = quantileValue{h.Events, c.packed.put(h.Packed)}
	}
}

func (c *quantileColumn) merge(i uint32, from column, j uint32) {
	f := from.(*quantileColumn)
	f.settle(j)
	for slot, v := range f.slots.of(j) {
		if have, _ := c.at(i, slot); f.histogram(v).later(c.histogram(have)) {
			*have = quantileValue{v.events, c.packed.bring(&f.packed, v.place)}
		}
	}
}

func (c *quantileColumn) pieces() *arena { return &c.packed }

func (c *quantileColumn) reset() {
	c.slots.reset()
	c.packed.reset()
	c.sums = nil
}

func (c *quantileColumn) bytes() int { return c.slots.bytes() + c.packed.bytes() }

// of yields the slots of row i, ascending, and the histogram of each.
func (c *quantileColumn) of(i uint32) iter.Seq2[Slot, Histogram] {
	return func(yield func(Slot, Histogram) bool) { c.each(i, yield) }
}

func (c *quantileColumn) each(i uint32, yield func(Slot, Histogram) bool) {
	c.settle(i)
	for slot, v := range c.slots.of(i) {
		if !yield(slot, c.histogram(v)) {
			return
		}
	}
}

// settle puts what plus has added to row i under Whole.
func (c *quantileColumn) settle(i uint32) {
	if sum := c.sums[i]; sum != nil {
		c.put(i, Whole, histogramOf(sum.events, sum.counts.AppendState(nil)))
		delete(c.sums, i)
	}
}

// total returns the histogram of row i: that of its slots, or that of a rollup if it has more
// events.
func (c *quantileColumn) total(i uint32) (sum quantileSum) {
	var whole Histogram
	for slot, h := range c.of(i) {
		if slot == Whole {
			whole = h
		} else {
			sum.add(h.Events, h.counts())
		}
	}
	if whole.Events > sum.events {
		return quantileSum{whole.Events, whole.counts()}
	}
	return sum
}

func (s *quantileSum) add(events uint64, counts histogram.Counts) {
	s.events += events
	s.counts.Add(counts)
}

func (h Histogram) counts() histogram.Counts {
	words := histogram.Unpack(nil, h.Packed)
	counts, err := histogram.Read(make(histogram.Counts, 0, len(words)/8), words)
	if err != nil { // load has read them before
		panic(err)
	}
	return counts
}

func (c *quantileColumn) plus(i uint32, from column, j uint32) {
	if c.sums == nil {
		c.sums = map[uint32]*quantileSum{}
	}
	if c.sums[i] == nil {
		c.sums[i] = new(quantileSum)
	}
	total := from.(*quantileColumn).total(j)
	c.sums[i].add(total.events, total.counts)
}

// number returns the number of events with a check of their buckets.
func (c *quantileColumn) number(i uint32) uint64 {
	var check uint64
	total := c.total(i)
	for _, e := range total.counts {
		check += e.N * uint64(e.Bucket) * uint64(e.Bucket)
	}
	return checked(total.events, check)
}

var errQuantileState = errors.New("not the state of a quantile measure: for each slot, ascending, events, bytes of the histogram, and its words, descending")

func (c *quantileColumn) load(i uint32, state []byte) error {
	type loaded struct {
		slot Slot
		h    Histogram
	}
	const head = 24
	var all []loaded
	for len(state) > 0 {
		if len(state) < head {
			return errQuantileState
		}
		slot, events := Slot(binary.LittleEndian.Uint64(state)), binary.LittleEndian.Uint64(state[8:])
		n := binary.LittleEndian.Uint64(state[16:])
		if state = state[head:]; n > uint64(len(state)) || len(all) > 0 && slot <= all[len(all)-1].slot {
			return errQuantileState
		}
		var words []byte
		words, state = state[:n], state[n:]
		counts, err := histogram.Read(nil, words)
		if err != nil || counts.Total() != events {
			return errQuantileState
		}
		all = append(all, loaded{slot, histogramOf(events, words)})
	}
	for _, l := range all {
		c.put(i, l.slot, l.h)
	}
	return nil
}

// appendState appends for each slot, in numbers of 8 bytes, little-endian: the slot, its
// events, and how many bytes follow; then the words of the histogram.
func (c *quantileColumn) appendState(dst []byte, i uint32) []byte {
	word := binary.LittleEndian.AppendUint64
	for slot, h := range c.of(i) {
		dst = word(word(word(dst, uint64(slot)), h.Events), uint64(histogram.PackedLen(h.Packed)))
		dst = histogram.Unpack(dst, h.Packed)
	}
	return dst
}

// Histograms yields the slots of measure m, which is of kind Quantile, and the histogram of
// each, slots ascending. It is valid until the table changes.
func (r Row) Histograms(m int) iter.Seq2[Slot, Histogram] {
	return r.t.columns[m].(*quantileColumn).of(r.i)
}

// Histogram returns the histogram of measure m, which is of kind Quantile. It belongs to
// the caller.
func (r Row) Histogram(m int) histogram.Counts {
	return r.t.columns[m].(*quantileColumn).total(r.i).counts
}
