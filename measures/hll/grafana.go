package hll

import (
	"fmt"

	"weir/measures/face"
	"weir/window"
)

const distinct = "weirUniq(%s)"

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{Merged: distinct, All: []face.Panel{
	{Type: "timeseries", About: "Distinct values by window, and one standard error (0.81 %) below and above.", SQL: func(q *face.Query, m *window.Measure) string {
		return fmt.Sprintf("SELECT time, n AS %s, round(n * 0.9919) AS low, round(n * 1.0081) AS high\nFROM\n(\n  SELECT window_start AS time, %s AS n\n  FROM %s\n  WHERE %s\n  GROUP BY time\n)\nORDER BY time",
			face.Quote(m.Name), fmt.Sprintf(distinct, face.State(m)), q.States, q.Where)
	}},
}}
