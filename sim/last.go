package sim

import "weir/window"

func newLastKeeper(*window.Measure) keeper { return new(orderedKeeper) }
