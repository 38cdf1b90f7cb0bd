package window

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// A Kind is a way to measure. It says which fields of an event it reads, what it
// keeps of the events of a row, and how two of these merge. Each kind has a file of
// this package, named after it, and an entry in kinds. Kinds are compared with ==.
//
// What a kind keeps depends on the events alone, and not on their order; merging is
// commutative, associative and idempotent. Of most kinds a flush sends only what is new
// since the last one. A kind that adds up cannot do that, because a repeat would count
// twice: it is Additive, and has a tally (tally.go).
type Kind interface {
	// String is the kind's name in configurations.
	String() string
	// ByMember reports whether the kind has rows of its own, by (window, member),
	// instead of a value in each row of (window, group).
	ByMember() bool

	// Additive reports whether the values of different windows and groups are added up,
	// as counts are, and not merged. Such a kind keeps a value for each slot.
	Additive() bool

	// HoldsValues reports whether a state holds texts or ids of events, as a set or a list
	// does, or recognises them, as a filter does.
	HoldsValues() bool

	// paths returns the fields that a measure reads besides Path.
	paths(m *Measure) []string
	// intake makes the intake of a measure. also has the indexes in decoder.vals of
	// the fields that paths returned.
	intake(s *Spec, m *Measure, also []int) intake
	// column makes an empty column.
	column(m *Measure) column
	// tally makes an empty tally; nil if the kind is not Additive.
	tally(m *Measure) tally
	// text formats a number that Row.Number has returned for people.
	text(m *Measure, number uint64) string
}

// kinds has every kind, in the order of the documentation.
var kinds = []Kind{HLL, Set, Bitmap, Bloom, Min, Max, First, Last, Sum, Avg, Quantile, TopK, Geo}

// Kinds returns all kinds, in the order of their documentation.
func Kinds() []Kind { return slices.Clone(kinds) }

// merged is embedded in the kinds whose values merge across windows and groups.
type merged struct{}

func (merged) Additive() bool { return false }

func (merged) tally(*Measure) tally { return nil }

// grouped is embedded in those of them that keep a value in each row of (window, group).
type grouped struct{ merged }

func (grouped) ByMember() bool { return false }

// count is embedded in the kinds whose number is a count.
type count struct{}

func (count) text(_ *Measure, number uint64) string { return strconv.FormatUint(number, 10) }

// A checkedCount is a kind whose numbers are made by checked.
type checkedCount struct{}

func (checkedCount) text(_ *Measure, number uint64) string {
	return fmt.Sprintf("%d events (check %06x)", number>>eventCheckBits, number&(1<<eventCheckBits-1))
}

// eventCheckBits is how many bits of a checked number tell what a measure holds of the events.
const eventCheckBits = 24

// checked returns a number of events that has, in its last bits, a check of what a measure holds of them,
// so that the numbers of two that hold other things of as many events differ.
func checked(events, check uint64) uint64 {
	return events<<eventCheckBits | check*0x9e3779b97f4a7c15>>(64-eventCheckBits)
}

// Text formats a number that Row.Number has returned for people.
func (m *Measure) Text(number uint64) string { return m.Kind.text(m, number) }

// An intake reads one measure's values from events, gathers them in a block, and adds
// the block to a column. Each worker has one for each measure.
type intake interface {
	// read reads the measure's values of the decoded event into entry n of the block.
	// It overwrites what entry n had, because the caller uses n again if the event
	// does not count. d.vals[at] is the value of Path; it is not missing. ok is false
	// if the measure takes nothing of the event. With a reason, the event is malformed.
	read(d *decoder, at, n int) (ok bool, reason string)
	// add adds entry i of the block to row rows[i] of the store, for each i. The store is
	// a column of the measure; a tally, with cells for rows, if the kind is Additive.
	add(to store, rows []uint32)
}

// A store has a value for each of its rows, empty at first.
type store interface {
	grow(n int) // makes the rows [0, n) exist
	reset()     // removes all rows and keeps the memory
	bytes() int
}

// A column is what a table holds of one measure.
type column interface {
	store
	merge(i uint32, from column, j uint32) // merges row j of a column of the same measure into row i
	// load merges a state, as appendState makes it, into row i. A state that is not
	// well formed is an error.
	load(i uint32, state []byte) error
	// appendState appends row i as the sink stores it. Equal values have equal bytes.
	appendState(dst []byte, i uint32) []byte
	// number returns the number that row i stands for. It is 0 for an empty row, and
	// does not fall when something is merged into the row, unless the kind is Additive.
	// It panics for a kind ByMember.
	number(i uint32) uint64
}

// A column whose values lie in an arena also implements piecemeal.
type piecemeal interface{ pieces() *arena }

// The column of a kind ByMember also implements members. It has no rows of groups, so
// its grow and merge do nothing.
type members interface {
	len() int
	gather(from column, r *Range) // merges the rows of r's windows
}

// A feed is an intake with the part of the block that waits to be added.
type feed struct {
	intake
	at       int // index in decoder.vals of the value of Path
	optional bool
	instead  int         // index in decoder.vals of the default; -1: none
	where    []condition // what an event must meet to be read
	additive bool

	takes bool              // the measure takes something of the event that was decoded last
	n     int               // number of entries that wait
	rows  [blockSize]uint32 // of the table, or cells of the partition if additive
}

// flush adds the entries that wait.
func (f *feed) flush(to store) {
	if f.n > 0 {
		f.add(to, f.rows[:f.n])
		f.n = 0
	}
}

// CheckDefault returns why the measure cannot have its Default, in words; "" if it can.
func (m *Measure) CheckDefault() (wrong string) {
	if m.Kind.ByMember() {
		return "is nothing that " + m.Kind.String() + " has"
	}
	d := &decoder{spec: &Spec{Chunk: 1}, number: 1, vals: []event.Value{m.defaultValue()}, wholes: make([]wholeValue, 1), names: []string{"default"}}
	_, wrong = m.Kind.intake(d.spec, m, nil).read(d, 0, 0)
	return strings.TrimPrefix(wrong, "field default ")
}

// defaultValue returns the default as if it stood in an event.
func (m *Measure) defaultValue() event.Value {
	v := event.Value{Kind: event.Number, Bytes: []byte(m.Default)}
	if _, ok := v.Float(); !ok {
		v.Kind = event.String
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
	return c.appendState(nil, 0), nil
}

// Number returns what Row.Number returns for a row with this state.
func (m *Measure) Number(state []byte) (uint64, error) {
	c, err := m.merged([][]byte{state})
	if err != nil {
		return 0, err
	}
	return c.number(0), nil
}

// Add adds up states of different windows or groups. The result is the state of their
// total, under the slot Whole. The kind is Additive.
func (m *Measure) Add(states ...[]byte) ([]byte, error) {
	sum := m.Kind.column(m)
	sum.grow(1)
	for _, s := range states {
		c, err := m.merged([][]byte{s})
		if err != nil {
			return nil, err
		}
		sum.(adder).plus(0, c, 0)
	}
	return sum.appendState(nil, 0), nil
}

func (m *Measure) merged(states [][]byte) (column, error) {
	c := m.Kind.column(m)
	c.grow(1)
	for _, s := range states {
		if err := c.load(0, s); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// errNoState says that a state was given for a kind ByMember.
var errNoState = errors.New("a measure with rows of its own has no state column")
