package schema

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"weir/measures"
	"weir/measures/face"
	"weir/sinks/clickhouse/native"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// Measure is one measure of a job. SQL is nil if the measure is ByMember, which has tables of its
// own: Layout.Located yields it.
type Measure struct {
	window.Measure
	SQL   *face.SQL
	Index int // in Spec.Measures
}

// newMeasure returns the measure m, the index-th of a job.
func newMeasure(m window.Measure, index int) Measure {
	return Measure{m, measures.Of(m.Kind).SQL(&m), index}
}

// Column returns the name of the measure's column of numbers in a rollup.
func (m *Measure) Column() string { return wire.Quote(m.Name) }

// Rolled returns the name of the column of its states in a rollup.
func (m *Measure) Rolled() string { return wire.Quote(m.Name + cmp.Or(m.SQL.Stored, "_state")) }

// Stored returns the name of the column of its states in the state table.
func (m *Measure) Stored() string { return wire.Quote(m.Name + m.SQL.Stored) }

// State returns an expression for the state of a row of a rollup.
func (m *Measure) State() string { return m.Rolled() + m.SQL.Unpacked }

// Held names the states in the rows that a rollup is made from.
func (m *Measure) Held() string { return wire.Quote("_" + m.Name + "_held") }

// Expires reports whether the states of the measure expire before the rows of a rollup: see
// Rollup.KeepStates.
func (m *Measure) Expires() bool { return m.Kind.HoldsValues }

// needsStates reports whether the first rollup alone cannot answer for several windows.
func (m Measure) needsStates() bool { return m.SQL != nil && (!m.Additive() || m.Expires()) }

// Empty is the state of no events.
func (m *Measure) Empty() string { return m.SQL.Empty }

// Merge returns an aggregate that merges states.
func (m *Measure) Merge(state string) string { return fmt.Sprintf(m.SQL.Merge, state) }

// Bytes returns the bytes of a state, as window.Measure.Merge reads them.
func (m *Measure) Bytes(state string) string { return fmt.Sprintf(m.SQL.Bytes, state) }

// Number returns the number of a state.
func (m *Measure) Number(state string) string { return fmt.Sprintf(m.SQL.Number, state) }

// Rank returns a UInt64 that grows with a number.
func (m *Measure) Rank(number string) string { return fmt.Sprintf(m.SQL.Rank, number) }

// Nothing returns an expression for a finished number that changes no other when the two
// are merged.
func (m *Measure) Nothing() string {
	return "defaultValueOfTypeName(" + wire.Text(m.SQL.NumberType) + ")"
}

// Additive reports whether the kind adds up.
func (m *Measure) Additive() bool { return m.Kind.Additive }

// Fold returns an expression for what a rollup keeps of the merged state of a window.
func (m *Measure) Fold(state string) string {
	if m.Additive() {
		return fmt.Sprintf(m.SQL.Fold, state)
	}
	return state
}

// Folded returns an aggregate for Fold of Merge, of state rows of one window.
func (m *Measure) Folded(states string) string {
	if m.SQL.Folded != "" {
		return fmt.Sprintf(m.SQL.Folded, states)
	}
	return m.Merge(states)
}

// Plus returns an aggregate for what a rollup keeps of several windows.
func (m *Measure) Plus(states string) string {
	if m.Additive() {
		return fmt.Sprintf(m.SQL.Plus, states)
	}
	return m.Merge(states)
}

// Viewed returns the column of a rollup that views read: the finished numbers, or the
// totals.
func (m *Measure) Viewed() string {
	if m.Additive() {
		return m.State()
	}
	return m.Column()
}

// Live returns an expression for the same of what a live tail has.
func (m *Measure) Live(state string) string {
	if m.Additive() {
		return state
	}
	return m.Number(state)
}

// Best returns an aggregate for the best of several values of one window.
func (m *Measure) Best(values string) string {
	if m.Additive() {
		return m.Merge(values)
	}
	return m.SQL.NumberMerge + "(" + values + ")"
}

// Final returns the number of the best value.
func (m *Measure) Final(best string) string {
	if m.Additive() {
		return m.Number(best)
	}
	return best
}

// Packed returns an expression for a merged state, or a total, as a rollup keeps it.
func (m *Measure) Packed(state string) string {
	if m.SQL.Packed == "" {
		return state
	}
	return fmt.Sprintf(m.SQL.Packed, state)
}

// states returns the columns called name, of states or computed from them. typ and ttl are the
// states' type and TTL.
func (m *Measure) states(name, typ, unpacked, ttl string) []Column {
	extra := "CODEC(" + cmp.Or(m.SQL.Codec, "ZSTD(1)") + ")"
	if m.SQL.Stored == "" {
		return []Column{{Name: name, Type: typ, About: m.held(), extra: extra, ttl: ttl}}
	}
	stored := m.Name + m.SQL.Stored
	return []Column{
		{Name: stored, Type: typ, About: m.held(), extra: extra, ttl: ttl},
		{Name: name, Type: m.SQL.AliasType, About: m.held(), extra: aliased + fmt.Sprintf(m.SQL.Alias, stored+unpacked)},
	}
}

func (m *Measure) numbers() Column {
	return Column{Name: m.Name, Type: "SimpleAggregateFunction(" + m.SQL.NumberMerge + ", " + m.SQL.NumberType + ")", About: "finished numbers of the measure " + m.Name + ", which views show"}
}

// ViewColumns returns the measure's columns in views of a job.
func (m *Measure) ViewColumns(job string) (all []Column) {
	for name := range m.Selected("") {
		all = append(all, Column{Name: name, Type: cmp.Or(m.SQL.ViewType, m.SQL.NumberType), About: m.about(job)})
	}
	return all
}

// Selected yields the names of these columns, each with its expression for a number.
func (m *Measure) Selected(number string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		value := fmt.Sprintf(m.SQL.View, number)
		if m.SQL.Parts == nil {
			yield(m.Name, value)
			return
		}
		for i, suffix := range m.SQL.Parts {
			if !yield(m.Name+suffix, fmt.Sprintf("%s[%d]", value, i+1)) {
				return
			}
		}
	}
}

// SelectList returns these columns for the select list of a view.
func (m *Measure) SelectList(number string) string {
	var all []string
	for name, value := range m.Selected(number) {
		all = append(all, value+" AS "+wire.Quote(name))
	}
	return strings.Join(all, ",\n    ")
}

// NumberColumn returns the column of the measure's numbers in a Native block. The measure does not add up.
func (m *Measure) NumberColumn() native.Column[window.Row] {
	if m.SQL.Number == "%s" { // a state is its number
		return m.StateColumn()
	}
	return native.UInt64(m.Name, func(row window.Row) uint64 { return row.Number(m.Index) })
}

// StateColumn returns the column of the measure's states in a Native block.
func (m *Measure) StateColumn() native.Column[window.Row] {
	c := native.Column[window.Row]{Name: m.Name + m.SQL.Stored, Type: cmp.Or(m.SQL.Plain, m.SQL.State), Runs: m.SQL.Runs}
	if m.SQL.Add == nil {
		c.Last = func(run []byte, row window.Row) []byte { return row.AppendState(run, m.Index) }
		return c
	}
	c.Add = func(runs [][]byte, row window.Row) { m.SQL.Add(runs, row, m.Index) }
	if m.SQL.Last != nil {
		c.Runs--
		c.Last = func(run []byte, row window.Row) []byte { return m.SQL.Last(run, row, m.Index) }
	}
	return c
}
