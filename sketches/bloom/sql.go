package bloom

// HasSQL is the body of the SQL function weirBloomHas(state, value, bits):
// whether a filter of that many bits, stored as the groupBitmap state that
// AppendClickHouse writes, may hold the value. It gives 1 or 0. A value that is
// not a String is converted to its text, as ids are everywhere in weir.
//
//	CREATE FUNCTION weirBloomHas AS (state, value, bits) -> …
//	SELECT window_start, weirBloomHas(seen, '9f2c…', 1052928) FROM clicks_state
//
// bits is Pool.Bits, a constant of the table. With h = xxHash64(value), the
// bits of the value are
//
//	block · 256 + word · 32 + bit            for word = 0 … 7, where
//	block = (h >> 32) · (bits / 256) >> 32
//	bit   = ((h & 0xffffffff) · salt[word] & 0xffffffff) >> 27
//
// and the value may be in the filter if the state holds all eight. Products
// stay below 2⁶⁴, so UInt64 does not wrap. The lambda does not use the state:
// ClickHouse would copy it for each of the eight bits.
//
// To ask the union of many windows, merge their states first:
// weirBloomHas(groupBitmapMergeState(seen), …). The error is that of the
// union's number of items.
const HasSQL = `(state, value, bits) -> bitmapHasAll(state, bitmapBuild(arrayMap(
    (h, salt, word) -> toUInt32(
        bitShiftRight(bitShiftRight(h, 32) * intDiv(toUInt64(bits), 256), 32) * 256
        + word * 32
        + bitShiftRight(bitAnd(bitAnd(h, 4294967295) * salt, 4294967295), 27)),
    arrayWithConstant(8, xxHash64(toString(value))),
    [toUInt64(1203114875), 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529],
    range(8))))`
