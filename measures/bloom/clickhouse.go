package bloom

import (
	"weir/measures/bitmap"
	"weir/measures/face"
	"weir/sketches/bloom"
	"weir/window"
)

// SQL stores the filter's bits as a bitmap. Their number tells nothing about the
// ids, but the audit finds damage by it.
func SQL(m *window.Measure) *face.SQL {
	sql := *bitmap.SQL(m)
	sql.Common, sql.Estimate, sql.Margin, sql.IDs = "", "", "", ""
	sql.Bits, _ = bloom.Bits(m.Capacity, m.Error) // no error: package config has checked both
	return &sql
}
