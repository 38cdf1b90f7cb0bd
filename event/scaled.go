package event

// MaxUnits is the greatest number of units that Scaled returns: eighteen digits.
const MaxUnits = 1e18 - 1

// Scaled returns a number as a whole number of units of 10^-scale: 12.5 with scale 2 is
// 1250. It is exact: ok is false for a number with a digit other than 0 beyond the scale,
// for one of more than MaxUnits either way, which is large, and for every other kind of
// value.
func (v Value) Scaled(scale int) (units int64, large, ok bool) {
	if v.Kind != Number {
		return 0, false, false
	}
	d, ok := readDecimal(v.Bytes)
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
