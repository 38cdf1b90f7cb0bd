package event

// MaxUnits is the greatest number of units that Scaled returns: eighteen digits.
const MaxUnits = 1e18 - 1

// Scaled returns a number as a whole number of units of 10^-scale: 12.5 with scale 2 is
// 1250. It is exact: ok is false for a number with a digit other than 0 beyond the scale,
// for one of more than MaxUnits either way, which is large, and for what is not Numeric.
func (v Value) Scaled(scale int) (units int64, large, ok bool) {
	if v.Type != Number && v.Type != String {
		return 0, false, false
	}
	if scale == 0 {
		if n, ok := v.Whole(); ok {
			return n, false, true
		}
	}
	if units, ok := shortScaled(v.Bytes, scale); ok {
		return units, false, true
	}
	return longScaled(v.Bytes, scale)
}

// shortScaled reads a number of at most seventeen digits and a point, no exponent, and no
// more digits behind the point than scale. Prices are of this kind. ok is false for other
// numbers, and for what is none.
func shortScaled(b []byte, scale int) (units int64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 17 || b[0] == '0' && len(b) > 1 && b[1] != '.' {
		return 0, false
	}
	whole := len(b) // digits before the point
	for i, c := range b {
		switch c -= '0'; {
		case c <= 9:
			units = units*10 + int64(c)
		case b[i] == '.' && whole == len(b):
			whole = i
		default:
			return 0, false
		}
	}
	behind := 0
	if whole < len(b) {
		behind = len(b) - whole - 1
		if behind == 0 {
			return 0, false
		}
	}
	if whole == 0 || behind > scale || whole+scale > 18 {
		return 0, false
	}
	for ; behind < scale; behind++ {
		units *= 10
	}
	if neg {
		units = -units
	}
	return units, true
}

// Rounded is Scaled for a number with any digits beyond the scale: it is rounded to the nearest whole number of units, and
// from the middle between two to the even one. It is a function of all digits.
func (v Value) Rounded(scale int) (units int64, large, ok bool) {
	if units, large, ok = v.Scaled(scale); ok || large || !v.Numeric() {
		return units, large, ok
	}
	d, _ := readDecimal(v.Bytes)
	digits, keep := digitsOf(v.Bytes), d.point+scale // the digits before the cut, at most 18
	if keep < 0 {
		return 0, false, true
	}
	for range keep {
		c, _ := digits.next()
		units = units*10 + int64(c-'0')
	}
	next, more := digits.next()
	middle := next == '5'
	for c := byte(0); more && middle; {
		c, more = digits.next()
		middle = c == '0'
	}
	if middle && units&1 == 1 || !middle && next >= '5' {
		units++
	}
	if d.neg {
		units = -units
	}
	return units, units > MaxUnits || units < -MaxUnits, units <= MaxUnits && units >= -MaxUnits
}

func longScaled(b []byte, scale int) (units int64, large, ok bool) {
	d, ok := readDecimal(b)
	switch {
	case !ok:
		return 0, false, false
	case d.digits == 0:
		return 0, false, true
	case d.point+scale > 18:
		return 0, true, false
	}
	n, exp := d.digits, d.exp+scale
	for ; exp < 0 && n%10 == 0; exp++ { // zeros at the end are no digits beyond the scale
		n /= 10
	}
	if exp < 0 || !d.exact {
		return 0, false, false
	}
	for ; exp > 0; exp-- {
		n *= 10
	}
	if d.neg {
		return -int64(n), false, true
	}
	return int64(n), false, true
}
