package config

import "weir/window"

var lastMeasure = measureKind{
	Kind:  window.Last,
	plain: true,
	about: "keeps the value of a field of the latest event, a text, number or bool of at most 1 KiB",
}
