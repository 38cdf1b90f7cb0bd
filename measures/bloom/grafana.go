package bloom

import (
	"fmt"
	"math"

	"weir/measures/face"
	"weir/sketches/bloom"
	"weir/window"
)

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "How much of the fullest filter of a group is set, in percent, and how much that is of a filter with as many ids as its capacity. A fuller filter has more false positives than configured.", SQL: func(q *face.Query, m *window.Measure) string {
		bits, _ := bloom.Bits(m.Capacity, m.Error) // no error: package config has checked both
		const each = 8                             // bits that an id sets
		capacity := 100 * -math.Expm1(-each*float64(m.Capacity)/float64(bits))
		return fmt.Sprintf("SELECT window_start AS time, 100 * max(%s) / %d AS filled, %.1f AS at_capacity\nFROM %s\nWHERE %s\nGROUP BY time\nORDER BY time", face.Quote(m.Name), bits, capacity, q.View, q.Where)
	}},
}}
