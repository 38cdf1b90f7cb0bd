//go:build mistakes

package sim

import "weir/window"

const plantable = true

func plant(m Mistake) { window.Planted = m.String() }
