package sum

import "weir/measures/face"

// SumConfig and AvgConfig are what a configuration knows of the kinds.
var (
	SumConfig = face.Config{About: "adds up a number, exactly"}
	AvgConfig = face.Config{About: "keeps the mean of a number"}
)
