//go:build mistakes

package sim

import (
	"weir/flow"
	"weir/window"
)

const plantable = true

func plant(m Mistake) { flow.Planted, window.Planted = m.String(), m.String() }
