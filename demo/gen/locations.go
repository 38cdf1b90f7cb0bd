package gen

import (
	"strconv"

	"weir/event"
)

// A city has its position in millionths of a degree, and a weight: the number
// of its people is in proportion to it.
type city struct {
	name     string
	lon, lat int32
	weight   uint64
}

var cities = [...]city{
	{"Amsterdam", 4_895168, 52_370216, 9},
	{"Athens", 23_727539, 37_983810, 8},
	{"Auckland", 174_763336, -36_848461, 5},
	{"Bangkok", 100_501762, 13_756331, 12},
	{"Barcelona", 2_173404, 41_385063, 10},
	{"Beijing", 116_407394, 39_904202, 14},
	{"Belgrade", 20_448921, 44_786568, 5},
	{"Berlin", 13_404954, 52_520008, 16},
	{"Bogota", -74_072090, 4_710989, 9},
	{"Boston", -71_058884, 42_360081, 7},
	{"Brussels", 4_351721, 50_850346, 7},
	{"Bucharest", 26_102538, 44_426765, 6},
	{"Budapest", 19_040236, 47_497913, 7},
	{"Buenos Aires", -58_381592, -34_603722, 11},
	{"Cairo", 31_235712, 30_044420, 12},
	{"Cape Town", 18_424055, -33_924870, 6},
	{"Chicago", -87_629799, 41_878113, 10},
	{"Copenhagen", 12_568337, 55_676098, 7},
	{"Delhi", 77_209023, 28_613939, 18},
	{"Dubai", 55_270783, 25_204849, 7},
	{"Dublin", -6_260310, 53_349804, 6},
	{"Hamburg", 9_993682, 53_551086, 9},
	{"Helsinki", 24_938379, 60_169857, 6},
	{"Hong Kong", 114_169361, 22_319304, 11},
	{"Honolulu", -157_858337, 21_306944, 2},
	{"Istanbul", 28_978359, 41_008240, 14},
	{"Jakarta", 106_845596, -6_208763, 14},
	{"Johannesburg", 28_047304, -26_204103, 8},
	{"Kyiv", 30_523333, 50_450001, 8},
	{"Lagos", 3_379206, 6_524379, 13},
	{"Lima", -77_042793, -12_046374, 9},
	{"Lisbon", -9_139337, 38_722252, 7},
	{"London", -127758, 51_507351, 18},
	{"Los Angeles", -118_243683, 34_052235, 14},
	{"Madrid", -3_703790, 40_416775, 12},
	{"Manila", 120_984222, 14_599512, 12},
	{"Melbourne", 144_963058, -37_813629, 8},
	{"Mexico City", -99_133209, 19_432608, 16},
	{"Milan", 9_189982, 45_464203, 8},
	{"Montreal", -73_567256, 45_501690, 7},
	{"Mumbai", 72_877655, 19_075983, 17},
	{"Munich", 11_581981, 48_135125, 8},
	{"Nairobi", 36_821945, -1_292066, 7},
	{"New York", -74_005974, 40_712776, 18},
	{"Oslo", 10_752245, 59_913868, 6},
	{"Palermo", 13_361389, 38_115556, 4},
	{"Paris", 2_352222, 48_856613, 17},
	{"Prague", 14_437800, 50_075539, 7},
	{"Reykjavik", -21_942402, 64_146583, 2},
	{"Rio de Janeiro", -43_172897, -22_906847, 12},
	{"Rome", 12_496366, 41_902782, 10},
	{"San Francisco", -122_419418, 37_774929, 9},
	{"Santiago", -70_669266, -33_448891, 8},
	{"Sao Paulo", -46_633309, -23_550520, 17},
	{"Seoul", 126_977966, 37_566536, 14},
	{"Shanghai", 121_473701, 31_230416, 16},
	{"Singapore", 103_819839, 1_352083, 10},
	{"Stockholm", 18_068581, 59_329323, 7},
	{"Sydney", 151_209290, -33_868820, 9},
	{"Tokyo", 139_691711, 35_689487, 20},
	{"Toronto", -79_383186, 43_653225, 9},
	{"Vienna", 16_373819, 48_208176, 8},
	{"Warsaw", 21_012230, 52_229675, 8},
	{"Zurich", 8_541694, 47_376888, 6},
}

func cityWeights() []uint64 {
	weights := make([]uint64, len(cities))
	for i, c := range cities {
		weights[i] = c.weight
	}
	return weights
}

// hour is how long a person takes from one corner to the next.
const hour event.Time = 3_600_000

// place returns the position of a person at a time.
func (g *Generator) place(user uint32, at event.Time) (lon, lat int32) {
	n := at / hour
	lon1, lat1 := g.corner(user, n)
	lon2, lat2 := g.corner(user, n+1)
	return between(lon1, lon2, at-n*hour), between(lat1, lat2, at-n*hour)
}

func between(a, b int32, t event.Time) int32 {
	return a + int32(int64(b-a)*int64(t)/int64(hour))
}

// corner returns the position of a person at a full hour: within a twentieth of a
// degree of the centre of the city where the person spends the day.
func (g *Generator) corner(user uint32, n event.Time) (lon, lat int32) {
	who, today := uint64(user), uint64(n/24)
	in := g.homes.choose(hash(g.cfg.Seed, drawHome, who, 0))
	if trip := hash(g.cfg.Seed, drawTrip, who, today); trip%32 == 0 {
		in = g.homes.choose(mix(trip))
	}
	c, h := &cities[in], hash(g.cfg.Seed, drawCorner, who, uint64(n))
	return c.lon + int32(h%100_001) - 50_000, c.lat + int32(h>>32%100_001) - 50_000
}

func appendLocation(b []byte, r *Record) []byte {
	b = append(b, `{"ts":`...)
	b = strconv.AppendInt(b, int64(r.Stamp), 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendUint(b, uint64(r.User), 10)
	b = append(b, `,"lon":`...)
	b = appendDegrees(b, r.Lon)
	b = append(b, `,"lat":`...)
	b = appendDegrees(b, r.Lat)
	return append(b, '}')
}

// appendDegrees writes millionths of a degree with six decimals.
func appendDegrees(b []byte, d int32) []byte {
	if d < 0 {
		b, d = append(b, '-'), -d
	}
	b = strconv.AppendInt(b, int64(d/1_000_000), 10)
	b = append(b, '.')
	d %= 1_000_000
	for p := int32(100_000); p > 0; p /= 10 {
		b = append(b, '0'+byte(d/p%10))
	}
	return b
}
