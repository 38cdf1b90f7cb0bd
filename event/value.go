package event

import (
	"math"
	"strconv"
	"unsafe"
)

// ID returns the bytes a Redis client would send for the value: a string's
// contents, a number's text as it stands (so 1 and 1.0 are two ids). Nothing
// else is an id.
func (v Value) ID() ([]byte, bool) {
	return v.Bytes, v.Type == String || v.Type == Number
}

// Uint32 returns the value as an unsigned integer below 2^32. It must be plain
// decimal digits without sign or leading zeros, as in a bit offset of Redis; it
// may be a number or a string.
func (v Value) Uint32() (uint32, bool) {
	b := v.Bytes
	if v.Type != Number && v.Type != String || len(b) == 0 || b[0] < '0' || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n, ok := plainInt(b)
	return uint32(n), ok && n <= math.MaxUint32
}

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Numeric reports whether the value is a number. So is a text that is a number of JSON, from its first byte to its
// last: producers write amounts, positions and times so, and Protobuf's JSON all numbers of 64 bits. Float, Whole,
// Scaled, Compare and Time follow this rule.
func (v Value) Numeric() bool {
	return v.Type == Number || v.Type == String && number(v.Bytes, 0) == len(v.Bytes)
}

// Zero reports whether the value is written as 0.
func (v Value) Zero() bool {
	switch v.Type {
	case Integer:
		return string(v.Bytes) == "\x00\x00\x00\x00\x00\x00\x00\x00"
	case Number, String:
		return string(v.Bytes) == "0"
	}
	return false
}

// Float returns a number as the nearest float64. Numbers beyond its range are
// refused, as is what is not Numeric; the result is finite.
func (v Value) Float() (float64, bool) {
	if v.Type != Number && v.Type != String {
		return 0, false
	}
	if n, ok := v.Whole(); ok && n != 0 { // an integer has no sign of zero
		return float64(n), true
	}
	d, ok := readDecimal(v.Bytes)
	if !ok {
		return 0, false
	}
	// The digits and the power of ten are exact, so there is one rounding
	// (Clinger's fast path). Coordinates and prices are of this kind. Digits below
	// 2^53 are all digits of the number: a number of more than 18 digits has its
	// first 18 here, which exceed 2^53.
	if d.digits < 1<<53 && -22 <= d.exp && d.exp <= 22 {
		f := float64(d.digits)
		if d.exp < 0 {
			f /= tens[-d.exp]
		} else {
			f *= tens[d.exp]
		}
		if d.neg {
			f = -f
		}
		return f, true
	}
	if d.point > 309 { // at least 1e309; ParseFloat would allocate an error
		return 0, false
	}
	f, err := strconv.ParseFloat(unsafe.String(&v.Bytes[0], len(v.Bytes)), 64)
	return f, err == nil
}

// Whole returns a number that is written as an integer of up to 18 digits. What it returns is what Scaled
// returns with scale 0, and, but for the sign of zero, what Float returns.
func (v Value) Whole() (n int64, ok bool) {
	if v.Type != Number && v.Type != String {
		return 0, false
	}
	if n, ok = plainInt(v.Bytes); !ok { // which takes zeros in front
		return 0, false
	}
	first := v.Bytes[0]
	return n, first > '0' || first == '-' && v.Bytes[1] > '0' || first == '0' && len(v.Bytes) == 1
}

// A decimal is a JSON number taken apart: digits × 10^exp, where digits are the
// first 18 significant ones; exact says whether these are all digits, except
// zeros at the end. The value lies in [10^(point-1), 10^point), unless zero.
type decimal struct {
	digits uint64
	exp    int
	point  int
	neg    bool
	exact  bool
}

// Exponents are capped here. No record has as many digits as this, so the cap
// changes no result.
const maxExp = 1 << 27

// readDecimal reads a number; false if it is none.
func readDecimal(b []byte) (decimal, bool) {
	d := decimal{exact: true}
	if number(b, 0) != len(b) {
		return d, false
	}
	i, n, dot := 0, 0, -1 // n: significant digits so far
	if b[0] == '-' {
		d.neg, i = true, 1
	}
	var dropped int // digits beyond the eighteenth
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' {
			dot = 0
			continue
		}
		if c -= '0'; c > 9 {
			break
		}
		if dot >= 0 {
			dot++
		}
		switch {
		case n == 0 && c == 0:
		case n < 18:
			d.digits = d.digits*10 + uint64(c)
			n++
		default:
			dropped++
			d.exact = d.exact && c == 0
		}
	}
	d.exp = dropped - max(dot, 0)
	if i < len(b) { // e
		i++
		neg := b[i] == '-'
		if neg || b[i] == '+' {
			i++
		}
		e := 0
		for ; i < len(b); i++ {
			e = min(e*10+int(b[i]-'0'), maxExp)
		}
		if neg {
			e = -e
		}
		d.exp += e
	}
	d.point = d.exp + n
	if d.digits == 0 {
		d.exp, d.point = 0, 0
	}
	return d, true
}
