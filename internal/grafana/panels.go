package grafana

import (
	"fmt"
	"math"
	"strings"

	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	bloomsketch "weir/sketches/bloom"
	"weir/window"
)

// A shape says how a measure of a kind is shown.
type shape struct {
	panel string // type of Grafana's panel
	wide  bool   // the whole width
	about string
	sql   func(q *query, m *window.Measure) string
}

// distinct has, for each kind that counts different values, the number of a merged state.
// %s is the column of the states.
var distinct = map[*window.Kind]string{
	hll.Kind:    "weirPfCount(uniqCombined64MergeState(14)(%s))",
	set.Kind:    "weirSetCount(groupBitmapMergeState(%s))",
	bitmap.Kind: "bitmapCardinality(groupBitmapMergeState(%s))",
}

// returning has, for each kind that keeps who was there, what is shown of those who came back.
var returning = map[*window.Kind][]struct {
	title string
	shape
}{
	bitmap.Kind: {
		{"who came back", shape{"timeseries", false, "Ids of a window that were in the window before, and others. Exact. " + expires, func(q *query, m *window.Measure) string {
			return q.windows(m) + fmt.Sprintf("SELECT later.window_start AS time,\n  bitmapAndCardinality(later.ids, first.ids) AS returned, bitmapAndnotCardinality(later.ids, first.ids) AS others\nFROM windows AS later\nINNER JOIN windows AS first ON first.window_start = later.window_start - toIntervalSecond(%s)\nORDER BY time", q.seconds)
		}}},
		{"retention", shape{"table", true, "Of the ids of a window, how many percent were there again 1 to 7 windows later. Exact. " + expires, func(q *query, m *window.Measure) string {
			const most = 7
			var columns []string
			for d := 1; d <= most; d++ {
				columns = append(columns, fmt.Sprintf("  round(100 * maxOrNullIf(kept, distance = %[1]d) / any(size), 1) AS \"+%[1]d\"", d))
			}
			return q.windows(m) + fmt.Sprintf("SELECT cohort, any(size) AS ids,\n%s\nFROM\n(\n  SELECT first.window_start AS cohort, first.distance AS distance,\n    bitmapCardinality(first.ids) AS size, bitmapAndCardinality(first.ids, later.ids) AS kept\n  FROM (SELECT window_start, ids, arrayJoin(range(1, %d)) AS distance FROM windows) AS first\n  INNER JOIN windows AS later ON later.window_start = first.window_start + toIntervalSecond(first.distance * %s)\n)\nGROUP BY cohort\nORDER BY cohort",
				strings.Join(columns, ",\n"), most+1, q.seconds)
		}}},
	},
}

// windows returns the head of a query that reads windows: the states of the newest hundred
// windows, merged over groups, as ids by window_start.
func (q *query) windows(m *window.Measure) string {
	return fmt.Sprintf("WITH windows AS\n(\n  SELECT window_start, groupBitmapMergeState(%s) AS ids\n  FROM %s\n  WHERE %s\n  GROUP BY window_start\n  ORDER BY window_start DESC\n  LIMIT 100\n)\n", state(m), q.rollup, q.where)
}

// shapes has the shape of each kind.
var shapes = map[*window.Kind]shape{
	hll.Kind: {"timeseries", false, "Distinct values by window, and one standard error (0.81 %) below and above.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT time, n AS %s, round(n * 0.9919) AS low, round(n * 1.0081) AS high\nFROM\n(\n  SELECT window_start AS time, %s AS n\n  FROM %s\n  WHERE %s\n  GROUP BY time\n)\nORDER BY time",
			quote(m.Name), fmt.Sprintf(distinct[hll.Kind], state(m)), q.rollup, q.where)
	}},
	set.Kind:    {"timeseries", false, "Distinct values by window. " + expires, series("rollup", fmt.Sprintf(distinct[set.Kind], "%[2]s"))},
	bitmap.Kind: {"timeseries", false, "Distinct ids by window. Exact. " + expires, series("rollup", fmt.Sprintf(distinct[bitmap.Kind], "%[2]s"))},
	bloom.Kind: {"timeseries", false, "How much of the fullest filter of a group is set, in percent, and how much that is of a filter with as many ids as its capacity. A fuller filter has more false positives than configured.", func(q *query, m *window.Measure) string {
		bits, _ := bloomsketch.Bits(m.Capacity, m.Error) // no error: Spec.Validate has checked both
		const each = 8                                   // bits that an id sets
		capacity := 100 * -math.Expm1(-each*float64(m.Capacity)/float64(bits))
		return fmt.Sprintf("SELECT window_start AS time, 100 * max(%s) / %d AS filled, %.1f AS at_capacity\nFROM %s\nWHERE %s\nGROUP BY time\nORDER BY time", quote(m.Name), bits, capacity, q.view, q.where)
	}},
	extreme.Min: {"timeseries", false, "The least number by window.", series("view", "min(%[1]s)")},
	extreme.Max: {"timeseries", false, "The greatest number by window.", series("view", "max(%[1]s)")},
	ordered.First: {"table", true, "The value of the earliest event of each group in the time range. Windows whose values have expired (keep_states) are missing.", func(q *query, m *window.Measure) string {
		return q.edge(m, "argMin", "min")
	}},
	ordered.Last: {"table", true, "The value of the latest event of each group in the time range. Windows whose values have expired (keep_states) are missing.", func(q *query, m *window.Measure) string {
		return q.edge(m, "argMax", "max")
	}},
	sum.Sum: {"timeseries", false, "The sum by window. Exact: a Decimal.", series("view", "sum(%[1]s)")},
	sum.Avg: {"timeseries", false, "The mean by window: the exact sum over the number of its events.", func(q *query, m *window.Measure) string {
		events, units := fmt.Sprintf("sum(state[%d].1)", uint64(window.Whole)), fmt.Sprintf("sum(state[%d].2)", uint64(window.Whole))
		return fmt.Sprintf("SELECT window_start AS time, if(%[1]s = 0, NULL, toFloat64(%[2]s) / %[1]s) AS %[3]s\nFROM\n(\n%[4]s\n)\nGROUP BY time\nORDER BY time", events, units, quote(m.Name), q.merged(m))
	}},
	quantile.Kind: {"timeseries", false, "Quantiles by window, of all chosen groups together.", func(q *query, m *window.Measure) string {
		var levels []string
		for _, s := range quantile.Shown() {
			levels = append(levels, fmt.Sprintf("weirQuantile(state, %g) AS %s", s.Level, quote(m.Name+s.Suffix)))
		}
		return fmt.Sprintf("SELECT window_start AS time, %s\nFROM\n(\n%s\n)\nGROUP BY time\nORDER BY time", strings.Join(levels, ", "), q.merged(m))
	}},
	topk.Kind: {"table", false, "The most frequent keys of the chosen groups in the time range. A count is too low by at most its error. Windows whose values have expired (keep_states) are missing.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT tupleElement(e, 1) AS key, tupleElement(e, 2) AS count, tupleElement(e, 3) AS error\nFROM\n(\n  SELECT arrayJoin(weirTopK(state, %d)) AS e\n  FROM\n  (\n%s\n  )\n)\nORDER BY count DESC, key", m.K, q.merged(m))
	}},
	geo.Kind: {"geomap", true, "Where each member was last seen in the time range, for the 2,000 seen last. The countries are drawn by Grafana itself; the base layer below them needs internet.", func(q *query, m *window.Measure) string {
		return fmt.Sprintf("SELECT member, argMax(p.geohash, p.ts) AS geohash, max(p.ts) AS seen\nFROM %s AS p\nWHERE %s\nGROUP BY member\nORDER BY seen DESC\nLIMIT 2000", q.job+"_"+m.Name, q.places)
	}},
}

const expires = "It is merged from states, so windows whose states have expired (keep_states) are missing."

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
