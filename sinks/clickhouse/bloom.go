package clickhouse

import (
	"weir/sketches/bloom"
	"weir/window"
)

// bloomKind is a bitmap of the filter's bits: their number says nothing to people,
// but shows the audit what is damaged.
var bloomKind = func() kind {
	k := bitmapKind
	k.bits = func(m *window.Measure) uint64 {
		bits, _ := bloom.Bits(m.Capacity, m.Error) // Spec.Validate has seen both
		return bits
	}
	return k
}()
