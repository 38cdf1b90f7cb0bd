package window

import (
	"errors"
	"slices"
	"strconv"
)

// A Kind is a way to measure: what is read of an event, what is kept of the
// events of a row, and how that merges. Each is one file of this package, called
// after it, and a line in kinds. Kinds are compared with ==.
//
// Whatever a kind keeps is an element of a join-semilattice and a function of the
// events alone, whichever order they come in. What has to be sent as the whole of
// its chunk, as counts are, would belong to the Partition; no kind here does.
type Kind interface {
	// String is the kind's name in configurations.
	String() string
	// ByMember reports whether the kind has rows of its own, by (window, member),
	// instead of a value in each row of (window, group).
	ByMember() bool

	// HoldsIDs reports whether a state in a row is about single ids: it is a set of
	// them, or says of an id whether it was there.
	HoldsIDs() bool

	// Text is a number of Row.Number as people read it.
	Text(number uint64) string

	// check calls bad for everything that a measure of the kind cannot be; that
	// it has a name and a Path is known.
	check(m *Measure, bad func(ok bool, format string, args ...any))
	// paths are the fields that a measure reads besides Path.
	paths(m *Measure) []string
	// intake makes a measure's way in. also is where the paths stand among the
	// values of an event.
	intake(s *Spec, m *Measure, also []int) intake
	// column makes an empty column.
	column(m *Measure) column
}

// kinds are all there are.
var kinds = []Kind{HLL, Bitmap, Bloom, Max, Geo}

// Kinds are all kinds, in the order of their documentation.
func Kinds() []Kind { return slices.Clone(kinds) }

// ParseKind is the inverse of Kind.String.
func ParseKind(s string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.String() == s })
	if i < 0 {
		return nil, false
	}
	return kinds[i], true
}

// grouped is a part of kinds that keep a value in each row of (window, group).
type grouped struct{}

func (grouped) ByMember() bool { return false }

// count is a part of kinds whose number is one of things.
type count struct{}

func (count) Text(number uint64) string { return strconv.FormatUint(number, 10) }

// An intake is a measure's way in at one worker: it reads each event, gathers what
// is to be added, and adds it to a column by the block.
type intake interface {
	// read reads what the measure takes of the decoded event, the value of whose
	// Path is d.vals[at] and not missing. It keeps it at place n of the block, over
	// what was there: the event may turn out not to count. ok is false if the event
	// has no part in the measure; with a reason, it is malformed.
	read(d *decoder, at, n int) (ok bool, reason string)
	// add adds places [0, len(rows)) to the column's rows of these numbers.
	add(to column, rows []uint32)
}

// A column is what a table holds of one measure: a value for each row, empty at
// first. It is an element of a join-semilattice, row by row.
type column interface {
	grow(n int)                            // makes the rows [0, n) exist
	merge(i uint32, from column, j uint32) // row j of a column of the same measure into row i
	// load merges a state, as appendState makes it, into row i. What is not well
	// formed is an error.
	load(i uint32, state []byte) error
	// appendState appends row i as the sink stores it: equal values, equal bytes.
	appendState(dst []byte, i uint32) []byte
	// number is what row i stands for, as a number that grows with it: it is 0 for
	// an empty row. A kind ByMember panics.
	number(i uint32) uint64
	reset() // removes all rows and keeps the memory
	bytes() int
}

// members is what the column of a kind ByMember is besides. Of rows of groups it
// knows nothing: grow and merge do nothing.
type members interface {
	len() int
	gather(from column, r *Range) // merges the rows of r's windows
}

// A feed is one measure's share of the block: the events that wait to be added.
type feed struct {
	intake
	at       int // where the value of Path stands
	optional bool

	takes bool // the event that was decoded last has a part in the measure
	n     int  // how many wait
	rows  [blockSize]uint32
}

// flush adds what waits.
func (f *feed) flush(to column) {
	if f.n > 0 {
		f.add(to, f.rows[:f.n])
		f.n = 0
	}
}

// Merge merges states of the measure, as a sink holds them, into one, in the bytes
// that Row.AppendState has for it.
func (m *Measure) Merge(states ...[]byte) ([]byte, error) {
	c, err := m.merged(states)
	if err != nil {
		return nil, err
	}
	return c.appendState(nil, 0), nil
}

// Number is Row.Number of a state.
func (m *Measure) Number(state []byte) (uint64, error) {
	c, err := m.merged([][]byte{state})
	if err != nil {
		return 0, err
	}
	return c.number(0), nil
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

// errNoState is the error of loading a state of a group into a column of members.
var errNoState = errors.New("a measure with rows of its own has no state column")
