package grafana

import (
	"fmt"
	"math"
	"strings"

	"weir/sketches/bloom"
	"weir/window"
)

// A shape says how a measure of a kind is shown.
type shape struct {
	panel string // type of Grafana's panel
	wide  bool   // the whole width
	about string
	sql   func(q *query, m *window.Measure) string
}

// shapes has the shape of each kind.
var shapes = map[window.Kind]shape{
	window.HLL: {"timeseries", false, "Distinct values by window, and one standard error (0.81 %) below and above.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT time, n AS %s, round(n * 0.9919) AS low, round(n * 1.0081) AS high\nFROM\n(\n  SELECT window_start AS time, weirPfCount(uniqCombined64MergeState(14)(%s)) AS n\n  FROM %s\n  WHERE %s\n  GROUP BY time\n)\nORDER BY time",
			quote(m.Name), state(m), q.rollup, q.where)
	}},
	window.Set:    {"timeseries", false, "Distinct values by window. " + expires, series("rollup", "weirSetCount(groupBitmapMergeState(%[2]s))")},
	window.Bitmap: {"timeseries", false, "Distinct ids by window. Exact. " + expires, series("rollup", "bitmapCardinality(groupBitmapMergeState(%[2]s))")},
	window.Bloom: {"timeseries", false, "How much of the fullest filter of a group is set, in percent, and how much that is of a filter with as many ids as its capacity. A fuller filter has more false positives than configured.", func(q *query, m *window.Measure) string {
		bits, _ := bloom.Bits(m.Capacity, m.Error) // no error: Spec.Validate has checked both
		const each = 8                             // bits that an id sets
		capacity := 100 * -math.Expm1(-each*float64(m.Capacity)/float64(bits))
		return fmt.Sprintf("SELECT window_start AS time, 100 * max(%s) / %d AS filled, %.1f AS at_capacity\nFROM %s\nWHERE %s\nGROUP BY time\nORDER BY time", quote(m.Name), bits, capacity, q.view, q.where)
	}},
	window.Min: {"timeseries", false, "The least number by window.", series("view", "min(%[1]s)")},
	window.Max: {"timeseries", false, "The greatest number by window.", series("view", "max(%[1]s)")},
	window.First: {"table", true, "The value of the earliest event of each group in the time range.", func(q *query, m *window.Measure) string {
		return q.edge(m, "argMin", "min")
	}},
	window.Last: {"table", true, "The value of the latest event of each group in the time range.", func(q *query, m *window.Measure) string {
		return q.edge(m, "argMax", "max")
	}},
	window.Sum: {"timeseries", false, "The sum by window. Exact: a Decimal.", series("view", "sum(%[1]s)")},
	window.Avg: {"timeseries", false, "The mean by window: the exact sum over the number of its events.", func(q *query, m *window.Measure) string {
		const events, units = "sum(state[" + whole + "].1)", "sum(state[" + whole + "].2)"
		return fmt.Sprintf("SELECT window_start AS time, if(%[1]s = 0, NULL, toFloat64(%[2]s) / %[1]s) AS %[3]s\nFROM\n(\n%[4]s\n)\nGROUP BY time\nORDER BY time", events, units, quote(m.Name), q.merged(m))
	}},
	window.Quantile: {"timeseries", false, "Quantiles by window, of all chosen groups together.", func(q *query, m *window.Measure) string {
		var levels []string
		for _, s := range window.QuantilesShown() {
			levels = append(levels, fmt.Sprintf("weirQuantile(state, %g) AS %s", s.Level, quote(m.Name+s.Suffix)))
		}
		return fmt.Sprintf("SELECT window_start AS time, %s\nFROM\n(\n%s\n)\nGROUP BY time\nORDER BY time", strings.Join(levels, ", "), q.merged(m))
	}},
	window.TopK: {"table", false, "The most frequent keys of the chosen groups in the time range. A count is too high by at most its error.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT tupleElement(e, 1) AS key, tupleElement(e, 2) AS count, tupleElement(e, 3) AS error\nFROM\n(\n  SELECT arrayJoin(weirTopK(state, %d)) AS e\n  FROM\n  (\n%s\n  )\n)\nORDER BY count DESC, key", m.K, q.merged(m))
	}},
	window.Geo: {"geomap", true, "Where each member was last seen in the time range, for the 2,000 seen last. The countries are drawn by Grafana itself; the base layer below them needs internet.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT member, argMax(p.geohash, p.ts) AS geohash, max(p.ts) AS seen\nFROM %s AS p\nWHERE $__timeFilter(window_start)\nGROUP BY member\nORDER BY seen DESC\nLIMIT 2000", q.job+"_"+m.Name)
	}},
}

const expires = "It is merged from states, so windows whose states have expired (keep_states) are missing."

// whole is window.Whole in SQL.
const whole = "18446744073709551615"

// series returns the query of a number by window, of all chosen groups. In the expression
// %[1]s is the measure's column in the view, and %[2]s that of its states in the rollup.
func series(from, expression string) func(*query, *window.Measure) string {
	return func(q *query, m *window.Measure) string {
		table := q.view
		if from == "rollup" {
			table = q.rollup
		}
		// The column of the view is qualified: ClickHouse would read the alias otherwise.
		return fmt.Sprintf("SELECT window_start AS time, "+expression+" AS %[3]s\nFROM %[4]s AS t\nWHERE %[5]s\nGROUP BY time\nORDER BY time",
			"t."+quote(m.Name), "t."+state(m), quote(m.Name), table, q.where)
	}
}

func state(m *window.Measure) string { return quote(m.Name + "_state") }
