package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"weir/sketches/histogram"
)

// Quantile keeps a histogram of a numeric field, of which every quantile is known with a
// relative error of at most Measure.Error.
//
// The count of a bucket is the total of the chunk so far, as with hits; but a flush sends
// only the buckets whose counts have changed, because two states of a slot merge bucket by
// bucket.
var Quantile Kind = quantileKind{}

type quantileKind struct{ added }

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

func (quantileKind) check(m *Measure, bad func(bool, string, ...any)) {
	bad(m.Error >= LeastError && m.Error <= MostError, "measure %s: error %v, want %v to %v", m.Name, m.Error, LeastError, MostError)
}

func (quantileKind) paths(*Measure) []string { return nil }

func (quantileKind) column(*Measure) column { return new(quantileColumn) }

func (quantileKind) tally(*Measure) tally { return new(quantileTally) }

func (quantileKind) intake(_ *Spec, m *Measure, _ []int) intake {
	return &quantileIntake{layout: histogram.NewLayout(histogram.ScaleFor(m.Error))}
}

func (quantileKind) text(_ *Measure, number uint64) string {
	return fmt.Sprintf("%d events (check %06x)", number>>spreadBits, number&(1<<spreadBits-1))
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
	counts histogram.Counts // to use again
}

func (t *quantileTally) grow(n int) { t.pool.Grow(n) }
func (t *quantileTally) reset()     { t.pool.Reset() }
func (t *quantileTally) bytes() int { return t.pool.Bytes() + countBytes*cap(t.counts) }

const countBytes = 16

func (t *quantileTally) report(cell uint32, slot Slot, to column, row uint32) {
	t.counts = t.pool.AppendNew(t.counts[:0], cell)
	if len(t.counts) > 0 {
		to.(*quantileColumn).raise(row, slot, t.counts)
	}
}

func (t *quantileTally) settle(cell uint32) { t.pool.Taken(cell) }

// A quantileColumn has a histogram for each slot of each row, which no other column shares.
type quantileColumn struct {
	slots[histogram.Counts]
	held int // bytes of the histograms
}

func (c *quantileColumn) raise(i uint32, slot Slot, counts histogram.Counts) {
	have, _ := c.at(i, slot)
	c.held -= countBytes * cap(*have)
	have.Raise(counts)
	c.held += countBytes * cap(*have)
}

func (c *quantileColumn) merge(i uint32, from column, j uint32) {
	for slot, counts := range from.(*quantileColumn).of(j) {
		c.raise(i, slot, *counts)
	}
}

func (c *quantileColumn) reset() {
	c.slots.reset()
	c.held = 0
}

func (c *quantileColumn) bytes() int { return c.slots.bytes() + c.held }

// total returns the histogram of row i: that of its slots, or that of a rollup where that
// has more in a bucket. Nothing else has it.
func (c *quantileColumn) total(i uint32) (sum histogram.Counts) {
	var whole histogram.Counts
	for slot, counts := range c.of(i) {
		if slot == Whole {
			whole = *counts
		} else {
			sum.Add(*counts)
		}
	}
	sum.Raise(whole)
	return sum
}

func (c *quantileColumn) plus(i uint32, from column, j uint32) {
	total := from.(*quantileColumn).total(j)
	have, _ := c.at(i, Whole)
	c.held -= countBytes * cap(*have)
	have.Add(total)
	c.held += countBytes * cap(*have)
}

// spreadBits is how many bits of a number tell how the events spread over the buckets.
const spreadBits = 24

// number returns the number of events, and in its last bits a check of their buckets, so
// that two histograms of as many events differ.
func (c *quantileColumn) number(i uint32) uint64 {
	var events, check uint64
	for _, e := range c.total(i) {
		events += e.N
		check += e.N * uint64(e.Bucket) * uint64(e.Bucket)
	}
	return events<<spreadBits | check*0x9e3779b97f4a7c15>>(64-spreadBits)
}

var errQuantileState = errors.New("not the state of a quantile measure: 24 bytes for each slot and bucket, ascending")

// load reads a state of entries of 24 bytes, little-endian: 4 of the bucket, 8 of the slot,
// 4 of zeros, 8 of the count.
func (c *quantileColumn) load(i uint32, state []byte) error {
	const entry = 24
	if len(state)%entry != 0 {
		return errQuantileState
	}
	at := func(b []byte) (Slot, histogram.Count) {
		return Slot(binary.LittleEndian.Uint64(b[4:])), histogram.Count{Bucket: histogram.Bucket(binary.LittleEndian.Uint32(b)), N: binary.LittleEndian.Uint64(b[16:])}
	}
	var slot Slot
	var before histogram.Count
	for rest := state; len(rest) > 0; rest = rest[entry:] {
		s, count := at(rest)
		ascending := s > slot || s == slot && count.Bucket > before.Bucket
		if len(rest) < len(state) && !ascending || binary.LittleEndian.Uint32(rest[12:]) != 0 {
			return errQuantileState
		}
		slot, before = s, count
	}
	for len(state) > 0 {
		slot, first := at(state)
		counts := histogram.Counts{first}
		for state = state[entry:]; len(state) > 0; state = state[entry:] {
			s, count := at(state)
			if s != slot {
				break
			}
			counts = append(counts, count)
		}
		c.raise(i, slot, counts)
	}
	return nil
}

func (c *quantileColumn) appendState(dst []byte, i uint32) []byte {
	for slot, counts := range c.of(i) {
		for _, e := range *counts {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(e.Bucket))
			dst = binary.LittleEndian.AppendUint64(dst, uint64(slot))
			dst = binary.LittleEndian.AppendUint32(dst, 0)
			dst = binary.LittleEndian.AppendUint64(dst, e.N)
		}
	}
	return dst
}

// Histograms yields the slots of measure m, which is of kind Quantile, and the histogram of
// each, slots ascending.
func (r Row) Histograms(m int) iter.Seq2[Slot, *histogram.Counts] {
	return r.t.columns[m].(*quantileColumn).of(r.i)
}

// Histogram returns the histogram of measure m, which is of kind Quantile. It belongs to
// the caller.
func (r Row) Histogram(m int) histogram.Counts { return r.t.columns[m].(*quantileColumn).total(r.i) }
