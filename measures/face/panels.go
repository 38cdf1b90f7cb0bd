package face

import (
	"fmt"
	"slices"
	"strings"

	"weir/window"
)

// Panels says how a dashboard of Grafana shows a measure.
type Panels struct {
	// Merged is, of a kind that counts different values, the number of the states in the column
	// %s, merged. It is empty if the kind counts none.
	Merged string
	All    []Panel
}

// A Panel of a dashboard.
type Panel struct {
	Title string // behind the name of the measure; empty: the name alone
	Type  string // of Grafana's panel
	Wide  bool   // the whole width
	About string
	SQL   func(q *Query, m *window.Measure) string
}

// A Query is what the queries of a job have in common.
type Query struct {
	Job          string
	View, Rollup string   // names, for the chosen length of windows…
	States       string   // …and the view of the states, but for kinds that add up: the rollup has these
	Where        string   // selects the chosen groups in the windows of the time range
	Seconds      string   // the chosen length of windows
	Places       string   // selects the windows of the time range in a view of positions, which has those of the job
	Groups       []string // quoted columns
}

// Merged returns a query of the states of a measure, merged, by window and group. It has
// window_start and state.
func (q *Query) Merged(m *window.Measure) string {
	return fmt.Sprintf("  SELECT window_start, maxMap(%s) AS state\n  FROM %s\n  WHERE %s\n  GROUP BY %s",
		State(m), q.Rollup, q.Where, strings.Join(append(slices.Clone(q.Groups), "window_start"), ", "))
}

// Edge returns a query of the first or the last value of each group.
func (q *Query) Edge(m *window.Measure, pick, when string) string {
	columns, group := "", ""
	if len(q.Groups) > 0 {
		columns = strings.Join(q.Groups, ", ") + ", "
		group = "\nGROUP BY " + strings.Join(q.Groups, ", ")
	}
	return fmt.Sprintf("SELECT %[1]s%[2]s(t.%[3]s, t.window_start) AS %[3]s, %[4]s(t.window_start) AS seen\nFROM %[5]s AS t\nWHERE %[6]s AND isNotNull(t.%[3]s)%[7]s\nHAVING count() > 0\nORDER BY seen DESC\nLIMIT 200",
		columns, pick, Quote(m.Name), when, q.View, q.Where, group)
}

// Quote quotes a name.
func Quote(name string) string { return "`" + name + "`" }

// Windows returns the head of a query that reads windows: the states of the newest hundred
// windows, merged over groups, as ids by window_start.
func (q *Query) Windows(m *window.Measure) string {
	return fmt.Sprintf("WITH windows AS\n(\n  SELECT window_start, groupBitmapMergeState(%s) AS ids\n  FROM %s\n  WHERE %s\n  GROUP BY window_start\n  ORDER BY window_start DESC\n  LIMIT 100\n)\n", State(m), q.States, q.Where)
}

// Expires is what else a panel says that reads states.
const Expires = "It is merged from states, so windows whose states have expired (keep, keep_states) are missing."

// Series returns the query of a number by window, of all chosen groups. In the expression
// %[1]s is the measure's column in the view, and %[2]s that of its states in the view of these.
func Series(from, expression string) func(*Query, *window.Measure) string {
	return func(q *Query, m *window.Measure) string {
		table := q.View
		if from == "states" {
			table = q.States
		}
		// The column of the view is qualified: ClickHouse would read the alias otherwise.
		return fmt.Sprintf("SELECT window_start AS time, "+expression+" AS %[3]s\nFROM %[4]s AS t\nWHERE %[5]s\nGROUP BY time\nORDER BY time",
			"t."+Quote(m.Name), "t."+State(m), Quote(m.Name), table, q.Where)
	}
}

// State returns the column of the states of a measure in a rollup and in the view of states.
func State(m *window.Measure) string { return Quote(m.Name + "_state") }
