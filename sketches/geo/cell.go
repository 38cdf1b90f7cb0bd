package geo

// The limits of a position that Redis accepts: the Web Mercator square
// (EPSG:3857) in degrees. The poles are outside.
const (
	LonMin, LonMax = -180.0, 180.0
	LatMin, LatMax = -85.05112878, 85.05112878
)

// step is the number of bits per axis of a stored position.
const step = 26

// cells is the number of cells along one axis.
const cells = 1 << step

// Encode returns the cell of a position as Redis stores it in a sorted set:
// latitude in the even bits, longitude in the odd ones, 26 each. It reports
// false for a position outside the limits, NaN included.
//
// The greatest latitude and longitude get the cell after the last one, which
// needs a 27th bit. For longitude 180 the score then exceeds 2^53, and the
// float64 that carries it in Redis loses its lowest bit; so does the score
// returned here.
func Encode(lon, lat float64) (score uint64, ok bool) {
	// Two divisions and two spreads take most of encode's time. This path
	// multiplies by the inverse instead, which rounds differently: with 20 spare
	// bits, by less than 2^-4 of a unit. So it finds the cell unless the spare
	// bits say that an edge is near; then encode decides. (x and y have one unit
	// added, so that "near" is one comparison.) A position outside the limits, or
	// close to them, also goes to encode. Tables of 2 KiB spread faster than
	// shifts (5.1 ns against 6.2; tables of 32 KiB take 4.9, but would evict other
	// data from the cache), and need no instruction that some processors lack or
	// execute slowly.
	const spare = 20
	const scale = 1 << (step + spare)
	const perLon, perLat = scale / (LonMax - LonMin), scale / (LatMax - LatMin)
	x := uint64(int64(lon*perLon + (1 - LonMin*perLon)))
	y := uint64(int64(lat*perLat + (1 - LatMin*perLat)))
	const low = 1<<spare - 1
	if (x|y) >= scale || x&low <= 2 || y&low <= 2 {
		return encode(lon, lat)
	}
	a := uint64(spread9[x>>(spare+17)&511])<<1 | uint64(spread9[y>>(spare+17)&511])
	b := uint64(spread9[x>>(spare+8)&511])<<1 | uint64(spread9[y>>(spare+8)&511])
	c := uint64(spread9[x>>spare&255])<<1 | uint64(spread9[y>>spare&255])
	return a<<34 | b<<16 | c, true
}

// encode is Encode as Redis computes it.
func encode(lon, lat float64) (score uint64, ok bool) {
	if !(lon >= LonMin && lon <= LonMax && lat >= LatMin && lat <= LatMax) {
		return 0, false
	}
	x := (lon - LonMin) / (LonMax - LonMin) * cells
	y := (lat - LatMin) / (LatMax - LatMin) * cells
	score = spread(uint64(int64(y))) | spread(uint64(int64(x)))<<1
	if score >= 1<<53 {
		score = uint64(float64(score))
	}
	return score, true
}

// CellOf returns the cell that Redis decodes for the score of a sorted set, which may be no
// cell at all: that of its whole part; of a number beyond int64 or uint64 what an x86
// processor makes of it, where Go and C leave open what a conversion returns.
func CellOf(score float64) uint64 {
	switch {
	case score >= 1<<64:
		return 0
	case score >= 1<<63:
		return uint64(score)
	case score >= -1<<63:
		return uint64(int64(score))
	}
	return 1 << 63
}

// Decode returns the centre of a cell, clamped to the limits.
func Decode(score uint64) (lon, lat float64) {
	return centre(squash(score>>1), LonMin, LonMax), centre(squash(score), LatMin, LatMax)
}

// centre returns the middle of the i-th of the cells between low and high. It is
// the mean of the two edges and not (i+½)·width, because that is how Redis
// rounds; the conversions keep the compiler from fusing a product with the
// sum that follows it.
func centre(i uint32, low, high float64) float64 {
	width := high - low
	from := low + float64(float64(i)/cells*width)
	to := low + float64(float64(i+1)/cells*width)
	return min(max((from+to)/2, low), high)
}

// spread moves bit i of the lower half of x to bit 2i (the "magic numbers"
// interleaving of Sean Anderson's Bit Twiddling Hacks).
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	x = (x | x<<1) & 0x5555555555555555
	return x
}

// spread9 is spread of nine bits.
var spread9 = func() (t [512]uint32) {
	for i := range t {
		t[i] = uint32(spread(uint64(i)))
	}
	return t
}()

// squash returns the inverse of spread: it gathers the even bits of x.
func squash(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0F0F0F0F0F0F0F0F
	x = (x | x>>4) & 0x00FF00FF00FF00FF
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return uint32(x | x>>16)
}
