// Package bloom tells whether an item was seen before, with about ten bits per
// item. It may take a new item for a seen one, but never a seen one for new.
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
// A [Scalable] is RedisBloom's filter, bit for bit. The BF commands use it.
//
// The error of a filter is the share of new items that it takes for seen once
// it is full; [SplitBlockError] computes that of a split-block filter for any number
// of items, also beyond the capacity. The tests measure it.
//
// ClickHouse stores the numbers of the bits as a groupBitmap state, and tests
// an item in plain SQL: see package measures/bloom.
//
// No type here is safe for concurrent use, and none keeps a slice that the
// caller passed in.
package bloom
