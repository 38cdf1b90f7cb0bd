package topk

import (
	"fmt"

	"weir/measures/face"
	"weir/window"
)

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{All: []face.Panel{
	{Type: "table", About: "The most frequent keys of the chosen groups in the time range. A count is too low by at most its error. Windows whose values have expired (keep, keep_states) are missing.", SQL: func(q *face.Query, m *window.Measure) string {
		return fmt.Sprintf("SELECT tupleElement(e, 1) AS key, tupleElement(e, 2) AS count, tupleElement(e, 3) AS error\nFROM\n(\n  SELECT arrayJoin(weirTopK(state, %d)) AS e\n  FROM\n  (\n%s\n  )\n)\nORDER BY count DESC, key", m.K, q.Merged(m))
	}},
}}
