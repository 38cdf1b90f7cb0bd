package live

import (
	"encoding/binary"
	"math"

	"weir/window"
)

// extremeKind makes the kind that keeps the number which no other one is before. It
// answers with a Number.
func extremeKind(k window.Kind, before func(n, than Number) bool) Kind {
	return Kind{
		Name:    k.String(),
		Shows:   Quantity,
		Command: "GET",
		Number: func(value any) any {
			if n, ok := value.(Number); ok {
				return float64(n)
			}
			return nil
		},
		begin: func(_ *window.Spec, m *window.Measure) merging { return &extremeValue{of: m, before: before} },
	}
}

type extremeValue struct {
	of     *window.Measure
	before func(n, than Number) bool
	best   Number
	found  bool
}

func (v *extremeValue) put(f float64) {
	if n := Number(f); !v.found || v.before(n, v.best) {
		v.best, v.found = n, true
	}
}

func (v *extremeValue) mergeState(state []byte) error {
	state, err := v.of.Merge(state) // which checks it
	if err == nil && len(state) > 0 {
		v.put(math.Float64frombits(binary.LittleEndian.Uint64(state)))
	}
	return err
}

func (v *extremeValue) mergeRow(row window.Row, m int) {
	if f, ok := row.Extreme(m); ok {
		v.put(f)
	}
}

func (v *extremeValue) settle() {}

func (v *extremeValue) mergeAll(others []merging) {
	for _, o := range others {
		if o := o.(*extremeValue); o.found {
			v.put(float64(o.best))
		}
	}
}

func (v *extremeValue) measured() any {
	if !v.found {
		return nil
	}
	return v.best
}

func (v *extremeValue) bytes() int64 { return 32 }
