package ordered

import (
	"weir/measures/face"
	"weir/window"
)

// FirstPanels says how a dashboard shows a measure.
var FirstPanels = face.Panels{All: []face.Panel{
	{Type: "table", Wide: true, About: "The value of the earliest event of each group in the time range. Windows whose values have expired (keep, keep_states) are missing.", SQL: func(q *face.Query, m *window.Measure) string {
		return q.Edge(m, "argMin", "min")
	}},
}}

// LastPanels says how a dashboard shows a measure.
var LastPanels = face.Panels{All: []face.Panel{
	{Type: "table", Wide: true, About: "The value of the latest event of each group in the time range. Windows whose values have expired (keep, keep_states) are missing.", SQL: func(q *face.Query, m *window.Measure) string {
		return q.Edge(m, "argMax", "max")
	}},
}}
