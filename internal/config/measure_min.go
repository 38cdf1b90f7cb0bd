package config

import "weir/window"

var minMeasure = measureKind{
	Kind:   window.Min,
	number: true,
	about:  "keeps the least value of a number",
}
