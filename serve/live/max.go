package live

import "weir/window"

var maxKind = extremeKind(window.Max, func(n, than Number) bool { return n > than })
