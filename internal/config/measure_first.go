package config

import "weir/window"

var firstMeasure = measureKind{
	Kind:  window.First,
	plain: true,
	about: "keeps the value of a field of the earliest event, a text, number or bool of at most 1 KiB",
}
