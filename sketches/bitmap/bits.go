package bitmap

import "errors"

// MaxBytes is the longest Redis string (proto-max-bulk-len, 512 MiB). So an
// offset is below 8·MaxBytes bits.
const MaxBytes = 512 << 20

// The text of these errors is what Redis prints after "ERR ".
var (
	ErrInteger = errors.New("value is not an integer or out of range")
	ErrOffset  = errors.New("bit offset is not an integer or out of range")
	ErrBit     = errors.New("bit is not an integer or out of range")
	ErrBitArg  = errors.New("The bit argument must be 1 or 0.")
	ErrSyntax  = errors.New("syntax error")
)

// GetBit returns bit off of b, 0 or 1; past the end it is 0. (GETBIT)
func GetBit(b []byte, off uint64) int {
	if off>>3 >= uint64(len(b)) {
		return 0
	}
	return int(b[off>>3] >> (7 - off&7) & 1)
}

// SetBit sets bit off to 0 or 1 and returns the bit that was there. (SETBIT)
//
// b grows with zero bytes up to the bit's byte, even to set a 0; like append,
// SetBit writes into b and returns it, or a longer copy. It panics unless off
// is less than 8·MaxBytes and bit is 0 or 1: check offsets from clients with
// ParseOffset.
func SetBit(b []byte, off uint64, bit int) (out []byte, old int) {
	if off >= 8*MaxBytes || bit&^1 != 0 {
		panic("bitmap: SetBit out of range")
	}
	b = grow(b, int(off>>3)+1)
	p := &b[off>>3]
	shift := 7 - off&7
	old = int(*p >> shift & 1)
	*p = *p&^(1<<shift) | byte(bit)<<shift
	return b, old
}

// grow returns b with at least n bytes, new ones zero.
func grow(b []byte, n int) []byte {
	if n <= len(b) {
		return b
	}
	if n <= cap(b) {
		old := len(b)
		b = b[:n]
		clear(b[old:])
		return b
	}
	return append(b, make([]byte, n-len(b))...)
}

// ParseOffset reads the offset of SETBIT and GETBIT: a decimal integer from 0
// to 8·MaxBytes−1, written without sign, spaces or leading zeros.
func ParseOffset(s string) (uint64, error) {
	n, ok := parseInt(s)
	if !ok || n < 0 || n>>3 >= MaxBytes {
		return 0, ErrOffset
	}
	return uint64(n), nil
}

// ParseInt reads a decimal integer as Redis does (string2ll): an optional
// minus, no plus, no spaces, no leading zeros, no "-0", within int64. The
// error is ErrInteger.
func ParseInt(s string) (int64, error) {
	n, ok := parseInt(s)
	if !ok {
		return 0, ErrInteger
	}
	return n, nil
}

func parseInt(s string) (int64, bool) {
	digits, neg := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, neg = s[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && (neg || len(digits) > 1) {
		return 0, false
	}
	var n uint64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0') // 19 digits stay below 2⁶⁴
	}
	switch {
	case neg && n <= 1<<63:
		return int64(-n), true
	case !neg && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}
