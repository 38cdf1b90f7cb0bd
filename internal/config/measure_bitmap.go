package config

import "weir/window"

var bitmapMeasure = measureKind{
	Kind:  window.Bitmap,
	about: "keeps the ids themselves, unsigned integers below 2^32",
}
