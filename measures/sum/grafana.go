package sum

import (
	"fmt"

	"weir/measures/face"
	"weir/window"
)

// SumPanels says how a dashboard shows a measure.
var SumPanels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "The sum by window. Exact: a Decimal.", SQL: face.Series("view", "sum(%[1]s)")},
}}

// AvgPanels says how a dashboard shows a measure.
var AvgPanels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "The mean by window: the exact sum over the number of its events.", SQL: func(q *face.Query, m *window.Measure) string {
		events, units := fmt.Sprintf("sum(state[%d].1)", uint64(window.Whole)), fmt.Sprintf("sum(state[%d].2)", uint64(window.Whole))
		return fmt.Sprintf("SELECT window_start AS time, if(%[1]s = 0, NULL, toFloat64(%[2]s) / %[1]s) AS %[3]s\nFROM\n(\n%[4]s\n)\nGROUP BY time\nORDER BY time", events, units, face.Quote(m.Name), q.Merged(m))
	}},
}}
