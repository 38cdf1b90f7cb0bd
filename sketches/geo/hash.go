package geo

import (
	"errors"
	"fmt"
)

// alphabet is Gustavo Niemeyer's base 32: digits and letters without a, i, l
// and o.
const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// HashPrecisionMax is the longest geohash text in characters: 60 bits, cells
// of 3.7 cm by 1.9 cm.
const HashPrecisionMax = 12

// AppendHash appends the geohash text of a position, precision characters of
// five bits each, and returns the extended slice. The text is the standard
// one: longitude bit first, latitudes from -90 to 90. A shorter precision
// gives a prefix of a longer one. Longitude 180 is the same meridian as -180
// and gets its text; latitude 90 gets the northernmost cell.
//
// Nothing is appended when a coordinate is out of range or NaN or precision is
// not within 1..HashPrecisionMax.
func AppendHash(dst []byte, lon, lat float64, precision int) []byte {
	if !(lon >= -180 && lon <= 180 && lat >= -90 && lat <= 90) || precision < 1 || precision > HashPrecisionMax {
		return dst
	}
	const n = 1 << 30
	x := uint64((lon + 180) / 360 * n) // of 180, the one bit is above all that is printed
	y := min(uint64((lat+90)/180*n), n-1)
	bits := spread(y) | spread(x)<<1
	for shift := 55; precision > 0; precision-- {
		dst = append(dst, alphabet[bits>>shift&31])
		shift -= 5
	}
	return dst
}

// AppendHashOf appends the text that GEOHASH prints for a stored position:
// eleven characters, of which ten carry 50 of the cell's 52 bits and the last
// is always 0. It is the hash of the cell's centre, on the grid of AppendHash.
func AppendHashOf(dst []byte, score uint64) []byte {
	lon, lat := Decode(score)
	return append(AppendHash(dst, lon, lat, 10), '0')
}

// A Box is a rectangle in degrees.
type Box struct {
	LonMin, LatMin, LonMax, LatMax float64
}

// ErrHash is returned for a text that is no geohash.
var ErrHash = errors.New("geo: not a geohash")

// ParseHash returns the rectangle that a geohash text of 1 to HashPrecisionMax
// characters names. Upper-case letters are read as their lower-case ones.
// AppendHash gives that text for every point of the rectangle, except for the
// northern and eastern edges and points that round to them.
func ParseHash(text []byte) (Box, error) {
	if len(text) == 0 || len(text) > HashPrecisionMax {
		return Box{}, fmt.Errorf("%w: %d characters, want 1 to %d", ErrHash, len(text), HashPrecisionMax)
	}
	var bits uint64
	for i, c := range text {
		v := digits[c]
		if v < 0 {
			return Box{}, fmt.Errorf("%w: character %q at %d", ErrHash, c, i)
		}
		bits = bits<<5 | uint64(v)
	}
	bits <<= 60 - 5*len(text)
	// An odd number of characters has one longitude bit more.
	lonBits, latBits := (5*len(text)+1)/2, 5*len(text)/2
	const n = 1 << 30
	x, y := uint64(squash(bits>>1)), uint64(squash(bits))
	return Box{
		LonMin: float64(x)/n*360 - 180,
		LatMin: float64(y)/n*180 - 90,
		LonMax: float64(x+1<<(30-lonBits))/n*360 - 180,
		LatMax: float64(y+1<<(30-latBits))/n*180 - 90,
	}, nil
}

// digits is the value of every character of the alphabet, -1 for the others.
var digits = func() (d [256]int8) {
	for i := range d {
		d[i] = -1
	}
	for i, c := range []byte(alphabet) {
		d[c] = int8(i)
		if c >= 'a' {
			d[c-'a'+'A'] = int8(i)
		}
	}
	return d
}()
