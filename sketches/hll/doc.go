// Package hll counts distinct things in at most 16 KiB, the way Redis does.
//
// A HyperLogLog of precision 14 keeps, for each of 16,384 registers, the
// highest rank (position of the first one bit) among the hashes that fell into
// it. A merge of two sketches takes the higher rank per register, so that
// merges can be repeated, reordered and regrouped without changing anything,
// and the merge of two sketches is the sketch of the union. The estimate has a
// standard error of 0.81 % and grows with the registers: it never falls when
// something is added or merged.
//
// The registers, the hash and the estimate are exactly those of Redis 7.0, so
// PFCOUNT in Redis, Count here and the same function in SQL agree to the unit.
//
//	var s hll.Sketch
//	s.Add([]byte("anna"))
//	s.Add([]byte("boris"))
//	s.Count() // 2
//
// # Which type
//
//   - [Sketch] is one sketch; its zero value is empty. It starts as a small
//     table and becomes dense when that is smaller.
//   - [Pool] is many sketches under the numbers 0 to n-1, one cache line each
//     while they are small. A stream processor needs that: no pointer per
//     sketch, and a batch of events overlaps its cache misses.
//   - [String] is the Redis string form, byte for byte: what GET returns after
//     PFADD, PFCOUNT and PFMERGE, sparse and dense, with the cached count.
//
// A sketch leaves as a ClickHouse state of uniqCombined64(14) through
// AppendClickHouse, or as a Redis string through AppendRedis, and comes back
// through MergeClickHouse and MergeRedis. Because a merge is idempotent, the
// changes since the last flush are a sketch of their own: add to an empty one,
// send it, and on failure merge it into the next.
//
// # Contract
//
// No type here is safe for concurrent use, and Count may write (it refreshes
// the histogram after a merge). No function keeps the bytes it is given.
// Decoders return an error on damaged input, leave the sketch as it was, and
// never allocate more than the input and the 16 KiB of a sketch justify.
package hll
