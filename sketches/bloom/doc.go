// Package bloom answers "seen before?" in about ten bits per item, and never
// says no of an item that it has seen.
//
// Two filters for two purposes:
//
// A split-block filter (Apache Parquet's) costs one cache line an item. It is
// what windows and the deduplication use: [Filter] is one, [Pool] very many of
// one shape. Filters of one shape merge by OR, exactly.
//
//	f := bloom.New(100_000, 0.01)     // for 100,000 items, 1 % false positives
//	if f.TestAndAdd(bloom.Hash(id)) { // very likely seen before
//
// A [Scalable] is RedisBloom's filter, bit for bit, for those who come from
// there: the BF commands rest on it.
//
// The error of a filter is the share of items never added that it takes for
// seen, once it is full; [SplitBlockError] and [ClassicError] say what it is
// at any other number of items, beyond the capacity too. The tests measure
// them.
//
// ClickHouse gets the numbers of the bits as a groupBitmap state, and asks for
// an item in plain SQL: see [HasSQL].
//
// Nothing here is safe for concurrent use, and nothing keeps a slice that the
// caller passed in.
package bloom
