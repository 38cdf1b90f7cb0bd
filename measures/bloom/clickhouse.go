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

// Functions are the SQL functions of the kind.
var Functions = []face.Function{{Name: "weirBloomHas", Arrow: has}}

// has tells whether a value is in a split-block filter of that many bits (package
// bloom, block.go). The value is taken as text, as in an event. The number of bits may come
// from a scalar subquery, which is Nullable in ClickHouse.
const has = `(state, value, bits) -> bitmapHasAll(state, bitmapBuild(arrayMap((salt, word) -> assumeNotNull(toUInt32(` +
	`bitShiftRight(bitShiftRight(xxHash64(toString(value)), 32) * intDiv(bits, 256), 32) * 256 + word * 32 + ` +
	`bitShiftRight(bitAnd(bitAnd(xxHash64(toString(value)), 4294967295) * salt, 4294967295), 27))), ` +
	`[1203114875, 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529], [0, 1, 2, 3, 4, 5, 6, 7])))`
