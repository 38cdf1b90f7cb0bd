package live

import "weir/window"

var minKind = extremeKind(window.Min, func(n, than Number) bool { return n < than })
