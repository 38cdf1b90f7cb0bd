package quantile

import (
	"fmt"
	"strings"

	"weir/measures/face"
	"weir/window"
)

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "Quantiles by window, of all chosen groups together.", SQL: func(q *face.Query, m *window.Measure) string {
		var levels []string
		for _, s := range Shown() {
			levels = append(levels, fmt.Sprintf("weirQuantile(state, %g) AS %s", s.Level, face.Quote(m.Name+s.Suffix)))
		}
		return fmt.Sprintf("SELECT window_start AS time, %s\nFROM\n(\n%s\n)\nGROUP BY time\nORDER BY time", strings.Join(levels, ", "), q.Merged(m))
	}},
}}
