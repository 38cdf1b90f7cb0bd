package questions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// Questions about ids: who came back, how many sessions began, how many ids took some steps in
// their order. Views with parameters answer them from the states of the measures that hold ids
// (kind.distinct is set). schema/ids.sql reads the states, and the statements around it put
// together in which windows each id was. What no state knows is when within a window: so
// sessions and funnels have two bounds.
//
// The bounds are of different values in the states. An id of a set may share its value with
// another one; kind.margin is how much that may change.

// Bounds of a question, so that one cannot take the engine for long.
const (
	periodsMost = 64        // periods of a triangle: the bits of a UInt64
	stepsMost   = 32        // steps of a funnel; fewer than stepBits
	panesMost   = 50_000    // shortest windows in the range of sessions and funnels…
	rowsMost    = 1_000_000 // …and rows of them: windows times groups
)

// idsData is what the statements of questions about ids see. Its level is the longest that
// is read.
type idsData struct {
	askedData
	statement string // in schema
	limits    []check
	columns   []schema.Column // of an answer, between groups and complete
	place     func(moment string) string
	steps     bool // each step names its measure; else the parameter measure does

	// Of retention.
	window string // triangle.window

	// Of sessions and funnels.
	Pane   int64  // the length of the shortest windows, in seconds
	Before string // so many panes are read before the first one of the answer
	Gap    string // the parameters of sessions, in seconds
	Every  string
	First  string // the first moment of the answer, in seconds since 1970…
	Until  string // …and the first one behind it
}

// identified returns the measures that hold ids.
func identified(l *schema.Layout) (all []*schema.Measure) {
	for m := range l.Counted {
		if m.SQL.Estimate != "" {
			all = append(all, m)
		}
	}
	return all
}

// both returns the data of a view for each group and, if there are groups, of one over all of
// them. A job whose groups have the names of columns of the answer has only the latter.
func (d idsData) both() (all []idsData) {
	if !slices.ContainsFunc(d.columns, func(r schema.Column) bool {
		return slices.ContainsFunc(d.by, func(c schema.Column) bool { return c.Name == r.Name })
	}) {
		all = append(all, d)
	}
	if len(d.by) > 0 {
		d.by = nil
		d.name += "_total"
		all = append(all, d)
	}
	return all
}

func (d idsData) create() schema.View {
	name := d.Layout.Spec.Job + "_" + d.name
	columns := slices.Concat(d.by, d.columns, []schema.Column{{Name: "complete", Type: "UInt8"}})
	return schema.NewView(d.DB, name, d.about, columns, render(d.statement, d))
}

var windowColumns = []schema.Column{{Name: "window_start", Type: schema.UTC}, {Name: "window_end", Type: schema.UTC}}

// uints returns columns of an answer.
func uints(names ...string) (all []schema.Column) {
	for _, n := range names {
		all = append(all, schema.Column{Name: n, Type: "UInt64"})
	}
	return all
}

// askedOf returns the check of the parameter measure.
func askedOf(l *schema.Layout) check {
	var names, texts []string
	for _, m := range identified(l) {
		names, texts = append(names, m.Name), append(texts, wire.Text(m.Name))
	}
	return check{
		"{measure:String} NOT IN (" + strings.Join(texts, ", ") + ")",
		"write a measure that holds ids, a set or a bitmap: " + strings.Join(names, " or ") + " of job " + l.Spec.Job,
	}
}

// Checks returns what refuses parameters, and panes that have too many rows.
func (d idsData) Checks() []check {
	all := append(d.askedData.Checks(), d.limits...)
	if d.Until != "" {
		all = append(all, check{
			fmt.Sprintf("(SELECT count() FROM %s WHERE %s) > %d", d.Shortest().Table(), d.Within("window_start"), rowsMost),
			fmt.Sprintf("write a shorter range: it has more than %d rows of windows and groups", rowsMost),
		})
	}
	return all
}

// Grouped returns a GROUP BY of the groups of the answer, and Partition a PARTITION BY; both
// are empty if there are none.
func (d idsData) Grouped() string   { return d.keyed("GROUP BY ") }
func (d idsData) Partition() string { return d.keyed("PARTITION BY ") }

func (d idsData) keyed(by string) string {
	if len(d.by) == 0 {
		return ""
	}
	return by + strings.TrimSuffix(d.By(), ", ")
}

// measured returns an expression that depends on the measure that is asked for. ClickHouse
// reads the columns of that one only.
func (d idsData) measured(of func(m *schema.Measure) string) string {
	name := "{measure:String}"
	if d.steps {
		name = "splitByChar(':', {steps:Array(String)}[1])[1]" // all steps have measures of one kind
	}
	all := identified(d.Layout)
	value := of(all[len(all)-1])
	for _, m := range slices.Backward(all[:len(all)-1]) {
		value = "if(" + name + " = " + wire.Text(m.Name) + ", " + of(m) + ", " + value + ")"
	}
	return value
}

// Distinct returns an expression for how many ids have so many different values, and Margin
// one for kind.margin.
func (d idsData) Distinct(values string) string {
	return d.measured(func(m *schema.Measure) string { return fmt.Sprintf(m.SQL.Estimate, values) })
}

func (d idsData) Margin(change, squares, most string) string {
	return d.measured(func(m *schema.Measure) string { return fmt.Sprintf(m.SQL.Margin, change, squares, most) })
}

// A source is ids: expressions for arrays of them in rows of the state table and of rollups.
type source struct {
	d           idsData
	Ids, States string
	only        string // a condition of rows
	place       func(moment string) string
}

// Sources returns the states that are read: of the measure that is asked for or, where each
// step names its own, of every measure.
func (d idsData) Sources() (all []source) {
	if !d.steps {
		stored := d.measured(func(m *schema.Measure) string { return fmt.Sprintf(m.SQL.IDs, m.Stored()) })
		rolled := d.measured(func(m *schema.Measure) string { return fmt.Sprintf(m.SQL.IDs, m.State()) })
		return []source{{d, stored, rolled, "", d.place}}
	}
	for _, m := range identified(d.Layout) {
		all = append(all, source{d, fmt.Sprintf(m.SQL.IDs, m.Stored()), fmt.Sprintf(m.SQL.IDs, m.State()), d.takes(m), func(moment string) string { return d.placed(m, moment) }})
	}
	return all
}

// Place returns an expression for the place of the window that a moment is in, and Used a
// condition for the rows that make up the answer: see askedData.Used.
func (s source) Place(moment string) string { return s.place(moment) }
func (s source) Used(moment, place, part string) string {
	return s.d.Used(moment, place, part) + s.only
}

// Kept returns an expression for the ids of a row of the level with a place. The query fails with a
// text for people if they are gone: not kept any more.
func (s source) Kept(place, gone, ids string) string {
	for _, v := range s.d.Longer() {
		if v.Level.KeepStates == 0 {
			continue
		}
		ids = fmt.Sprintf("if(throwIf(%s AND %s = %d, %s), [], %s)", gone, place, v.Place(),
			wire.Text(fmt.Sprintf("ids of windows of %s in the range are not kept any more (keep_states %s): ask for later ones", schema.Span(v.Level.Window), schema.Span(v.Level.KeepStates))), ids)
	}
	return ids
}

// Forgets reports whether there can be rows whose ids are not kept any more.
func (s source) Forgets() bool {
	return slices.ContainsFunc(s.d.Longer(), func(v schema.LevelData) bool { return v.Level.KeepStates > 0 })
}

// panesOf returns a form of the shortest windows of the job, called panes here, from one moment
// until another, both in seconds since 1970.
func panesOf(l *schema.Layout, name, about, from, until string) form {
	v := l.Levels[0]
	within := "toUnixTimestamp(%[1]s) >= " + from + " AND toUnixTimestamp(%[1]s) < " + until
	all := []check{
		{fmt.Sprintf("(%s - %s) / %d > %d", until, from, v.Seconds, panesMost), fmt.Sprintf("write a shorter range: it has more than %d windows of %s", panesMost, schema.Span(v.Window))},
	}
	if v.Reach > 0 {
		all = append(all, check{fmt.Sprintf("%s < toInt64(toUnixTimestamp(now())) - %d", from, int64(v.Reach/time.Second)),
			"ids of windows of " + schema.Span(v.Window) + " are not kept for so long: ask for later ones"})
	}
	if v.WholeSince > 0 {
		all = append(all, check{fmt.Sprintf("%s < %d", from, v.WholeSince),
			fmt.Sprintf("windows of %s that begin before %s UTC are not whole, because rows had expired when their rollup was added or a keep made longer, and the question needs them: ask for later ones", schema.Span(v.Window), time.Unix(v.WholeSince, 0).UTC().Format(time.DateTime))})
	}
	return form{name: name, about: about, same: "(1, %[1]s, %[2]s).1 = 1", within: within, checks: func(*schema.Layout) []check { return all }}
}

// numberOf returns the number of the pane that starts at a moment, 1 for one that starts at
// from.
func numberOf(l *schema.Layout, moment, from string) string {
	return fmt.Sprintf("toUInt32(intDiv(toInt64(toUnixTimestamp(%s)) - %s, %d) + 1)", moment, from, l.Levels[0].Seconds)
}
