// Package ordered has the kinds of measure that keep the value of the first or the last event.
package ordered

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"weir/measures/texts"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/window"
)

// First keeps the value of a field, as text, of the event that comes first of all that have
// the field, and Last that of the one that comes last: by event time, then by place in the
// log. The state is the value behind its Mark.
var (
	First = newKind("first", order{first: true})
	Last  = newKind("last", order{})
)

func newKind(name string, o order) *window.Kind {
	return &window.Kind{
		Name:        name,
		HoldsValues: true,
		Intake:      func(*window.Spec, *window.Measure, []int) window.Intake { return &intake{order: o} },
		Column:      func(*window.Measure) window.Column { return new(column) },
		Text:        o.text,
	}
}

// An order says which of two events is kept.
type order struct{ first bool }

// text formats the number of a value: the time of its event, and digits that tell two
// values of one millisecond apart.
func (o order) text(_ *window.Measure, number uint64) string {
	if number == 0 {
		return "nothing"
	}
	return fmt.Sprintf("the value of the event at %d ms (check %06x)", o.time(number>>checkBits), number&(1<<checkBits-1))
}

// A Mark says where the event of a value is in the order of events. Of two values the one
// with the greater Mark stays, for both kinds, and the zero Mark is none. Last has the
// event time in milliseconds since 1970, plus one, the slot and the offset; First counts
// the three down, the time from 2^42−1 and the others from 2^64−1.
type Mark struct{ Time, Slot, Offset uint64 }

const (
	timeBits  = 42            // of the time of a Mark: enough for the end of a DateTime
	checkBits = 64 - timeBits // of a number; the others are the time of the Mark
)

// Compare orders marks by time, then slot, then offset.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(cmp.Compare(m.Time, o.Time), cmp.Compare(m.Slot, o.Slot), cmp.Compare(m.Offset, o.Offset))
}

func (o order) mark(at geo.Stamp) Mark {
	if o.first {
		return Mark{1<<timeBits - 1 - uint64(at.Time), ^at.Slot, ^uint64(at.Offset)}
	}
	return Mark{uint64(at.Time) + 1, at.Slot, uint64(at.Offset)}
}

// time returns the event time of a mark's time.
func (o order) time(mark uint64) uint64 {
	if o.first {
		return 1<<timeBits - 1 - mark
	}
	return mark - 1
}

type intake struct {
	texts.Block
	order order
	marks [window.BlockSize]Mark
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		in.marks[e] = in.order.mark(d.Stamp(e))
	}
	in.Block.Read(d, at, events)
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	c := to.(*column)
	for n, e := range events {
		c.put(rows[n], in.marks[e], in.Of(e))
	}
}

// A column has a value for each row, empty with the zero Mark where there is none.
type column struct {
	rows []row
	text []byte // the values
}

type row struct {
	mark Mark
	at   int    // of the value in text
	len  uint16 // of the value
	room uint16 // bytes that a later value may use, a power of two or 0
}

func (c *column) Grow(n int) {
	for len(c.rows) < n {
		c.rows = append(c.rows, row{})
	}
}

// value returns the value of row i.
func (c *column) value(i uint32) []byte { return c.rows[i].value(c.text) }

func (r *row) value(text []byte) []byte { return text[r.at:][:r.len] }

// put gives a row a value, unless it has one with a greater mark. Values decide between
// equal marks, which only forged input has. So the choice is a maximum in a total order,
// as ClickHouse makes it over tuples.
func (c *column) put(i uint32, mark Mark, value []byte) {
	r := &c.rows[i]
	if by := mark.Compare(r.mark); by < 0 || by == 0 && bytes.Compare(value, c.value(i)) <= 0 {
		return
	}
	if len(value) > int(r.room) {
		// Twice as much each time, so that a row leaves behind at most what it holds.
		r.at, r.room = len(c.text), 1<<bits.Len(uint(len(value)-1))
		c.text = append(c.text, make([]byte, r.room)...)
	}
	r.mark, r.len = mark, uint16(copy(c.text[r.at:], value))
}

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	if o := from.(*column); o.rows[j].mark != (Mark{}) {
		c.put(i, o.rows[j].mark, o.value(j))
	}
}

var errState = errors.New("not the state of a first or last value: a mark of 24 bytes and at most 1 KiB, or nothing")

// ReadState takes apart a state of a measure: the Mark and the
// value, which is a part of the state. The zero Mark is that of an empty state.
func ReadState(state []byte) (m Mark, value []byte, err error) {
	if len(state) == 0 {
		return m, nil, nil
	}
	if len(state) < markLen || len(state) > markLen+window.MaxValue {
		return m, nil, errState
	}
	m = Mark{binary.LittleEndian.Uint64(state), binary.LittleEndian.Uint64(state[8:]), binary.LittleEndian.Uint64(state[16:])}
	if m.Time == 0 || m.Time>>timeBits != 0 {
		return Mark{}, nil, errState
	}
	return m, state[markLen:], nil
}

const markLen = 24

func (c *column) Load(i uint32, state []byte) error {
	mark, value, err := ReadState(state)
	if err == nil && len(state) > 0 {
		c.put(i, mark, value)
	}
	return err
}

// AppendState appends the three numbers of the mark, little-endian, and the value; nothing
// if there is none.
func (c *column) AppendState(dst []byte, i uint32) []byte {
	m := c.rows[i].mark
	if m == (Mark{}) {
		return dst
	}
	for _, word := range [...]uint64{m.Time, m.Slot, m.Offset} {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return append(dst, c.value(i)...)
}

// Number returns the time of the mark, and below it a part of a hash of the rest, so that
// the audit finds another value. It falls only between events of one millisecond.
func (c *column) Number(i uint32) uint64 {
	m := c.rows[i].mark
	if m == (Mark{}) {
		return 0
	}
	var room [64]byte
	text := strconv.AppendUint(room[:0], m.Slot, 10)
	text = strconv.AppendUint(append(text, ' '), m.Offset, 10)
	text = append(append(text, ' '), c.value(i)...)
	return m.Time<<checkBits | bloom.Hash(text)&(1<<checkBits-1)
}

func (c *column) Reset() { c.rows, c.text = c.rows[:0], c.text[:0] }

func (c *column) Bytes() int { return 40*cap(c.rows) + cap(c.text) }

// Of returns the value of measure m of a row, and its Mark; the zero Mark if the row has none. The value is valid until the table changes.
func Of(r window.Row, m int) (Mark, []byte) {
	of, i := r.Column(m)
	c := of.(*column)
	return c.rows[i].mark, c.value(i)
}
