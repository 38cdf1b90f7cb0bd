package schema

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"weir/sinks/clickhouse/wire"
)

// A View says how a view should be, and in one sentence what a row of it is. Its comment ends with what tells it
// from a view of the same name that another configuration or a tool has made.
type View struct{ Name, SQL, About, Comment string }

// CreateView begins the statement of a view.
const CreateView = "CREATE OR REPLACE VIEW "

// NewView returns a view with these columns, about which a sentence says what a row is. The statement lists them, so that ClickHouse need not
// analyse the query to create the view.
func NewView(c *wire.DB, name, about string, columns []Column, query string) View {
	var texts []string
	for _, col := range columns {
		texts = append(texts, col.String())
	}
	return View{Name: name, About: about, SQL: CreateView + c.Name(name) + c.OnCluster() + "\n(" + strings.Join(texts, ", ") + ")\nAS " + query}
}

// Sign gives the view a comment with a hash of its statement, and of the functions, because
// ClickHouse puts their text, not their names, into it.
func (v *View) Sign() {
	h := fnv.New64a()
	fmt.Fprint(h, v.SQL, Functions())
	v.Comment = fmt.Sprintf("%s weir migrate made it: %016x", v.About, h.Sum64())
	v.SQL += "\nCOMMENT " + wire.Text(v.Comment)
}

// Views returns the job's views, for people and dashboards.
func (l *Layout) Views(c *wire.DB) []View {
	var all []View
	for i := range l.Levels {
		d := l.Level(c, i)
		all = append(all, NewView(c, d.Level.View, "A window of "+Span(d.Level.Window)+" of each group, exact as of the last flush.", d.ViewColumns(), Render("view", d)))
		if d.Finished() != nil {
			all = append(all, NewView(c, d.Level.States(), "Sketches of windows of "+Span(d.Level.Window)+": several rows of a window and group, to be merged.", d.stateColumns(), Render("states", d)))
		}
	}
	for m := range l.Located {
		columns := []Column{
			{Name: "window_start", Type: UTC}, {Name: "member", Type: "String"}, {Name: "score", Type: "UInt64"},
			{Name: "lon", Type: "Float64"}, {Name: "lat", Type: "Float64"}, {Name: "geohash", Type: "String"}, {Name: "ts", Type: millis},
		}
		all = append(all, NewView(c, l.PlacesView(m), "The last position of each member in each window.", columns, Render("places", c.Reading(l.PlacesTable(m), c.Wide))))
	}
	return all
}

// LevelData is what the templates about a rollup see.
type LevelData struct {
	DB     *wire.DB
	Layout *Layout
	Index  int    // its number
	Level  *Level // l.levels[i]
	Below  *Level // the shorter rollup that it is made from; nil if First
	First  bool   // it is made from state rows

	only   func(*Measure) bool // the measures; nil: all
	chosen string              // a condition for the windows of state rows that are read; empty: the windows of the live tail
	wide   bool                // it reads the tables of all shards: see wide.go
}

// Level returns the data of a level for views.
func (l *Layout) Level(c *wire.DB, i int) LevelData {
	d := LevelData{DB: c, Layout: l, Index: i, Level: &l.Levels[i], First: i == 0, wide: c.Wide}
	if i > 0 {
		d.Below = &l.Levels[i-1]
	}
	return d
}

// Local returns the data of a level for statements about the tables of each shard.
func (l *Layout) Local(c *wire.DB, i int) LevelData {
	d := l.Level(c, i)
	d.wide = false
	return d
}

func (d LevelData) at(i int) LevelData {
	v := d.Layout.Level(d.DB, i)
	v.wide = d.wide
	return v
}

func (d LevelData) reads(table string) string { return d.DB.Reading(table, d.wide) }

// Table is the table of the rollup.
func (d LevelData) Table() string { return d.reads(d.Level.Table) }

// State is the state table.
func (d LevelData) State() string { return d.reads(d.Layout.StateTable()) }

// Rollups is the table that says how far rollups are.
func (d LevelData) Rollups() string { return d.reads("weir_rollups") }

// Job is a condition for the job's rows in one of the weir_ tables.
func (d LevelData) Job() string { return d.Layout.Where() }

// Seconds is the length of the windows.
func (d LevelData) Seconds() int64 { return d.Level.Seconds }

// Groups is the list of the group columns, each followed by a comma.
func (d LevelData) Groups() string { return d.Layout.Groups() }

// Place is the level's place among the levels, from 1.
func (d LevelData) Place() int { return d.Index + 1 }

// Shortest returns the first level.
func (d LevelData) Shortest() LevelData { return d.at(0) }

// Before returns the level before this one.
func (d LevelData) Before() LevelData { return d.at(d.Index - 1) }

// Next returns the level behind this one.
func (d LevelData) Next() LevelData { return d.at(d.Index + 1) }

// Shorter returns all levels before this one.
func (d LevelData) Shorter() []LevelData { return d.Levels()[:d.Index] }

// Between returns these without the first one, which has no states.
func (d LevelData) Between() []LevelData { return d.Shorter()[1:] }

// Levels returns the shorter levels and this one.
func (d LevelData) Levels() (all []LevelData) {
	for i := range d.Index + 1 {
		all = append(all, d.at(i))
	}
	return all
}

// Source is the table that the level is made from.
func (d LevelData) Source() string {
	if d.First {
		return d.State()
	}
	return d.reads(d.Below.Table)
}

// Stamp is the column of the source with the round.
func (d LevelData) Stamp() string {
	if d.First {
		return "flushed_in"
	}
	return "rolled_in"
}

// Second reports whether the level is made from the first one, which has no states: the state rows have them.
func (d LevelData) Second() bool { return d.Index == 1 }

// Fresh is the place in _tail of a view of the windows of the first level whose state rows the second one may lack.
func (d LevelData) Fresh() int { return d.Index + 2 }

// Chosen is a condition for the windows of state rows that are read.
func (d LevelData) Chosen() string { return cmp.Or(d.chosen, d.Start()+" IN (_tail.1)") }

// Choose returns the level with another one.
func (d LevelData) Choose(condition string) LevelData {
	d.chosen = condition
	return d
}

// CompleteAt is the place of the time up to which windows are complete in _at of a view.
func (d LevelData) CompleteAt() int { return d.Index + 2 }

// Totals returns the level with only the measures that add up.
func (d LevelData) Totals() LevelData {
	d.only = (*Measure).Additive
	return d
}

// Counts returns the level without measures.
func (d LevelData) Counts() LevelData {
	d.only = func(*Measure) bool { return false }
	return d
}

// ViewColumns returns the columns of the view.
func (d LevelData) ViewColumns() []Column {
	all := append(slices.Clone(d.Layout.By), Column{Name: "window_start", Type: UTC}, Column{Name: "hits", Type: "UInt64"})
	for m := range d.Layout.Counted {
		all = append(all, m.ViewColumns(d.Layout.Spec.Job)...)
	}
	return append(all, Column{Name: "complete", Type: "UInt8"})
}

// stateColumns returns the columns of the view of states.
func (d LevelData) stateColumns() []Column {
	all := append(slices.Clone(d.Layout.By), Column{Name: "window_start", Type: UTC})
	for _, m := range d.Finished() {
		all = append(all, Column{Name: m.Name + "_state", Type: cmp.Or(m.SQL.AliasType, m.SQL.Plain, m.SQL.State), About: m.held()})
	}
	return all
}

// Measures returns the measures that have columns.
func (d LevelData) Measures() []*Measure {
	all := slices.Collect(d.Layout.Counted)
	if d.only != nil {
		all = slices.DeleteFunc(all, func(m *Measure) bool { return !d.only(m) })
	}
	return all
}

// Additive returns the measures that add up.
func (d LevelData) Additive() []*Measure {
	return slices.DeleteFunc(d.Measures(), func(m *Measure) bool { return !m.Additive() })
}

// Finished returns the others, of which rollups have finished numbers.
func (d LevelData) Finished() []*Measure {
	return slices.DeleteFunc(d.Measures(), (*Measure).Additive)
}

// Stated returns the measures of which the rollup has states or totals.
func (d LevelData) Stated() []*Measure {
	if d.First {
		return d.Additive()
	}
	return d.Measures()
}

// Hits returns an expression for the hits of a window and group in state rows _s: the sum over
// the slots of the greatest count of each. maxMap finds the greatest, but takes a microsecond
// for each group. Most groups of a job with many have each slot once, and need no maximum.
func (d LevelData) Hits() string {
	return "if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2))"
}

// A Flag says of a window, and of a group, that states which it is made from are gone.
type Flag struct{ Name, Of string }

const (
	noRows  = "_no_rows" // the state rows have fewer events than the first rollup has counted
	expired = "_expired" // of measures that Expire, in the rollup below
)

// Flags returns the flags of rows _s of the level below, of one window.
func (d LevelData) Flags() []Flag {
	all := []Flag{{expired, d.Below.Lost("max(_s.rolled_at)")}}
	if d.Second() && d.Finished() != nil {
		all = append(all, Flag{noRows, "max(_s.hits) > max(_s._held)"})
	}
	return all
}

// Gone returns the name of a measure's flag; empty if its states do not expire before they are read.
func (d LevelData) Gone(m *Measure) string {
	switch {
	case d.Second() && !m.Additive():
		return noRows
	case !d.First && m.Expires():
		return expired
	}
	return ""
}

// Same reports whether the rollup's windows are the job's own.
func (d LevelData) Same() bool { return d.Level.Seconds*1000 == int64(d.Layout.Spec.Window) }

// Start returns an expression for the rollup's window that a window_start is in. Windows
// are aligned to 1970, as in package window.
func (d LevelData) Start() string {
	if d.Same() {
		return "window_start"
	}
	return fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(window_start), %d) * %d, 'UTC')", d.Level.Seconds, d.Level.Seconds)
}
