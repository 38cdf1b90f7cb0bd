package clickhouse

import (
	"weir/sketches/bloom"
	"weir/window"
)

// bloomKind stores the filter's bits as a bitmap. Their number tells nothing about the
// ids, but the audit finds damage by it.
var bloomKind = func() kind {
	k := bitmapKind
	k.common, k.distinct, k.margin = "", "", ""
	k.bits = func(m *window.Measure) uint64 {
		bits, _ := bloom.Bits(m.Capacity, m.Error) // no error: Spec.Validate has checked both
		return bits
	}
	return k
}()
