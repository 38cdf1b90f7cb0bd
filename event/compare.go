package event

import (
	"bytes"
	"cmp"
	"fmt"
)

// A Bound is a constant number that values are compared with.
type Bound struct {
	text    []byte
	decimal decimal
}

// ParseBound reads a constant, as JSON writes a number: at most 40 characters, with an
// exponent of at most 400.
func ParseBound(text string) (Bound, error) {
	n := Bound{text: []byte(text)}
	var ok bool
	if n.decimal, ok = readDecimal(n.text); !ok {
		return n, fmt.Errorf("event: %q is no number of JSON", text)
	}
	if len(text) > 40 || n.decimal.point < -400 || n.decimal.point > 400 {
		return n, fmt.Errorf("event: the number %.50s is too long or too far from 1: at most 40 characters, between 1e-400 and 1e400", text)
	}
	return n, nil
}

// Compare returns −1, 0 or 1 as the value is less than, equal to or greater than n. All
// digits count, nothing is rounded: 10, 10.0 and 1e1 are equal, and
// 9007199254740993 is greater than 9007199254740992. ok is false if the value is
// not Numeric.
func (v Value) Compare(n *Bound) (order int, ok bool) {
	if v.Type != Number && v.Type != String {
		return 0, false
	}
	d, ok := readDecimal(v.Bytes)
	if !ok {
		return 0, false
	}
	o := &n.decimal
	switch {
	case d.sign() != o.sign():
		return cmp.Compare(d.sign(), o.sign()), true
	case d.digits == 0:
		return 0, true
	case d.point != o.point:
		order = cmp.Compare(d.point, o.point)
	default:
		order = compareDigits(v.Bytes, n.text)
	}
	return order * d.sign(), true
}

func (d *decimal) sign() int {
	switch {
	case d.digits == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// compareDigits compares the significant digits of two numbers as if a point stood before
// the first of each.
func compareDigits(a, b []byte) int {
	x, y := digitsOf(a), digitsOf(b)
	for {
		c, more := x.next()
		d, too := y.next()
		if c != d || !more && !too {
			return cmp.Compare(c, d)
		}
	}
}

// significant yields the digits of a number from the first that is not 0, and zeros after
// the last.
type significant []byte

func digitsOf(number []byte) significant {
	return bytes.TrimLeft(number, "-0.")
}

func (s *significant) next() (digit byte, more bool) {
	if len(*s) > 0 && (*s)[0] == '.' {
		*s = (*s)[1:]
	}
	if len(*s) == 0 || (*s)[0]-'0' > 9 {
		return '0', false
	}
	digit = (*s)[0]
	*s = (*s)[1:]
	return digit, true
}
