package geo

import (
	"fmt"

	"weir/measures/face"
	"weir/window"
)

// Panels says how a dashboard shows a measure.
var Panels = face.Panels{All: []face.Panel{
	{Type: "geomap", Wide: true, About: "Where each member was last seen in the time range, for the 2,000 seen last. The countries are drawn by Grafana itself; the base layer below them needs internet.", SQL: func(q *face.Query, m *window.Measure) string {
		return fmt.Sprintf("SELECT member, argMax(p.geohash, p.ts) AS geohash, max(p.ts) AS seen\nFROM %s AS p\nWHERE %s\nGROUP BY member\nORDER BY seen DESC\nLIMIT 2000", q.Job+"_"+m.Name, q.Places)
	}},
}}
