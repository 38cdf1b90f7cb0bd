package clickhouse

import (
	"fmt"

	"weir/window"
)

// A kind says how ClickHouse stores a kind of measure: types, and SQL expressions with
// %[1]s in place of their operand. Each kind has a file of its own.
//
// A measure has a column of states in the state table and in every rollup, and one
// of finished numbers in the rollups and views. A finished number of a window is only
// replaced by one that numberMerge prefers.
type kind struct {
	state string // type of the column of states
	merge string // the aggregate function that merges states
	bytes string // of a state: its bytes, as window.Measure.Merge reads them

	number      string // of a state: its number
	numberType  string // type of that number
	numberMerge string // the aggregate function that merges numbers of one window, such as max
	shown       string // of a number: as a view shows it
	rank        string // of a number: a UInt64 that grows with it, as window.Row.Number has it

	empty string // the state of no events

	// How a state is written into a Native block. plain is the type, if it is not
	// state. runs says how many runs of bytes the column has, if more than one; add
	// appends the state of a row to them.
	plain string
	runs  int
	add   func(runs [][]byte, row window.Row, m int)

	bits func(m *window.Measure) uint64 // the third argument of weirBloomHas; nil: it does not apply
}

// kinds has every kind of measure that is not window.Kind.ByMember. The others have
// tables of their own, and layout.located yields them.
var kinds = map[window.Kind]*kind{
	window.HLL:    &hllKind,
	window.Bitmap: &bitmapKind,
	window.Bloom:  &bloomKind,
	window.Min:    &minKind,
	window.Max:    &maxKind,
}

// measure is one measure of a job. kind is nil if the measure is ByMember.
type measure struct {
	window.Measure
	*kind
	index int // in Spec.Measures
}

// Column and State return the names of a measure's columns of numbers and of states.
func (m *measure) Column() string { return quote(m.Name) }
func (m *measure) State() string  { return quote(m.Name + "_state") }

// Held and Whole return the names of columns inside a statement: in a comparison, the
// measure's states in the rows that the rollup is made from; in the making of a rollup,
// whether all of these rows still have their states.
func (m *measure) Held() string  { return quote("_" + m.Name + "_held") }
func (m *measure) Whole() string { return quote("_" + m.Name + "_whole") }

// Set reports whether the states of the measure expire before its numbers: see
// Rollup.KeepStates.
func (m *measure) Set() bool { return m.Kind.HoldsIDs() }

// The expressions of kind, for an operand.
func (m *measure) Empty() string              { return m.empty }
func (m *measure) Merge(state string) string  { return fmt.Sprintf(m.merge, state) }
func (m *measure) Bytes(state string) string  { return fmt.Sprintf(m.bytes, state) }
func (m *measure) Number(state string) string { return fmt.Sprintf(m.number, state) }
func (m *measure) Shown(number string) string { return fmt.Sprintf(m.shown, number) }
func (m *measure) Rank(number string) string  { return fmt.Sprintf(m.rank, number) }
func (m *measure) Best(numbers string) string { return m.numberMerge + "(" + numbers + ")" }

// states and numbers return the measure's columns.
func (m *measure) states(name, extra string) column {
	return column{name: name, typ: m.state, extra: extra}
}

func (m *measure) numbers() column {
	return column{name: m.Name, typ: "SimpleAggregateFunction(" + m.numberMerge + ", " + m.numberType + ")"}
}

// values returns an empty column for the measure's states in a Native block.
func (m *measure) values() values {
	typ := m.plain
	if typ == "" {
		typ = m.state
	}
	return value(m.Name, typ, max(1, m.runs))
}

// addTo appends the state of a row to such a column.
func (m *measure) addTo(v *values, row window.Row) {
	if m.add != nil {
		m.add(v.runs, row, m.index)
		return
	}
	v.runs[0] = row.AppendState(v.runs[0], m.index)
}
