package window

import (
	"strconv"
	"strings"

	"weir/event"
	"weir/sketches/geo"
)

// A Kind is a way to measure. It says which fields of an event it reads, what it keeps of
// the events of a row, and how two of these merge. Package measures has every kind; this
// package knows none of them. Kinds are compared by their addresses.
//
// What a kind keeps depends on the events alone, and not on their order; merging is
// commutative, associative and idempotent. Of most kinds a flush sends only what is new
// since the last one. A kind that adds up cannot do that, because a repeat would count
// twice: it is Additive, and has a Tally.
type Kind struct {
	Name string // in configurations

	// ByMember says that the kind has rows of its own, by (window, member), instead of a
	// value in each row of (window, group).
	ByMember bool
	// Additive says that the values of different windows and groups are added up, as counts
	// are, and not merged. Such a kind keeps a value for each slot.
	Additive bool
	// HoldsValues says that a state holds texts or ids of events, as a set or a list does, or
	// recognises them, as a filter does.
	HoldsValues bool

	// Paths returns the fields that a measure reads besides Path. It is nil if there are none. An Optional measure
	// takes nothing of an event that has none of them.
	Paths func(m *Measure) []string
	// Intake makes the intake of a measure. also says where the Decoder has the fields of Paths.
	Intake func(s *Spec, m *Measure, also []int) Intake
	// Column makes an empty column.
	Column func(m *Measure) Column
	// Tally makes an empty tally, if the kind is Additive.
	Tally func(m *Measure) Tally
	// Text formats a number that Column.Number has returned for people. It is nil if the number is a count.
	Text func(m *Measure, number uint64) string
}

// String returns the kind's name in configurations.
func (k *Kind) String() string { return k.Name }

// An Intake reads one measure's values from the events of a block, and adds those of the events that count to a
// column. Each worker has one for each measure.
type Intake interface {
	// Read reads the measure's values of these events of the decoder's block. d.Value(e, at) is the value of Path; it
	// is not missing. Read refuses an event that has no value for the measure.
	Read(d *Decoder, at int, events []Entry)
	// Add adds what Read has read of events[i] to row rows[i] of the store, for each i. The events ascend, and are
	// some of those that were read. The store is a Column of the measure; a Tally, with cells for rows, if the kind is
	// Additive.
	Add(to Store, rows []uint32, events []Entry)
}

// Pick moves the values of these events to the front and returns them. The events ascend.
func Pick[V any](values []V, events []Entry) []V {
	for i, e := range events {
		values[i] = values[e]
	}
	return values[:len(events)]
}

// A Store has a value for each of its rows, empty at first.
type Store interface {
	Grow(n int) // makes the rows [0, n) exist
	Reset()     // removes all rows and keeps the memory
	Bytes() int // of memory, about
}

// A Column is what a table holds of one measure.
type Column interface {
	Store
	Merge(i uint32, from Column, j uint32) // merges row j of a column of the same measure into row i
	// Load merges a state, as AppendState makes it, into row i. A state that is not
	// well formed is an error.
	Load(i uint32, state []byte) error
	// AppendState appends row i as the sink stores it. Equal values have equal bytes.
	AppendState(dst []byte, i uint32) []byte
	// Number returns the number that row i stands for. It is 0 for an empty row, and
	// does not fall when something is merged into the row, unless the kind is Additive.
	// It panics for a kind ByMember.
	Number(i uint32) uint64
}

// A Taker is a column that can make the memory of another column of the measure its own, so that
// a Merge of its rows does not copy what they refer to.
type Taker interface {
	Take(from Column) // until Leave, from must not change
	Leave()           // from has no values any more, and can only be Reset
}

// Members is what the column of a kind ByMember implements, too. It has no rows of groups, so
// its Grow and Merge do nothing.
type Members interface {
	Positions() *geo.Last // of each (window, member)
}

// A Tally is what a partition keeps of an Additive measure for the chunk that it reads: a
// value for each cell, of all its events since the beginning of the chunk. A flush sends
// that, and not what is new, as with counts: then the later of two values of a slot
// replaces the earlier one, and a repeat changes nothing.
type Tally interface {
	Store
	// Report puts the value of a cell into a row of a column of the measure, under the slot
	// of the chunk.
	Report(cell uint32, slot Slot, to Column, row uint32)
	// AppendState appends all cells, for Load: see Line.Saved.
	AppendState(dst []byte) []byte
	// Load reads what AppendState has appended into as many cells, which are empty, and returns what is behind it.
	Load(state []byte) (rest []byte)
}

// An Adder is the column of an Additive kind.
type Adder interface {
	Column
	// Plus adds the total of row j of a column of the same measure to that of row i, under
	// the slot Whole.
	Plus(i uint32, from Column, j uint32)
}

// Whole is the slot under which a rollup keeps the total of a window, all slots together.
// No chunk has it: see MakeSlot.
const Whole = ^Slot(0)

// Text formats a number that Row.Number has returned for people.
func (m *Measure) Text(number uint64) string {
	if m.Kind.Text == nil {
		return strconv.FormatUint(number, 10)
	}
	return m.Kind.Text(m, number)
}

// A reading is how a measure reads a block.
type reading struct {
	Intake
	number   int   // of the measure
	skip     bool  // bad values
	field    int   // index in a row of the value of Path
	also     []int // of Paths
	at       int   // where Read finds the value: field or, with a default, a place of its own
	instead  event.Value
	optional bool
	additive bool
	where    []condition // what an event must meet to be read

	takes []Entry // the events that were read
	rows  []uint32
}

// counted returns the events that were read and count, and their places in a table.
func (r *reading) counted(d *Decoder, at *[BlockSize]uint32) ([]Entry, []uint32) {
	events, rows := r.takes[:0], r.rows[:0]
	for _, e := range r.takes {
		if d.outcomes[e] == Counted {
			events, rows = append(events, e), append(rows, at[e])
		}
	}
	r.rows = rows
	return events, rows
}

// paths returns the fields that the measure reads besides Path.
func (m *Measure) paths() []string {
	if m.Kind.Paths == nil {
		return nil
	}
	return m.Kind.Paths(m)
}

// CheckDefault returns why the measure cannot have its Default, in words; "" if it can. The kind is not ByMember.
func (m *Measure) CheckDefault() (wrong string) {
	d := &Decoder{spec: &Spec{Chunk: 1}, number: 1, width: 1, vals: []event.Value{m.defaultValue()}, wholes: []*wholes{{}}, names: []string{"default"}, events: make([]event.Record, 1), live: []Entry{0}}
	m.Kind.Intake(d.spec, m, nil).Read(d, 0, d.live)
	return strings.TrimPrefix(d.reasons[0], "field default ")
}

// defaultValue returns the default as if it stood in an event.
func (m *Measure) defaultValue() event.Value {
	v := event.Value{Type: event.Number, Bytes: []byte(m.Default)}
	if _, ok := v.Float(); !ok {
		v.Type = event.String
	}
	return v
}

// Merge merges states of the measure, as a sink holds them, into one, in the bytes
// that Row.AppendState has for it. If the kind is Additive, they must be of one window
// and group.
func (m *Measure) Merge(states ...[]byte) ([]byte, error) {
	c, err := m.merged(states)
	if err != nil {
		return nil, err
	}
	return c.AppendState(nil, 0), nil
}

// Number returns what Row.Number returns for a row with this state.
func (m *Measure) Number(state []byte) (uint64, error) {
	c, err := m.merged([][]byte{state})
	if err != nil {
		return 0, err
	}
	return c.Number(0), nil
}

// Add adds up states of different windows or groups. The result is the state of their
// total, under the slot Whole. The kind is Additive.
func (m *Measure) Add(states ...[]byte) ([]byte, error) {
	sum := m.Kind.Column(m)
	sum.Grow(1)
	for _, s := range states {
		c, err := m.merged([][]byte{s})
		if err != nil {
			return nil, err
		}
		sum.(Adder).Plus(0, c, 0)
	}
	return sum.AppendState(nil, 0), nil
}

func (m *Measure) merged(states [][]byte) (Column, error) {
	c := m.Kind.Column(m)
	c.Grow(1)
	for _, s := range states {
		if err := c.Load(0, s); err != nil {
			return nil, err
		}
	}
	return c, nil
}
