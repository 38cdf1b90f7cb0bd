package clickhouse

import (
	"fmt"

	"weir/window"
)

// A kind is what ClickHouse keeps of a kind of measure: types, and expressions
// with %[1]s for what they are about. Each stands in a file of its own.
//
// A measure has a column of states in the state table and in every rollup, and one
// of finished numbers in the rollups and views. A finished number only grows, in the
// sense of numberMerge.
type kind struct {
	state string // type of the states' column
	merge string // the aggregate that merges states into one
	bytes string // the bytes of a state, as window.Measure.Merge reads them

	number      string // the plain number that a state stands for
	numberType  string // its type
	numberMerge string // the aggregate that merges numbers of one window: max
	shown       string // a number as it stands in a view
	rank        string // a number as a UInt64 that grows with it: window.Row.Number

	empty string // a state without ids, of a kind that HoldsIDs

	// A state in a Native block: of type plain, if that is another than state; of so
	// many runs, if of more than one, which add appends a row's to.
	plain string
	runs  int
	add   func(runs [][]byte, row window.Row, m int)

	bits func(m *window.Measure) uint64 // what weirBloomHas has to be told; nil: nothing
}

// kinds has every kind of measure that is not window.Kind.ByMember: those that are
// have tables of their own, and layout.located yields them.
var kinds = map[window.Kind]*kind{
	window.HLL:    &hllKind,
	window.Bitmap: &bitmapKind,
	window.Bloom:  &bloomKind,
	window.Max:    &maxKind,
}

// measure is one measure of a job. kind is nil if it is by member.
type measure struct {
	window.Measure
	*kind
	index int // in Spec.Measures
}

// The names of a measure's columns: of numbers, of states, and in a comparison what
// the rows below a rollup make of the measure and, in a rollup's making, whether
// no state of it is missing.

func (m *measure) Column() string { return quote(m.Name) }
func (m *measure) State() string  { return quote(m.Name + "_state") }
func (m *measure) Held() string   { return quote("_" + m.Name + "_held") }
func (m *measure) Whole() string  { return quote("_" + m.Name + "_whole") }

// What the templates say of a measure: see kind.

func (m *measure) Set() bool                  { return m.Kind.HoldsIDs() } // let go of earlier than numbers: Rollup.KeepStates
func (m *measure) Empty() string              { return m.empty }
func (m *measure) Merge(state string) string  { return fmt.Sprintf(m.merge, state) }
func (m *measure) Bytes(state string) string  { return fmt.Sprintf(m.bytes, state) }
func (m *measure) Number(state string) string { return fmt.Sprintf(m.number, state) }
func (m *measure) Shown(number string) string { return fmt.Sprintf(m.shown, number) }
func (m *measure) Rank(number string) string  { return fmt.Sprintf(m.rank, number) }
func (m *measure) Best(numbers string) string { return m.numberMerge + "(" + numbers + ")" }

// states and numbers are the measure's columns.
func (m *measure) states(name, extra string) column {
	return column{name: name, typ: m.state, extra: extra}
}

func (m *measure) numbers() column {
	return column{name: m.Name, typ: "SimpleAggregateFunction(" + m.numberMerge + ", " + m.numberType + ")"}
}

// values is the measure's column in a Native block.
func (m *measure) values() values {
	typ := m.plain
	if typ == "" {
		typ = m.state
	}
	return value(m.Name, typ, max(1, m.runs))
}

// addTo appends a row's state to it.
func (m *measure) addTo(v *values, row window.Row) {
	if m.add != nil {
		m.add(v.runs, row, m.index)
		return
	}
	v.runs[0] = row.AppendState(v.runs[0], m.index)
}
