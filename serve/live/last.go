package live

import "weir/window"

var lastKind = orderedKind(window.Last)
