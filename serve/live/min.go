package live

import "weir/window"

var minKind = extremeKind(window.Min)
