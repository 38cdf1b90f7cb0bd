package geo

import (
	"weir/measures/face"
	"weir/window"
)

// SQL returns nil: positions have a table of their own, by window and member.
func SQL(*window.Measure) *face.SQL { return nil }
