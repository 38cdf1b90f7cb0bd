package live

import (
	"encoding/binary"
	"math"

	"weir/window"
)

// maxKind answers with a Number.
var maxKind = Kind{
	Name: window.Max.String(),
	Number: func(value any) any {
		if n, ok := value.(Number); ok {
			return float64(n)
		}
		return nil
	},
	begin: func(m *window.Measure) merging { return &maxValue{of: m} },
}

type maxValue struct {
	of    *window.Measure
	best  Number
	found bool
}

func (v *maxValue) put(f float64) {
	if n := Number(f); !v.found || n > v.best {
		v.best, v.found = n, true
	}
}

func (v *maxValue) mergeState(state []byte) error {
	state, err := v.of.Merge(state) // which checks it
	if err == nil && len(state) > 0 {
		v.put(math.Float64frombits(binary.LittleEndian.Uint64(state)))
	}
	return err
}

func (v *maxValue) mergeRow(row window.Row, m int) {
	if f, ok := row.Max(m); ok {
		v.put(f)
	}
}

func (v *maxValue) settle() {}

func (v *maxValue) mergeAll(others []merging) {
	for _, o := range others {
		if o := o.(*maxValue); o.found {
			v.put(float64(o.best))
		}
	}
}

func (v *maxValue) measured() any {
	if !v.found {
		return nil
	}
	return v.best
}

func (v *maxValue) bytes() int64 { return 24 }
