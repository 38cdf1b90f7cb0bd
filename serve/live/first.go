package live

import "weir/window"

var firstKind = orderedKind(window.First)
