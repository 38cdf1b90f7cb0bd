package window

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"weir/event"
	"weir/sketches/bloom"
)

// An ordered kind keeps the value of a field, as text, of the event that comes first or
// last of all that have the field: by event time, then by place in the log. The state is
// the value behind its Mark.
type ordered struct {
	grouped
	name  string
	first bool
}

func (k ordered) String() string { return k.name }

func (ordered) HoldsValues() bool { return true }

// text formats the number of a value: the time of its event, and digits that tell two
// values of one millisecond apart.
func (k ordered) text(_ *Measure, number uint64) string {
	if number == 0 {
		return "nothing"
	}
	return fmt.Sprintf("the value of the event at %d ms (check %06x)", k.time(number>>checkBits), number&(1<<checkBits-1))
}

func (ordered) paths(*Measure) []string { return nil }

func (ordered) column(*Measure) column { return new(orderedColumn) }

func (k ordered) intake(*Spec, *Measure, []int) intake { return &orderedIntake{kind: k} }

// A Mark says where the event of a value is in the order of events. Of two values the one
// with the greater Mark stays, for both kinds, and the zero Mark is none. Last has the
// event time in milliseconds since 1970, plus one, the slot and the offset; First counts
// the three down, the time from 2^42−1 and the others from 2^64−1.
type Mark struct{ Time, Slot, Offset uint64 }

const (
	timeBits  = 42            // of the time of a Mark: enough for maxTime
	checkBits = 64 - timeBits // of a number; the others are the time of the Mark
)

// Compare orders marks by time, then slot, then offset.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(cmp.Compare(m.Time, o.Time), cmp.Compare(m.Slot, o.Slot), cmp.Compare(m.Offset, o.Offset))
}

func (k ordered) mark(d *decoder) Mark {
	at := d.stamp()
	if k.first {
		return Mark{1<<timeBits - 1 - uint64(at.Time), ^at.Slot, ^uint64(at.Offset)}
	}
	return Mark{uint64(at.Time) + 1, at.Slot, uint64(at.Offset)}
}

// time returns the event time of a mark's time.
func (k ordered) time(mark uint64) uint64 {
	if k.first {
		return 1<<timeBits - 1 - mark
	}
	return mark - 1
}

// texts gathers the values of a block one after another.
type texts struct {
	ends [blockSize]int
	text []byte
}

func (b *texts) read(d *decoder, at, n int) (bool, string) {
	v := d.vals[at]
	switch {
	case v.Kind != event.String && v.Kind != event.Number && v.Kind != event.Bool:
		return false, d.wrong(at, "is not text, number or bool")
	case len(v.Bytes) > maxValue:
		return false, d.wrong(at, "is longer than 1 KiB")
	}
	b.text = append(b.text[:b.begin(n)], v.Bytes...)
	b.ends[n] = len(b.text)
	return true, ""
}

func (b *texts) begin(n int) int {
	if n == 0 {
		return 0
	}
	return b.ends[n-1]
}

// of returns the value of entry n.
func (b *texts) of(n int) []byte { return b.text[b.begin(n):b.ends[n]] }

type orderedIntake struct {
	texts
	kind  ordered
	marks [blockSize]Mark
}

func (in *orderedIntake) read(d *decoder, at, n int) (bool, string) {
	in.marks[n] = in.kind.mark(d)
	return in.texts.read(d, at, n)
}

func (in *orderedIntake) add(to store, rows []uint32) {
	c := to.(*orderedColumn)
	for n, i := range rows {
		c.put(i, in.marks[n], in.of(n))
	}
}

// An orderedColumn has a value for each row, empty with the zero Mark where there is none.
type orderedColumn struct {
	rows []orderedRow
	text []byte // the values
}

type orderedRow struct {
	mark Mark
	at   int    // of the value in text
	len  uint16 // of the value
	room uint16 // bytes that a later value may use, a power of two or 0
}

func (c *orderedColumn) grow(n int) {
	for len(c.rows) < n {
		c.rows = append(c.rows, orderedRow{})
	}
}

// value returns the value of row i.
func (c *orderedColumn) value(i uint32) []byte { return c.rows[i].value(c.text) }

func (r *orderedRow) value(text []byte) []byte { return text[r.at:][:r.len] }

// put gives a row a value, unless it has one with a greater mark. Values decide between
// equal marks, which only forged input has. So the choice is a maximum in a total order,
// as ClickHouse makes it over tuples.
func (c *orderedColumn) put(i uint32, mark Mark, value []byte) {
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

func (c *orderedColumn) merge(i uint32, from column, j uint32) {
	if o := from.(*orderedColumn); o.rows[j].mark != (Mark{}) {
		c.put(i, o.rows[j].mark, o.value(j))
	}
}

var errOrderedState = errors.New("not the state of a first or last value: a mark of 24 bytes and at most 1 KiB, or nothing")

// ReadValue takes apart a state of a measure of kind First or Last: the Mark and the
// value, which is a part of the state. The zero Mark is that of an empty state.
func ReadValue(state []byte) (m Mark, value []byte, err error) {
	if len(state) == 0 {
		return m, nil, nil
	}
	if len(state) < markLen || len(state) > markLen+maxValue {
		return m, nil, errOrderedState
	}
	m = Mark{binary.LittleEndian.Uint64(state), binary.LittleEndian.Uint64(state[8:]), binary.LittleEndian.Uint64(state[16:])}
	if m.Time == 0 || m.Time>>timeBits != 0 {
		return Mark{}, nil, errOrderedState
	}
	return m, state[markLen:], nil
}

const markLen = 24

func (c *orderedColumn) load(i uint32, state []byte) error {
	mark, value, err := ReadValue(state)
	if err == nil && len(state) > 0 {
		c.put(i, mark, value)
	}
	return err
}

// appendState appends the three numbers of the mark, little-endian, and the value; nothing
// if there is none.
func (c *orderedColumn) appendState(dst []byte, i uint32) []byte {
	m := c.rows[i].mark
	if m == (Mark{}) {
		return dst
	}
	for _, word := range [...]uint64{m.Time, m.Slot, m.Offset} {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return append(dst, c.value(i)...)
}

// number returns the time of the mark, and below it a part of a hash of the rest, so that
// the audit finds another value. It falls only between events of one millisecond.
func (c *orderedColumn) number(i uint32) uint64 {
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

func (c *orderedColumn) reset() { c.rows, c.text = c.rows[:0], c.text[:0] }

func (c *orderedColumn) bytes() int { return 40*cap(c.rows) + cap(c.text) }

// Value returns the value of measure m, which is of kind First or Last, and its Mark; the
// zero Mark if the row has none. The value is valid until the table changes.
func (r Row) Value(m int) (Mark, []byte) {
	c := r.t.columns[m].(*orderedColumn)
	return c.rows[r.i].mark, c.value(r.i)
}
