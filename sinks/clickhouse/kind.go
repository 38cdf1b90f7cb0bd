package clickhouse

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"weir/window"
)

// A kind says how ClickHouse stores a kind of measure: types, and SQL expressions with
// %[1]s in place of their operand. Each kind has a file of its own.
//
// A measure has a column of states in the state table and in every rollup, and one
// of finished numbers in the rollups and views. A finished number of a window is only
// replaced by one that numberMerge prefers.
//
// Of kinds that are window.Kind.Additive, a rollup has no finished numbers: they can fall
// as well as grow. Its states hold one total of the window, under window.Whole. merge takes
// the later of two totals of one window; fold makes the total of the states of one
// window; plus adds the totals of several.
type kind struct {
	of func(m *window.Measure) *kind // makes the kind of a measure, if that depends on more; then nothing else is set

	state string // type of the column of states
	merge string // the aggregate function that merges states
	bytes string // of a state: its bytes, as window.Measure.Merge reads them
	fold  string // of a state: the total; only if additive
	plus  string // the aggregate function that adds totals; only if additive

	// The same as fold of merge, or as merge, in less time, for rollups: where an aggregate
	// function makes a node of a tree or of a table for each entry, and values of any type,
	// functions of arrays work on columns. Empty: nothing takes less.
	folded string

	number      string // of a state, or of a total if additive: its number
	numberType  string // type of that number
	numberMerge string // the aggregate function that merges numbers of one window, such as max
	shown       string // of a number: as a view shows it
	shownType   string // type of that, if it is not numberType
	raw         bool   // the number, if the rollup has one, holds values of events too, and expires with the states

	// The suffixes of the columns that a view has of the measure, if it has several: then
	// shown returns an array with the value of each, and shownType is the type of one.
	parts  []string
	levels []float64 // what part of the numbers is below each of them

	rank string // of a number: a UInt64 that grows with it, as window.Row.Number has it

	common string // of two states, %[1]s and %[2]s: how many ids are in both; empty: not known

	distinct string // of the number of different values in a state of ids: how many ids; empty: it has none
	margin   string // by how much a number may be wrong: %[1]s is by how much pairs of ids with one value are expected to change it, %[2]s that of squares, %[3]s how much a pair can

	ids string // of a state of ids: an array of them; empty: it has none

	empty string // the state of no events

	// A kind whose states are not what SQL reads best has them in a column whose name ends in
	// stored. What would be their column else is computed of it: alias, of type aliasType.
	stored, alias, aliasType string

	// How a rollup keeps a state, if not as the state table does: the type of the column, a
	// merged state as it is kept, and the state of what is kept.
	rolled, packed, unpacked string

	codec string // of the columns of states; empty: ZSTD(1)

	// How a state is written into a Native block. plain is the type, if it is not
	// state. runs says how many runs of bytes the column has, if more than one; add
	// appends the state of a row to them. If there is last, it does that for the last run, which is long.
	plain string
	runs  int
	add   func(runs [][]byte, row window.Row, m int)
	last  func(run []byte, row window.Row, m int) []byte

	bits func(m *window.Measure) uint64 // the third argument of weirBloomHas; nil: it does not apply
}

// kinds has every kind of measure that is not window.Kind.ByMember. The others have
// tables of their own, and layout.located yields them.
var kinds = map[window.Kind]*kind{
	window.HLL:      &hllKind,
	window.Set:      &setKind,
	window.Bitmap:   &bitmapKind,
	window.Bloom:    &bloomKind,
	window.Min:      &minKind,
	window.Max:      &maxKind,
	window.Sum:      &sumKind,
	window.Avg:      &avgKind,
	window.Quantile: &quantileKind,
	window.TopK:     &topKind,
	window.First:    &firstKind,
	window.Last:     &lastKind,
}

// measure is one measure of a job. kind is nil if the measure is ByMember.
type measure struct {
	window.Measure
	*kind
	index int // in Spec.Measures
}

// newMeasure returns the measure m, the index-th of a job.
func newMeasure(m window.Measure, index int) measure {
	k := kinds[m.Kind]
	if k != nil && k.of != nil {
		k = k.of(&m)
	}
	return measure{m, k, index}
}

// Column returns the name of a measure's column of numbers in a rollup, Rolled that of its
// states there, and Stored that of its states in the state table. State returns an expression
// for the state of a row of a rollup.
func (m *measure) Column() string { return quote(m.Name) }
func (m *measure) Rolled() string { return quote(m.Name + cmp.Or(m.stored, "_state")) }
func (m *measure) Stored() string { return quote(m.Name + m.stored) }
func (m *measure) State() string  { return m.Rolled() + m.unpacked }

// Held, Known and Whole return the names of columns inside a statement. In a comparison,
// Held are the measure's states in the rows that the rollup is made from. In the making of
// a rollup, they say whether the rows of a window still have their states, whether the
// window's number is known, and whether all windows still have their states.
func (m *measure) Held() string  { return quote("_" + m.Name + "_held") }
func (m *measure) Known() string { return quote("_" + m.Name + "_known") }
func (m *measure) Whole() string { return quote("_" + m.Name + "_whole") }

// Expires reports whether the states of the measure expire before the rows of a rollup: see
// Rollup.KeepStates.
func (m *measure) Expires() bool { return m.Kind.HoldsValues() }

// The expressions of kind, for an operand.
func (m *measure) Empty() string              { return m.empty }
func (m *measure) Merge(state string) string  { return fmt.Sprintf(m.merge, state) }
func (m *measure) Bytes(state string) string  { return fmt.Sprintf(m.bytes, state) }
func (m *measure) Number(state string) string { return fmt.Sprintf(m.number, state) }
func (m *measure) Rank(number string) string  { return fmt.Sprintf(m.rank, number) }

// checked returns the rank of a number whose first element is a count of events, with a check of what
// is behind it, as package window makes one.
func checked(check string) string {
	return "bitOr(bitShiftLeft(tupleElement(%[1]s, 1), 24), bitShiftRight(" + check + " * 11400714819323198485, 40))"
}

// Nothing returns an expression for a finished number that changes no other when the two
// are merged.
func (m *measure) Nothing() string { return "defaultValueOfTypeName(" + text(m.numberType) + ")" }

// Additive reports whether the kind adds up.
func (m *measure) Additive() bool { return m.Kind.Additive() }

// Fold returns an expression for what a rollup keeps of the merged state of a window, and
// Plus for what it keeps of several windows.
func (m *measure) Fold(state string) string {
	if m.Additive() {
		return fmt.Sprintf(m.fold, state)
	}
	return state
}

// Folded returns an aggregate for Fold of Merge, of states of one window.
func (m *measure) Folded(states string) string {
	if m.folded != "" {
		return fmt.Sprintf(m.folded, states)
	}
	return m.Merge(states)
}

func (m *measure) Plus(states string) string {
	if m.Additive() {
		return fmt.Sprintf(m.plus, states)
	}
	return m.Merge(states)
}

// Viewed returns the column of a rollup that views read: the finished numbers, or the
// totals. Live returns an expression for the same of what a live tail has, Best for the
// best of several values of one window, and Final for its number.
func (m *measure) Viewed() string {
	if m.Additive() {
		return m.State()
	}
	return m.Column()
}

func (m *measure) Live(state string) string {
	if m.Additive() {
		return state
	}
	return m.Number(state)
}

func (m *measure) Best(values string) string {
	if m.Additive() {
		return m.Merge(values)
	}
	return m.numberMerge + "(" + values + ")"
}

func (m *measure) Final(best string) string {
	if m.Additive() {
		return m.Number(best)
	}
	return best
}

// Packed returns an expression for a merged state, or a total, as a rollup keeps it.
func (m *measure) Packed(state string) string {
	if m.packed == "" {
		return state
	}
	return fmt.Sprintf(m.packed, state)
}

// states returns the columns that are called name: of states, or computed of them; typ and ttl
// are those of the states.
func (m *measure) states(name, typ, unpacked, ttl string) []column {
	extra := "CODEC(" + cmp.Or(m.codec, "ZSTD(1)") + ")"
	if m.stored == "" {
		return []column{{name: name, typ: typ, extra: extra, ttl: ttl}}
	}
	stored := m.Name + m.stored
	return []column{
		{name: stored, typ: typ, extra: extra, ttl: ttl},
		{name: name, typ: m.aliasType, extra: aliased + fmt.Sprintf(m.alias, stored+unpacked)},
	}
}

func (m *measure) numbers() column {
	return column{name: m.Name, typ: "SimpleAggregateFunction(" + m.numberMerge + ", " + m.numberType + ")"}
}

// viewed returns the measure's columns in views.
func (m *measure) viewed() (all []column) {
	for name := range m.shows("") {
		all = append(all, column{name: name, typ: cmp.Or(m.shownType, m.numberType)})
	}
	return all
}

// shows yields the names of these columns, each with its expression for a number.
func (m *measure) shows(number string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		value := fmt.Sprintf(m.shown, number)
		if m.parts == nil {
			yield(m.Name, value)
			return
		}
		for i, suffix := range m.parts {
			if !yield(m.Name+suffix, fmt.Sprintf("%s[%d]", value, i+1)) {
				return
			}
		}
	}
}

// Shown returns these columns for the select list of a view.
func (m *measure) Shown(number string) string {
	var all []string
	for name, value := range m.shows(number) {
		all = append(all, value+" AS "+quote(name))
	}
	return strings.Join(all, ",\n    ")
}

// values returns an empty column for the measure's states in a Native block.
func (m *measure) values() values {
	typ := m.plain
	if typ == "" {
		typ = m.state
	}
	v := value(m.Name+m.stored, typ, max(1, m.runs))
	v.late = m.last != nil
	return v
}

// addTo appends the state of a row to such a column.
func (m *measure) addTo(v *values, row window.Row, last bool) {
	run := &v.runs[len(v.runs)-1]
	switch {
	case m.add == nil:
		*run = row.AppendState(*run, m.index)
	case last:
		*run = m.last(*run, row, m.index)
	default:
		m.add(v.runs, row, m.index)
	}
}
