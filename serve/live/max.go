package live

import "weir/window"

var maxKind = extremeKind(window.Max)
