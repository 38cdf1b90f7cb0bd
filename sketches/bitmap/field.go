package bitmap

import "errors"

// A FieldType is the type of a BITFIELD integer: i1 to i64 or u1 to u63.
type FieldType struct {
	Signed bool
	Width  uint8 // in bits
}

// The text of these errors is what Redis prints after "ERR ".
var (
	ErrFieldType = errors.New("Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
	ErrOverflow  = errors.New("Invalid OVERFLOW type specified")
	ErrReadOnly  = errors.New("BITFIELD_RO only supports the GET subcommand")
)

func (t FieldType) valid() bool {
	return t.Width >= 1 && (t.Width <= 63 || t.Signed && t.Width == 64)
}

// ParseFieldType reads a type such as i16 or u8.
func ParseFieldType(s string) (FieldType, error) {
	if len(s) < 2 || s[0] != 'i' && s[0] != 'u' {
		return FieldType{}, ErrFieldType
	}
	n, ok := parseInt(s[1:])
	t := FieldType{Signed: s[0] == 'i', Width: uint8(n)}
	if !ok || n < 1 || n > 64 || !t.valid() {
		return FieldType{}, ErrFieldType
	}
	return t, nil
}

// ParseFieldOffset reads the offset of a field of that type: a bit number, or
// # and a number of fields. Its first bit must lie within MaxBytes.
func ParseFieldOffset(s string, t FieldType) (uint64, error) {
	if len(s) > 0 && s[0] == '#' {
		n, ok := parseInt(s[1:])
		if !ok || n < 0 || n > 8*MaxBytes {
			return 0, ErrOffset
		}
		if off := uint64(n) * uint64(t.Width); off>>3 < MaxBytes {
			return off, nil
		}
		return 0, ErrOffset
	}
	return ParseOffset(s)
}

// An Overflow says what a write does when the value does not fit.
type Overflow uint8

// The overflow modes of BITFIELD.
const (
	Wrap Overflow = iota // keep the low bits
	Sat                  // keep the nearest value that fits
	Fail                 // write nothing
)

// ParseOverflow reads WRAP, SAT or FAIL, in any case.
func ParseOverflow(s string) (Overflow, error) {
	switch upper(s) {
	case "WRAP":
		return Wrap, nil
	case "SAT":
		return Sat, nil
	case "FAIL":
		return Fail, nil
	}
	return 0, ErrOverflow
}

// GetField returns the field of type t whose most significant bit is bit off
// of b. Bits past the end are zeros.
func GetField(b []byte, t FieldType, off uint64) int64 {
	v := readBits(b, off, uint(t.Width))
	if t.Signed {
		shift := 64 - t.Width
		return int64(v<<shift) >> shift
	}
	return int64(v)
}

// SetField writes v and returns the value that was there, or ok = false where v
// does not fit and mode is Fail: then no bit has changed. In either case b
// grows to hold the field; see SetBit about the memory it writes to.
//
// For an unsigned type a negative v counts as its 64 bits read without sign, a
// very large number: Sat makes the greatest value of it.
func SetField(b []byte, t FieldType, off uint64, v int64, mode Overflow) (out []byte, old int64, ok bool) {
	b = growField(b, t, off)
	old = GetField(b, t, off)
	v, ok = t.fit(v, 0, mode)
	if ok {
		writeBits(b, off, uint(t.Width), uint64(v))
	}
	return b, old, ok
}

// AddField adds by and returns the new value, or ok = false where the sum does
// not fit and mode is Fail. In all else it is like SetField. (INCRBY)
func AddField(b []byte, t FieldType, off uint64, by int64, mode Overflow) (out []byte, sum int64, ok bool) {
	b = growField(b, t, off)
	sum, ok = t.fit(GetField(b, t, off), by, mode)
	if ok {
		writeBits(b, off, uint(t.Width), uint64(sum))
	}
	return b, sum, ok
}

func growField(b []byte, t FieldType, off uint64) []byte {
	if !t.valid() || off >= 8*MaxBytes {
		panic("bitmap: field out of range")
	}
	return grow(b, int((off+uint64(t.Width)-1)>>3)+1)
}

// fit returns v + by as a value of the type, after the overflow mode was
// applied; ok is false if mode is Fail and the sum does not fit.
//
// The comparisons are Redis's (bitops.c, check(Uns|S)ignedBitfieldOverflow).
// Their own arithmetic wraps around as in Redis, because clients can see it: a
// signed SET far below the range of a narrow type counts as too great, not too
// small.
func (t FieldType) fit(v, by int64, mode Overflow) (int64, bool) {
	var over, under bool
	var top, bottom int64
	if t.Signed {
		top = int64(1)<<(t.Width-1) - 1
		bottom = -top - 1
		room, fall := top-v, bottom-v // may wrap
		narrow := t.Width < 64
		over = v > top || narrow && by > room || v >= 0 && by > 0 && by > room
		under = !over && (v < bottom || narrow && by < fall || v < 0 && by < 0 && by < fall)
	} else {
		top = int64(1)<<t.Width - 1
		room := top - v
		over = uint64(v) > uint64(top) || by > 0 && by > room
		under = !over && by < 0 && by < -v
	}
	sum := v + by
	switch {
	case !over && !under:
		return sum, true
	case mode == Fail:
		return 0, false
	case mode == Sat && over:
		return top, true
	case mode == Sat:
		return bottom, true
	}
	shift := 64 - t.Width
	if t.Signed {
		return sum << shift >> shift, true
	}
	return int64(uint64(sum) << shift >> shift), true
}

// readBits returns width bits from off on, most significant first.
func readBits(b []byte, off uint64, width uint) uint64 {
	var v uint64
	end := off + uint64(width)
	for at := off &^ 7; at < end; at += 8 { // at most nine bytes
		var c byte
		if at>>3 < uint64(len(b)) {
			c = b[at>>3]
		}
		n := uint(8) // how many bits of c belong to the field
		if at < off {
			c &= 0xff >> (off & 7)
			n -= uint(off & 7)
		}
		if end < at+8 {
			cut := uint(at + 8 - end)
			c >>= cut
			n -= cut
		}
		v = v<<n | uint64(c)
	}
	return v
}

// writeBits writes the low width bits of v from off on. b is long enough.
func writeBits(b []byte, off uint64, width uint, v uint64) {
	end := off + uint64(width)
	for at := off &^ 7; at < end; at += 8 {
		mask := byte(0xff)
		if at < off {
			mask >>= off & 7
		}
		var c byte
		if left := int64(end) - int64(at) - 8; left >= 0 {
			c = byte(v >> left)
		} else {
			c = byte(v << -left)
			mask &= 0xff << -left
		}
		p := &b[at>>3]
		*p = *p&^mask | c&mask
	}
}
