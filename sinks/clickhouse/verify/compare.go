package verify

import (
	"fmt"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// A comparison is what the templates see of a rollup that is compared with the rows
// that it is made from, in some windows.
type comparison struct {
	schema.LevelData
	hits    bool                 // no measure is compared
	Within  string               // SQL condition that selects the windows
	Settled string               // SQL expression: rows written later are not judged
	Done    string               // SQL expression: the rollup has the rows of all rounds before this one
	Begun   string               // SQL expression: windows that were last made before this were not made from the source as it is, or it may have lost rows by an earlier keep; empty: neither
	Lacking string               // SQL query: windows of which the rows may lack some that the rollup has, if it was made from others; empty: none
	Horizon string               // SQL expression: state rows that were written later have certainly not expired, by this keep or an earlier one
	ago     func(s int64) string // SQL expression for the time s seconds ago
}

// begun returns an SQL expression for a time: since then the level is made from the one below, whose
// table has had the same keep.
func (k comparison) begun() string {
	below := k.Below.Table
	return fmt.Sprintf("(SELECT toDateTime(max(applied_at)) FROM %s WHERE object IN (%s, %s, %s))",
		k.DB.Name("weir_schema"), wire.Text(below), wire.Text(below+" ttl"), wire.Text(k.Level.Table+schema.Progressed))
}

// lacking returns a query for the windows in the live tail of the level below, whose rows may lack
// some events. done returns the round up to which the rollup of that length is done.
func (k comparison) lacking(done func(seconds int64) string) string {
	var tails []string
	for _, below := range k.Shorter() {
		tails = append(tails, fmt.Sprintf("SELECT %s FROM %s WHERE %s AND %s >= %s", k.Start(), below.Source(), k.Within, below.Stamp(), done(below.Seconds())))
	}
	return strings.Join(tails, " UNION ALL ")
}

// GroupText returns an expression for the group as one text.
func (k comparison) GroupText() string {
	if len(k.Layout.By) == 0 {
		return "''"
	}
	return "arrayStringConcat([" + strings.Join(k.Layout.Keys(), ", ") + "], ' ')"
}

// Touched returns the column of the source that says when a row was written.
func (k comparison) Touched() string {
	if k.First {
		return "flushed_at"
	}
	return "rolled_at"
}

// Kept and SourceKept return a time; windows of the rollup, or of the rollup that it is made from, that begin
// later have certainly not expired.
func (k comparison) Kept() string       { return k.kept(k.Level) }
func (k comparison) SourceKept() string { return k.kept(k.Below) }

func (k comparison) kept(v *schema.Level) string {
	kept := k.since(v.Keep)
	if v.WholeSince > 0 {
		kept = fmt.Sprintf("greatest(%s, toDateTime(%d, 'UTC'))", kept, v.WholeSince)
	}
	return kept
}

// since returns a time; what is kept for so long and was written later has
// certainly not expired.
func (k comparison) since(keep time.Duration) string {
	if keep == 0 {
		return "toDateTime(0, 'UTC')"
	}
	return k.ago(schema.Unexpired(int64(keep / time.Second)))
}

// Measures returns the measures that are compared besides the hits.
func (k comparison) Measures() []*schema.Measure {
	if k.hits {
		return nil
	}
	return k.LevelData.Measures()
}

// Several reports whether a window of the rollup is made from several windows.
func (k comparison) Several() bool {
	return len(k.Measures()) > 0 && (k.First && !k.Same() || !k.First && k.Below.Seconds != k.Seconds())
}

// HasStates reports whether the rollup has states of a measure. Apart reports whether it is made from states in another
// table than its hits.
func (k comparison) HasStates(m *schema.Measure) bool { return !k.First || m.Additive() }
func (k comparison) Apart(m *schema.Measure) bool     { return k.Second() && !m.Additive() }

// Sourced returns the column with the measure's states in the source.
func (k comparison) Sourced(m *schema.Measure) string {
	if k.First {
		return "_s." + m.Stored()
	}
	return "_s." + m.State()
}

// Number, StateNumber and HeldNumber return expressions for a measure's number: the
// rollup's finished number, the number of the rollup's state, and the number of the
// states in the source.
func (k comparison) Number(m *schema.Measure) string {
	if m.Additive() {
		return k.StateNumber(m)
	}
	return "max(_n." + m.Column() + ")"
}

func (k comparison) StateNumber(m *schema.Measure) string {
	if !k.HasStates(m) {
		return k.Number(m)
	}
	return "maxIf(_n." + m.Rolled() + ", _n._finished)"
}

func (k comparison) HeldNumber(m *schema.Measure) string {
	return "maxIf(_n." + m.Rolled() + ", NOT _n._finished)"
}

// Judged returns a condition that no state of the measure can have expired, in the rollup or in the rows that it is
// made from.
func (k comparison) Judged(m *schema.Measure) string {
	all := []string{"1"}
	if k.Apart(m) {
		all = append(all, "sum(_n._rows) = sum(_n._held)")
	}
	if m.Expires() {
		all = append(all, "max(_n._made) > "+k.since(k.Level.KeepStates))
		if !k.First && !k.Apart(m) {
			all = append(all, "min(_n._oldest) > "+k.since(k.Below.KeepStates))
		}
	}
	return strings.Join(all, " AND ")
}

// Spill returns how many bytes of sketches a statement holds in memory before it uses
// the disk.
func (k comparison) Spill() int { return 256 << 20 }

// Step returns how many seconds of windows are compared at a time: the shortest multiple
// of the window's length that is at least a day.
func (k comparison) Step() int64 { return k.Seconds() * ((86400 + k.Seconds() - 1) / k.Seconds()) }
