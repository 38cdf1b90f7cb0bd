package hll

import (
	"fmt"

	"weir/measures/face"
)

// Functions are the SQL functions of the kind.
var Functions = []face.Function{
	{Name: "weirPfCount", Arrow: pfCount()},
	{Name: "weirUniq", Arrow: "state -> weirPfCount(uniqCombined64MergeState(14)(state))"},
}

// pfCount computes Ertl's estimator over the histogram of the ranks (package hll,
// estimate.go), with the roundings in Redis' order. It reads all forms of a
// uniqCombined64(14) state:
//
//	01 or 02, varint n, n keys of 8 bytes   a key is a register and a rank
//	03, registers, 52 × u32, u16            the 52 are the histogram
//
// The histogram is right, because ClickHouse rebuilds it when it reads a state. A list
// may have several keys of one register, because merging lists does not remove them;
// the highest rank counts. The sum of 2^-rank over the keys, at most 512, is computed
// with integers and exact. Redis computes it with floats, which are exact as long as the
// sum fits 53 bits. It does not with a rank of 45 or more, once in 2^44 ids; the
// difference is then below half a unit of what σ adds.
//
// Of up to 64 registers the estimate is their number, whatever the ranks (TestFewRegisters
// in package hll). Most rows of a job with many groups have one, and the estimator would
// take most of the time of their rollup.
//
// Measured on the embedded engine with one thread: 1 to 3 µs for a dense state, besides
// reading it (16 µs) and copying its bytes (12 µs); 0.2 µs for a list of one key, 12 µs for
// one of 400; and some 5 ms for each query to analyse the expression. ClickHouse's own
// finalizeAggregation takes 170 µs for a dense state.
const (
	// Further steps change no bit of the sums: σ of 16,383/16,384 needs 20 squarings,
	// τ of any argument 19 roots (TestSeriesLength).
	sigmaSteps = 22
	tauSteps   = 24

	// fewKeys is how many keys a list may have to be counted without the estimator. The n
	// before them takes one byte.
	fewKeys = 64
)

func pfCount() string {
	const (
		bytes = "CAST(state, 'String')"
		dense = "startsWith(" + bytes + ", unhex('03'))"

		// The histogram of a dense state; of a list, that of no register.
		hist = "reinterpret(if(" + dense + ", substring(" + bytes + ", 12290, 208), concat(unhex('00400000'), repeat('\\0', 204))), 'Array(UInt32)')"

		// The keys of a list as register·64 + rank, sorted; of each register
		// the last; 2^50 >> rank of these.
		keys  = "reinterpret(if(" + dense + ", '', substring(" + bytes + ", if(reinterpretAsUInt8(substring(" + bytes + ", 2, 1)) < 128, 3, 4))), 'Array(UInt64)')"
		codes = "arraySort(arrayMap(k -> toUInt32(bitAnd(k, 16383) * 64 + least(bitCount(bitXor(bitShiftRight(k, 14), bitShiftRight(k, 14) - 1)), 51)), " + keys + "))"
		parts = "arrayMap(codes -> arrayMap(c -> bitShiftRight(1125899906842624, bitAnd(c, 63)), arrayFilter((c, next) -> intDiv(c, 64) != intDiv(next, 64), codes, arrayShiftLeft(codes, 1, 4294967295))), [" + codes + "])[1]"

		// σ(x) = x + Σ x^(2^k)·2^(k-1), τ(x) = (1 - x - Σ (1 - x^(2^-k))²·2^-k)/3.
		empty = "(hist[1] - length(parts)) / 16384"
		sigma = "arrayFold((a, i) -> (a.1 * a.1, a.2 * 2, a.3 + a.1 * a.1 * a.2), range(%d), (toFloat64(" + empty + "), toFloat64(1), toFloat64(" + empty + "))).3"
		tau   = "arrayFold((a, i) -> (sqrt(a.1), a.2 * 0.5, a.3 - (1 - sqrt(a.1)) * (1 - sqrt(a.1)) * (a.2 * 0.5)), range(if(hist[52] = 0, 0, %d)), ((16384 - hist[52]) / 16384, toFloat64(1), hist[52] / 16384)).3 / 3"

		// z = (… ((m·τ + c50)/2 + c49)/2 … + c1)/2 + m·σ; the estimate is
		// m²/(2·ln2·z), rounded as C's llround does, saturating at 2^63.
		z     = "arrayFold((z, c) -> (z + c) * 0.5, arrayReverse(arraySlice(hist, 2, 50)), 16384 * (" + tau + ")) + arraySum(parts) / 1125899906842624 + 16384 * " + sigma
		count = "arrayMap(e -> toUInt64(least(e + 0.5 * (e < 4503599627370496), 9223372036854775808.)), [0.7213475204444817 * 268435456 / (" + z + ")])[1]"
	)
	few := fmt.Sprintf("length(%s) <= %d, toUInt64(arrayUniq(arrayMap(k -> bitAnd(k, 16383), reinterpret(substring(%[1]s, 3), 'Array(UInt64)'))))", bytes, 2+8*fewKeys)
	return "state -> if(" + few + ", arrayMap((hist, parts) -> " + fmt.Sprintf(count, tauSteps, sigmaSteps) + ", [" + hist + "], [" + parts + "])[1])"
}
