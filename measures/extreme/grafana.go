package extreme

import "weir/measures/face"

// MinPanels says how a dashboard shows a measure.
var MinPanels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "The least number by window.", SQL: face.Series("view", "min(%[1]s)")},
}}

// MaxPanels says how a dashboard shows a measure.
var MaxPanels = face.Panels{All: []face.Panel{
	{Type: "timeseries", About: "The greatest number by window.", SQL: face.Series("view", "max(%[1]s)")},
}}
