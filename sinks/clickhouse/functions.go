package clickhouse

import (
	"fmt"
	"strings"
)

// A function is one SQL function: CREATE FUNCTION name AS arrow.
type function struct{ name, arrow string }

// functions are the SQL functions of interface.md. They belong to the server,
// not to the database, and are macros: ClickHouse puts the arguments' text in
// place of the names, so an argument that is used twice, or costs something,
// is bound by an arrayMap over an array of one.
func functions() []function {
	return []function{
		{"weirPfCount", pfCount()},
		{"weirBloomHas", bloomHas},
		{"weirLon", "score -> " + centre("tupleElement(mortonDecode(2, score), 2)", "180", "360")},
		{"weirLat", "score -> " + centre("tupleElement(mortonDecode(2, score), 1)", "85.05112878", "170.10225756")},
		// Ten characters are 50 of the 52 bits; Redis' GEOHASH prints a 0 behind them.
		{"weirGeohash", "(score, precision) -> substring(concat(geohashEncode(weirLon(score), weirLat(score), 10), '0'), 1, precision)"},
		{"weirGeoDist", geoDist},
	}
}

func (f function) create(c *Client) string {
	return "CREATE OR REPLACE FUNCTION " + f.name + c.onCluster() + " AS " + f.arrow
}

// What weirPfCount has to reproduce (see package hll, estimate): Ertl's
// estimator over the histogram of the ranks, with every rounding in Redis'
// order, for all forms of a uniqCombined64(14) state:
//
//	01 or 02, varint n, n keys of 8 bytes   a key is a register and a rank
//	03, registers, 52 × u32, u16            the 52 are the histogram
//
// A list may hold several keys of one register, as merging lists leaves them:
// the highest rank counts. ClickHouse rebuilds the histogram when it reads a
// state, so it can be relied on.
//
// Of the cost, most is the state itself: reading one dense state from disk and
// copying its bytes out. The sum over the ranks is written out as fifty
// nested steps, which run as fifty passes over a column of numbers; as an
// arrayFold over the histogram it took ten times as long. σ is a fold of
// sigmaSteps over three numbers; τ is skipped unless a register is full.
const (
	sigmaSteps = 22 // the last one that changes a bit, for 16,383 zeros, is the 20th
	tauSteps   = 24
)

func pfCount() string {
	// z = (… ((m·τ + c50)/2 + c49)/2 … + c1)/2 + m·σ
	z := "16384 * " + tau("(hist[52] + countEqual(ranks, 51))")
	for rank := 50; rank >= 1; rank-- {
		z = fmt.Sprintf("(%s + (hist[%d] + countEqual(ranks, %d))) * 0.5", z, rank+1, rank)
	}
	z += " + 16384 * " + sigma("((hist[1] - length(ranks)) / 16384)")

	// round is C's llround: halves away from zero, saturating.
	round := "arrayMap(e -> if(e >= 9223372036854775808., 9223372036854775808, toUInt64(floor(e)) + (e - floor(e) >= 0.5)), [193635251.3354493 / (Z)])[1]"
	round = strings.Replace(round, "193635251.3354493", "(0.7213475204444817 * 268435456)", 1)

	// The ranks of a list: register·64 + rank, sorted, the last of each
	// register.
	codes := "arraySort(arrayMap(k -> toUInt32(bitAnd(k, 16383) * 64 + least(bitCount(bitXor(bitShiftRight(k, 14), bitShiftRight(k, 14) - 1)), 51)), keys))"
	ranks := "arrayMap(codes -> arrayMap(c -> toUInt8(bitAnd(c, 63)), arrayFilter((c, next) -> intDiv(c, 64) != intDiv(next, 64), codes, arrayShiftLeft(codes, 1, 4294967295))), [" + codes + "])[1]"

	return "state -> arrayMap(b -> " +
		"arrayMap((hist, keys) -> " +
		"arrayMap(ranks -> " + strings.Replace(round, "Z", z, 1) +
		", [" + ranks + "])[1]" +
		", [reinterpret(if(startsWith(b, unhex('03')), substring(b, 12290, 208), concat(unhex('00400000'), repeat('\\0', 204))), 'Array(UInt32)')]" +
		", [reinterpret(if(startsWith(b, unhex('03')), '', substring(b, if(reinterpretAsUInt8(substring(b, 2, 1)) < 128, 3, 4))), 'Array(UInt64)')])[1]" +
		", [CAST(state, 'String')])[1]"
}

// sigma is x + Σ x^(2^k)·2^(k-1).
func sigma(x string) string {
	return fmt.Sprintf("arrayFold((a, i) -> (a.1 * a.1, a.2 * 2, a.3 + a.1 * a.1 * a.2), range(%d), (toFloat64(%s), toFloat64(1), toFloat64(%s))).3", sigmaSteps, x, x)
}

// tau is (1 - x - Σ (1 - x^(2^-k))²·2^-k)/3 for x = 1 - full/16384. No full
// register, or nothing but full ones: 0.
func tau(full string) string {
	return fmt.Sprintf("if(%s IN (0, 16384), 0., arrayFold((a, i) -> (sqrt(a.1), a.2 * 0.5, a.3 - (1 - sqrt(a.1)) * (1 - sqrt(a.1)) * (a.2 * 0.5)), range(if(%s = 0, 0, %d)), ((16384 - %s) / 16384, toFloat64(1), 1 - (16384 - %s) / 16384)).3 / 3)", full, full, tauSteps, full, full)
}

// bloomHas asks a split-block filter of that many bits (package bloom, block.go)
// whether a value is in it; the value counts as its text, as in an event.
const bloomHas = `(state, value, bits) -> bitmapHasAll(state, bitmapBuild(arrayMap((salt, word) -> toUInt32(` +
	`bitShiftRight(bitShiftRight(xxHash64(toString(value)), 32) * intDiv(bits, 256), 32) * 256 + word * 32 + ` +
	`bitShiftRight(bitAnd(bitAnd(xxHash64(toString(value)), 4294967295) * salt, 4294967295), 27)), ` +
	`[1203114875, 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529], [0, 1, 2, 3, 4, 5, 6, 7])))`

// centre is the middle of the i-th of 2^26 cells between -low and low, as Redis
// rounds it (package geo, Decode).
func centre(i, low, width string) string {
	return fmt.Sprintf("least(greatest(((-%s + %s / 67108864 * %s) + (-%s + (%s + 1) / 67108864 * %s)) / 2, -%s), %s)", low, i, width, low, i, width, low, low)
}

// geoDist is the haversine distance in metres between the centres of two cells
// (package geo, Distance).
const geoDist = `(score1, score2) -> arrayMap((lon1, lat1, lon2, lat2) -> ` +
	`12745595.121712 * asin(sqrt(pow(sin((lat2 - lat1) / 2), 2) + cos(lat1) * cos(lat2) * pow(sin((lon2 - lon1) / 2), 2))), ` +
	`[radians(weirLon(score1))], [radians(weirLat(score1))], [radians(weirLon(score2))], [radians(weirLat(score2))])[1]`
