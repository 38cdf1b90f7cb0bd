package config

import "weir/window"

var maxMeasure = measureKind{
	Kind:   window.Max,
	number: true,
	about:  "keeps the greatest value of a number",
}
