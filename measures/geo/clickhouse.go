package geo

import (
	"fmt"

	"weir/measures/face"
	"weir/window"
)

// SQL returns nil: positions have a table of their own, by window and member.
func SQL(*window.Measure) *face.SQL { return nil }

// Functions are the SQL functions of the kind.
var Functions = []face.Function{
	{Name: "weirLon", Arrow: "score -> " + centre("tupleElement(mortonDecode(2, score), 2)", "180", "360")},
	{Name: "weirLat", Arrow: "score -> " + centre("tupleElement(mortonDecode(2, score), 1)", "85.05112878", "170.10225756")},
	// Ten characters have 50 of the 52 bits; Redis' GEOHASH prints a 0
	// after them. Longitude 180 is the same meridian as -180.
	{Name: "weirGeohash", Arrow: "(score, precision) -> substring(concat(geohashEncode(if(weirLon(score) = 180, -180, weirLon(score)), weirLat(score), 10), '0'), 1, precision)"},
	{Name: "weirGeoDist", Arrow: dist},
}

// centre returns the middle of the i-th of 2^26 cells between -low and low, rounded as
// in Redis (package geo, Decode).
func centre(i, low, width string) string {
	return fmt.Sprintf("least(greatest(((-%s + %s / 67108864 * %s) + (-%s + (%s + 1) / 67108864 * %s)) / 2, -%s), %s)", low, i, width, low, i, width, low, low)
}

// dist is the haversine distance in metres between the centres of two cells
// (package geo, Distance).
const dist = `(score1, score2) -> arrayMap((lon1, lat1, lon2, lat2) -> ` +
	`12745595.121712 * asin(sqrt(pow(sin((lat2 - lat1) / 2), 2) + cos(lat1) * cos(lat2) * pow(sin((lon2 - lon1) / 2), 2))), ` +
	`[radians(weirLon(score1))], [radians(weirLat(score1))], [radians(weirLon(score2))], [radians(weirLat(score2))])[1]`
