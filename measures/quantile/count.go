// Package quantile is the kind of measure that keeps a histogram of a number.
package quantile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"weir/measures/slots"
	"weir/sketches/histogram"
	"weir/window"
)

// Kind keeps a histogram of a numeric field, of which every quantile is known with a
// relative error of at most Measure.Error.
//
// A flush sends the histogram of the chunk so far. It has at most as many buckets as the chunk
// has events of the window and group.
var Kind = &window.Kind{
	Name:     "quantile",
	Additive: true,
	Intake: func(_ *window.Spec, m *window.Measure, _ []int) window.Intake {
		return &intake{layout: histogram.NewLayout(histogram.ScaleFor(m.Error))}
	},
	Column: func(*window.Measure) window.Column { return new(column) },
	Tally:  func(*window.Measure) window.Tally { return new(tally) },
	Text:   slots.CheckedText,
}

// A Quantile is one that views show, in a column with a suffix.
type Quantile struct {
	Suffix string
	Level  float64
}

// Shown returns the quantiles that views show.
func Shown() [4]Quantile {
	return [...]Quantile{{"_p50", 0.5}, {"_p90", 0.9}, {"_p95", 0.95}, {"_p99", 0.99}}
}

// LeastError and MostError bound Measure.Error.
const LeastError, MostError = 0.001, 0.3

type intake struct {
	layout  *histogram.Layout
	buckets [window.BlockSize]histogram.Bucket
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if f, ok := d.Float(e, at); ok {
			in.buckets[e] = in.layout.Of(f)
		}
	}
}

func (in *intake) Add(to window.Store, cells []uint32, events []window.Entry) {
	to.(*tally).pool.AddBatch(cells, window.Pick(in.buckets[:], events))
}

type tally struct {
	pool   histogram.Pool
	packed []byte // to use again
}

func (t *tally) Grow(n int) { t.pool.Grow(n) }
func (t *tally) Reset()     { t.pool.Reset() }
func (t *tally) Bytes() int { return t.pool.Bytes() + cap(t.packed) }

func (t *tally) Report(cell uint32, slot window.Slot, to window.Column, row uint32) {
	var numbers uint64
	if t.packed, numbers = t.pool.AppendPacked(t.packed[:0], cell); numbers > 0 {
		to.(*column).put(row, slot, Histogram{numbers, t.packed})
	}
}

func (t *tally) AppendState(dst []byte) []byte   { return t.pool.AppendState(dst) }
func (t *tally) Load(state []byte) (rest []byte) { return t.pool.Load(state) }

// A Histogram is that of some events that had a number.
type Histogram struct {
	Events uint64
	Packed []byte // see histogram.Pack
}

// histogramOf returns the histogram of some events with these words, as package histogram stores it.
func histogramOf(events uint64, words []byte) Histogram {
	return Histogram{events, histogram.Pack(nil, words)}
}

// A column has a histogram for each slot of each row. Of two of a slot, that of more
// events is of a longer prefix of the chunk.
type column struct {
	slots.Slots[value]
	packed slots.Arena
	sums   map[uint32]*sum // by row that Plus has added to
}

// A value says where in packed a Histogram lies.
type value struct {
	events uint64
	slots.Place
}

// A sum adds up histograms of different events.
type sum struct {
	events uint64
	counts histogram.Counts
}

func (c *column) histogram(v *value) Histogram {
	return Histogram{v.events, c.packed.At(v.Place)}
}

// later tells which of two histograms of one slot is the greater one in ClickHouse's order of
// tuples.
func (h Histogram) later(o Histogram) bool {
	if h.Events != o.Events || bytes.Equal(h.Packed, o.Packed) {
		return h.Events > o.Events
	}
	return bytes.Compare(histogram.Unpack(nil, h.Packed), histogram.Unpack(nil, o.Packed)) > 0
}

func (c *column) put(i uint32, slot window.Slot, h Histogram) {
	if have, _ := c.At(i, slot); h.later(c.histogram(have)) {
		*have = value{h.Events, c.packed.Put(h.Packed)}
	}
}

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	f := from.(*column)
	f.settle(j)
	for slot, v := range f.Slots.Of(j) {
		if have, _ := c.At(i, slot); f.histogram(v).later(c.histogram(have)) {
			*have = value{v.events, c.packed.Bring(&f.packed, v.Place)}
		}
	}
}

// Take makes the histograms of another column its own.
func (c *column) Take(from window.Column) {
	f := from.(*column)
	for i := range f.sums { // while its arena may still grow
		f.settle(i)
	}
	c.packed.Take(&f.packed)
}

// Leave ends Take.
func (c *column) Leave() { c.packed.Leave() }

func (c *column) Reset() {
	c.Slots.Reset()
	c.packed.Reset()
	c.sums = nil
}

func (c *column) Bytes() int { return c.Slots.Bytes() + c.packed.Bytes() }

// of yields the slots of row i, ascending, and the histogram of each.
func (c *column) of(i uint32) iter.Seq2[window.Slot, Histogram] {
	return func(yield func(window.Slot, Histogram) bool) { c.each(i, yield) }
}

func (c *column) each(i uint32, yield func(window.Slot, Histogram) bool) {
	c.settle(i)
	for slot, v := range c.Slots.Of(i) {
		if !yield(slot, c.histogram(v)) {
			return
		}
	}
}

// settle puts what Plus has added to row i under window.Whole.
func (c *column) settle(i uint32) {
	if sum := c.sums[i]; sum != nil {
		c.put(i, window.Whole, histogramOf(sum.events, sum.counts.AppendState(nil)))
		delete(c.sums, i)
	}
}

// total returns the histogram of row i: that of its slots, or that of a rollup if it has more
// events.
func (c *column) total(i uint32) (all sum) {
	var whole Histogram
	for slot, h := range c.of(i) {
		if slot == window.Whole {
			whole = h
		} else {
			all.add(h.Events, h.Counts())
		}
	}
	if whole.Events > all.events {
		return sum{whole.Events, whole.Counts()}
	}
	return all
}

func (s *sum) add(events uint64, counts histogram.Counts) {
	s.events += events
	s.counts.Add(counts)
}

// Counts returns the buckets of the histogram.
func (h Histogram) Counts() histogram.Counts {
	words := histogram.Unpack(nil, h.Packed)
	counts, err := histogram.Read(make(histogram.Counts, 0, len(words)/8), words)
	if err != nil { // load has read them before
		panic(err)
	}
	return counts
}

func (c *column) Plus(i uint32, from window.Column, j uint32) {
	if c.sums == nil {
		c.sums = map[uint32]*sum{}
	}
	if c.sums[i] == nil {
		c.sums[i] = new(sum)
	}
	total := from.(*column).total(j)
	c.sums[i].add(total.events, total.counts)
}

// Number returns the number of events with a check of their buckets.
func (c *column) Number(i uint32) uint64 {
	var check uint64
	total := c.total(i)
	for _, e := range total.counts {
		check += e.N * uint64(e.Bucket) * uint64(e.Bucket)
	}
	return slots.Checked(total.events, check)
}

var errState = errors.New("not the state of a quantile measure: for each slot, ascending, events, bytes of the histogram, and its words, descending")

func (c *column) Load(i uint32, state []byte) error {
	type loaded struct {
		slot window.Slot
		h    Histogram
	}
	const head = 24
	var all []loaded
	for len(state) > 0 {
		if len(state) < head {
			return errState
		}
		slot, events := window.Slot(binary.LittleEndian.Uint64(state)), binary.LittleEndian.Uint64(state[8:])
		n := binary.LittleEndian.Uint64(state[16:])
		if state = state[head:]; n > uint64(len(state)) || len(all) > 0 && slot <= all[len(all)-1].slot {
			return errState
		}
		var words []byte
		words, state = state[:n], state[n:]
		counts, err := histogram.Read(nil, words)
		if err != nil || counts.Total() != events {
			return errState
		}
		all = append(all, loaded{slot, histogramOf(events, words)})
	}
	for _, l := range all {
		c.put(i, l.slot, l.h)
	}
	return nil
}

// AppendState appends for each slot, in numbers of 8 bytes, little-endian: the slot, its
// events, and how many bytes follow; then the words of the histogram.
func (c *column) AppendState(dst []byte, i uint32) []byte {
	word := binary.LittleEndian.AppendUint64
	for slot, h := range c.of(i) {
		dst = word(word(word(dst, uint64(slot)), h.Events), uint64(histogram.PackedLen(h.Packed)))
		dst = histogram.Unpack(dst, h.Packed)
	}
	return dst
}

// Slots yields the slots of measure m of a row, ascending, and the histogram of each. It is valid
// until the table changes.
func Slots(r window.Row, m int) iter.Seq2[window.Slot, Histogram] {
	c, i := r.Column(m)
	return c.(*column).of(i)
}

// Of returns the histogram of measure m of a row. It belongs to the caller.
func Of(r window.Row, m int) histogram.Counts {
	c, i := r.Column(m)
	return c.(*column).total(i).counts
}
