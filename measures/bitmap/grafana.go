package bitmap

import (
	"fmt"
	"strings"

	"weir/measures/face"
	"weir/window"
)

const distinct = "bitmapCardinality(groupBitmapMergeState(%s))"

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{Merged: distinct, All: []face.Panel{
	{Type: "timeseries", About: "Distinct ids by window. Exact. " + face.Expires, SQL: face.Series("states", fmt.Sprintf(distinct, "%[2]s"))},
	{Title: "who came back", Type: "timeseries", About: "Ids of a window that were in the window before, and others. Exact. " + face.Expires, SQL: func(q *face.Query, m *window.Measure) string {
		return q.Windows(m) + fmt.Sprintf("SELECT later.window_start AS time,\n  bitmapAndCardinality(later.ids, first.ids) AS returned, bitmapAndnotCardinality(later.ids, first.ids) AS others\nFROM windows AS later\nINNER JOIN windows AS first ON first.window_start = later.window_start - toIntervalSecond(%s)\nORDER BY time", q.Seconds)
	}},
	{Title: "retention", Type: "table", Wide: true, About: "Of the ids of a window, how many percent were there again 1 to 7 windows later. Exact. " + face.Expires, SQL: func(q *face.Query, m *window.Measure) string {
		const most = 7
		var columns []string
		for d := 1; d <= most; d++ {
			columns = append(columns, fmt.Sprintf("  round(100 * maxOrNullIf(kept, distance = %[1]d) / any(size), 1) AS \"+%[1]d\"", d))
		}
		return q.Windows(m) + fmt.Sprintf("SELECT cohort, any(size) AS ids,\n%s\nFROM\n(\n  SELECT first.window_start AS cohort, first.distance AS distance,\n    bitmapCardinality(first.ids) AS size, bitmapAndCardinality(first.ids, later.ids) AS kept\n  FROM (SELECT window_start, ids, arrayJoin(range(1, %d)) AS distance FROM windows) AS first\n  INNER JOIN windows AS later ON later.window_start = first.window_start + toIntervalSecond(first.distance * %s)\n)\nGROUP BY cohort\nORDER BY cohort",
			strings.Join(columns, ",\n"), most+1, q.Seconds)
	}},
}}
