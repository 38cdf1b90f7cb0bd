package window

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"weir/event"
	"weir/internal/hashtable"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

// A Table holds one worker's sketches and counts by (window, group) since the
// last Take: a delta. A row has the events of all the worker's partitions; only its
// counts are kept apart, by slot. Rows have consecutive numbers, so that a column is
// an array.
type Table struct {
	spec *Spec

	rows  []row
	keys  []byte                  // the rows' groups, one after another
	index hashtable.Table[uint32] // rows by (window, group)
	hits  []hit                   // in the order in which they were added; Seal sorts and merges them

	columns []Column // one per measure
	order   []uint32 // rows by (window, group), made by Seal
	sealed  bool
}

type row struct {
	window   event.Time // start
	key, len uint32     // the group in keys
	hits     uint32     // set by Seal: first of this row's hits
	nhits    uint32     // set by Seal: how many
	partial  bool       // a cell of it had counts at the Take before: the sketches lack their events
}

// A hit is the count of one slot in one row. It is the total since the
// beginning of the slot's chunk, so two of them merge to the maximum.
type hit struct {
	row   uint32
	slot  Slot
	count uint64
}

// NewTable makes an empty table for the spec's measures.
func NewTable(spec *Spec) *Table {
	t := &Table{spec: spec, columns: make([]Column, len(spec.Measures))}
	for i := range spec.Measures {
		m := &spec.Measures[i]
		t.columns[i] = m.Kind.Column(m)
	}
	return t
}

// Reset empties the table and keeps its memory for the next interval.
func (t *Table) Reset() {
	t.rows, t.keys, t.hits, t.order, t.sealed = t.rows[:0], t.keys[:0], t.hits[:0], t.order[:0], false
	t.index.Reset()
	for _, c := range t.columns {
		c.Reset()
	}
}

// Len returns the number of (window, group) rows.
func (t *Table) Len() int { return len(t.rows) }

// byMember returns the number of rows of the measures that have rows of their own.
func (t *Table) byMember() (n int) {
	for c := range t.columns {
		if own := t.Positions(c); own != nil {
			n += own.Len()
		}
	}
	return n
}

// Bytes returns about how many bytes the table holds in memory, sketches included.
func (t *Table) Bytes() int {
	n := cap(t.rows)*32 + cap(t.keys) + t.index.Bytes() + cap(t.hits)*24 + cap(t.order)*4
	for _, c := range t.columns {
		n += c.Bytes()
	}
	return n
}

// rowHash mixes a window into a group's hash.
func rowHash(window event.Time, group uint64) uint32 {
	return uint32((group ^ uint64(window)) * 0x9e3779b97f4a7c15 >> 32)
}

// row finds or makes the row of a window and a group, whose hash is given.
func (t *Table) row(window event.Time, group []byte, groupHash uint64) uint32 {
	hash := rowHash(window, groupHash)
	at := t.find(hash, window, group)
	if at >= 0 {
		return *t.index.At(at)
	}
	r := uint32(len(t.rows))
	t.index.Insert(at, hash, r)
	t.rows = append(t.rows, row{window: window, key: uint32(len(t.keys)), len: uint32(len(group))})
	t.keys = append(t.keys, group...)
	for _, c := range t.columns {
		c.Grow(len(t.rows))
	}
	return r
}

// find returns the slot of a row in the index, or a negative number for Insert.
func (t *Table) find(hash uint32, window event.Time, group []byte) (at int) {
	for at = t.index.First(hash); at >= 0; at = t.index.Next(at) {
		if w := &t.rows[*t.index.At(at)]; w.window == window && bytes.Equal(t.key(w), group) {
			break
		}
	}
	return at
}

func (t *Table) key(w *row) []byte { return t.keys[w.key:][:w.len] }

// Merge merges o's rows into t: registers by maximum, bits by OR, positions by
// the later stamp, counts by maximum per slot. o has no values then, and can only be Reset.
func (t *Table) Merge(o *Table) {
	t.sealed = false
	for c := range t.columns {
		if own, ok := t.columns[c].(Taker); ok {
			own.Take(o.columns[c])
			defer own.Leave()
		}
	}
	moved := make([]uint32, len(o.rows))
	for i := range o.rows {
		moved[i] = o.copyRow(t, uint32(i), nil)
	}
	for _, h := range o.hits {
		h.row = moved[h.row]
		t.hits = append(t.hits, h)
	}
	for c := range t.columns {
		if to := t.Positions(c); to != nil {
			to.Merge(o.Positions(c))
		}
	}
}

// Seal sorts the rows and merges the hits of equal slots. The sink reads a
// sealed table; adding to the table unseals it.
func (t *Table) Seal() {
	if t.sealed {
		return
	}
	t.sealed = true
	t.order = t.order[:0]
	for i := range t.rows {
		t.order = append(t.order, uint32(i))
		t.rows[i].hits, t.rows[i].nhits = 0, 0
	}
	slices.SortFunc(t.order, func(a, b uint32) int {
		x, y := &t.rows[a], &t.rows[b]
		return cmp.Or(cmp.Compare(x.window, y.window), bytes.Compare(t.key(x), t.key(y)))
	})
	t.hits = mergeSorted(t.hits,
		func(a, b hit) int {
			if a.row != b.row {
				return cmp.Compare(a.row, b.row)
			}
			return cmp.Compare(a.slot, b.slot)
		},
		func(a, b *hit) { a.count = max(a.count, b.count) })
	for i := range t.hits {
		w := &t.rows[t.hits[i].row]
		if w.nhits == 0 {
			w.hits = uint32(i)
		}
		w.nhits++
	}
}

// A Row is one (window, group) of a sealed table.
type Row struct {
	t *Table
	i uint32
}

// Rows yields the rows of a sealed table in the order of (window, group).
func (t *Table) Rows(yield func(Row) bool) {
	for _, i := range t.order {
		if !yield(Row{t, i}) {
			return
		}
	}
}

// Row returns row i, below Len, of a sealed table in the order of Rows.
func (t *Table) Row(i int) Row { return Row{t, t.order[i]} }

// Whole reports whether each slot of the row had a count of 0 at the Take before. Then the
// row's values are of all events that its hits count, and its numbers are those of the
// window as far as these slots say, whoever counts them, and when: they only grow with the hits.
func (r Row) Whole() bool { return !r.t.rows[r.i].partial }

// Sum returns the sum of the row's hits.
func (r Row) Sum() (sum uint64) {
	for _, n := range r.Hits {
		sum += n
	}
	return sum
}

// Spec returns the spec that says what the row means.
func (r Row) Spec() *Spec { return r.t.spec }

// Window returns the start of the row's window.
func (r Row) Window() event.Time { return r.t.rows[r.i].window }

// Group appends the texts of the row's dimensions, in the order of Spec.By.
func (r Row) Group(dst [][]byte) [][]byte {
	return splitGroup(dst, r.t.key(&r.t.rows[r.i]), len(r.t.spec.By))
}

// Hits yields the row's slots and their counts, slots ascending.
func (r Row) Hits(yield func(Slot, uint64) bool) {
	w := &r.t.rows[r.i]
	for _, h := range r.t.hits[w.hits:][:w.nhits] {
		if !yield(h.slot, h.count) {
			return
		}
	}
}

// Column returns what the table holds of measure m, and which row of it is this one. The
// caller must not change it.
func (r Row) Column(m int) (Column, uint32) { return r.t.columns[m], r.i }

// AppendState appends the state that the sink stores for measure m. m is an index
// into Spec.Measures; its kind is not ByMember.
func (r Row) AppendState(dst []byte, m int) []byte { return r.t.columns[m].AppendState(dst, r.i) }

// Number returns the number that measure m stands for: the PFCOUNT of an HLL, the
// cardinality of a bitmap. The measure's kind is not ByMember.
func (r Row) Number(m int) uint64 { return r.t.columns[m].Number(r.i) }

// appendDimension appends one dimension to the key of a group. A group of one
// dimension has its text as key. With several, the length of each text precedes it as
// a varint, so that different groups have different keys.
func appendDimension(dst, text []byte, of int) []byte {
	if of > 1 {
		dst = binary.AppendUvarint(dst, uint64(len(text)))
	}
	return append(dst, text...)
}

func splitGroup(dst [][]byte, key []byte, of int) [][]byte {
	switch of {
	case 0:
		return dst
	case 1:
		return append(dst, key)
	}
	for range of {
		n, k := binary.Uvarint(key)
		dst = append(dst, key[k:][:n])
		key = key[k+int(n):]
	}
	return dst
}

// groupHash hashes a group for the indexes. No row depends on it.
func groupHash(key []byte) uint64 { return hll.Hash(key) }

// Positions returns the last position of each member in each window, of measure m; nil if its kind is not ByMember.
func (t *Table) Positions(m int) *geo.Last {
	if own, ok := t.columns[m].(Members); ok {
		return own.Positions()
	}
	return nil
}

// Spec returns the spec that says what the table's rows mean.
func (t *Table) Spec() *Spec { return t.spec }
