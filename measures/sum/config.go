package sum

import "weir/measures/face"

// SumConfig and AvgConfig are what a configuration knows of the kinds.
var (
	SumConfig = face.Config{About: "adds up a number, exactly", AddsUp: true, Keys: keys}
	AvgConfig = face.Config{About: "keeps the mean of a number", Elsewhere: []string{"mean"}, Keys: keys}

	keys = map[string]string{"field": "", "default": "", "scale": "", "round": ""}
)
