package bitmap

import (
	"encoding/binary"
	"math/bits"
)

// PosFrom returns the number of the first bit from byte start on that equals bit, 0 or 1.
// It is a bit number of b, not counted from start. (BITPOS key bit start)
//
// Zeros follow the string: the search for a 0 in all ones gives the first bit
// past the end. The search for a 1 in all zeros gives −1, and so does any
// search of an empty b. (A key that does not exist is not an empty b: Redis
// answers 0 for bit 0 and −1 for bit 1.)
func PosFrom(b []byte, bit int, start int64) int64 {
	first, last := span(b, start, -1, Byte)
	pos := firstBit(b, bit, first, last)
	if pos < 0 && bit == 0 && first <= last {
		return int64(len(b)) * 8
	}
	return pos
}

// PosIn is PosFrom within a range, see CountIn: −1 if no bit of the range equals
// bit. (BITPOS key bit start end BYTE|BIT)
func PosIn(b []byte, bit int, start, end int64, unit Unit) int64 {
	first, last := span(b, start, end, unit)
	return firstBit(b, bit, first, last)
}

// firstBit finds the first bit of that value from first to last, or −1.
func firstBit(b []byte, bit int, first, last int64) int64 {
	if first > last {
		return -1
	}
	var flip byte // after flipping, the wanted bit is a 1
	if bit == 0 {
		flip = 0xff
	}
	i, end := first>>3, last>>3
	c := (b[i] ^ flip) & headMask(first)
	if c == 0 {
		i++
		wide := uint64(0)
		if flip != 0 {
			wide = ^wide
		}
		for i+8 <= end && binary.BigEndian.Uint64(b[i:])^wide == 0 {
			i += 8
		}
		for i <= end && b[i]^flip == 0 {
			i++
		}
		if i > end {
			return -1
		}
		c = b[i] ^ flip
	}
	pos := i<<3 + int64(bits.LeadingZeros8(c))
	if pos > last {
		return -1
	}
	return pos
}
