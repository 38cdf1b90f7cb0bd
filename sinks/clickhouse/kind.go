package clickhouse

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"weir/measures"
	"weir/measures/face"
	"weir/window"
)

// measure is one measure of a job. sql is nil if the measure is ByMember, which has tables of its
// own: layout.located yields it.
type measure struct {
	window.Measure
	sql   *face.SQL
	index int // in Spec.Measures
}

// newMeasure returns the measure m, the index-th of a job.
func newMeasure(m window.Measure, index int) measure {
	return measure{m, measures.Of(m.Kind).SQL(&m), index}
}

// Column returns the name of a measure's column of numbers in a rollup, Rolled that of its
// states there, and Stored that of its states in the state table. State returns an expression
// for the state of a row of a rollup.
func (m *measure) Column() string { return quote(m.Name) }
func (m *measure) Rolled() string { return quote(m.Name + cmp.Or(m.sql.Stored, "_state")) }
func (m *measure) Stored() string { return quote(m.Name + m.sql.Stored) }
func (m *measure) State() string  { return m.Rolled() + m.sql.Unpacked }

// Held, Known and Whole return the names of columns inside a statement. In a comparison,
// Held are the measure's states in the rows that the rollup is made from. In the making of
// a rollup, they say whether the rows of a window still have their states, whether the
// window's number is known, and whether all windows still have their states.
func (m *measure) Held() string  { return quote("_" + m.Name + "_held") }
func (m *measure) Known() string { return quote("_" + m.Name + "_known") }
func (m *measure) Whole() string { return quote("_" + m.Name + "_whole") }

// Expires reports whether the states of the measure expire before the rows of a rollup: see
// Rollup.KeepStates.
func (m *measure) Expires() bool { return m.Kind.HoldsValues }

// The expressions of kind, for an operand.
func (m *measure) Empty() string              { return m.sql.Empty }
func (m *measure) Merge(state string) string  { return fmt.Sprintf(m.sql.Merge, state) }
func (m *measure) Bytes(state string) string  { return fmt.Sprintf(m.sql.Bytes, state) }
func (m *measure) Number(state string) string { return fmt.Sprintf(m.sql.Number, state) }
func (m *measure) Rank(number string) string  { return fmt.Sprintf(m.sql.Rank, number) }

// Nothing returns an expression for a finished number that changes no other when the two
// are merged.
func (m *measure) Nothing() string { return "defaultValueOfTypeName(" + text(m.sql.NumberType) + ")" }

// Additive reports whether the kind adds up.
func (m *measure) Additive() bool { return m.Kind.Additive }

// Fold returns an expression for what a rollup keeps of the merged state of a window, and
// Plus for what it keeps of several windows.
func (m *measure) Fold(state string) string {
	if m.Additive() {
		return fmt.Sprintf(m.sql.Fold, state)
	}
	return state
}

// Folded returns an aggregate for Fold of Merge, of states of one window.
func (m *measure) Folded(states string) string {
	if m.sql.Folded != "" {
		return fmt.Sprintf(m.sql.Folded, states)
	}
	return m.Merge(states)
}

func (m *measure) Plus(states string) string {
	if m.Additive() {
		return fmt.Sprintf(m.sql.Plus, states)
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
	return m.sql.NumberMerge + "(" + values + ")"
}

func (m *measure) Final(best string) string {
	if m.Additive() {
		return m.Number(best)
	}
	return best
}

// Packed returns an expression for a merged state, or a total, as a rollup keeps it.
func (m *measure) Packed(state string) string {
	if m.sql.Packed == "" {
		return state
	}
	return fmt.Sprintf(m.sql.Packed, state)
}

// states returns the columns that are called name: of states, or computed of them; typ and ttl
// are those of the states.
func (m *measure) states(name, typ, unpacked, ttl string) []column {
	extra := "CODEC(" + cmp.Or(m.sql.Codec, "ZSTD(1)") + ")"
	if m.sql.Stored == "" {
		return []column{{name: name, typ: typ, extra: extra, ttl: ttl}}
	}
	stored := m.Name + m.sql.Stored
	return []column{
		{name: stored, typ: typ, extra: extra, ttl: ttl},
		{name: name, typ: m.sql.AliasType, extra: aliased + fmt.Sprintf(m.sql.Alias, stored+unpacked)},
	}
}

func (m *measure) numbers() column {
	return column{name: m.Name, typ: "SimpleAggregateFunction(" + m.sql.NumberMerge + ", " + m.sql.NumberType + ")"}
}

// viewed returns the measure's columns in views.
func (m *measure) viewed() (all []column) {
	for name := range m.shows("") {
		all = append(all, column{name: name, typ: cmp.Or(m.sql.ShownType, m.sql.NumberType)})
	}
	return all
}

// shows yields the names of these columns, each with its expression for a number.
func (m *measure) shows(number string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		value := fmt.Sprintf(m.sql.Shown, number)
		if m.sql.Parts == nil {
			yield(m.Name, value)
			return
		}
		for i, suffix := range m.sql.Parts {
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
	typ := m.sql.Plain
	if typ == "" {
		typ = m.sql.State
	}
	v := value(m.Name+m.sql.Stored, typ, max(1, m.sql.Runs))
	v.late = m.sql.Last != nil
	return v
}

// addTo appends the state of a row to such a column.
func (m *measure) addTo(v *values, row window.Row, last bool) {
	run := &v.runs[len(v.runs)-1]
	switch {
	case m.sql.Add == nil:
		*run = row.AppendState(*run, m.index)
	case last:
		*run = m.sql.Last(*run, row, m.index)
	default:
		m.sql.Add(v.runs, row, m.index)
	}
}
