package bitmap

import (
	"encoding/binary"
	"math/bits"
)

// A Unit says whether the indexes of a range count bytes or bits.
type Unit uint8

// The units of BITCOUNT and BITPOS.
const (
	Byte Unit = iota
	Bit
)

// ParseUnit reads BYTE or BIT, in any case.
func ParseUnit(s string) (Unit, error) {
	switch upper(s) {
	case "BYTE":
		return Byte, nil
	case "BIT":
		return Bit, nil
	}
	return 0, ErrSyntax
}

// upper is s in upper case, if s is as short as the words that the parsers
// compare with.
func upper(s string) string {
	var b [8]byte
	if len(s) > len(b) {
		return ""
	}
	for i := range s {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		b[i] = c
	}
	return string(b[:len(s)])
}

// Count returns the number of one bits. (BITCOUNT key)
func Count(b []byte) uint64 { return count(b) }

// CountIn returns the number of one bits from start to end, both included, in
// bytes or bits; negative indexes count from the end of b, −1 being the last.
// (BITCOUNT key start end BYTE|BIT)
func CountIn(b []byte, start, end int64, unit Unit) uint64 {
	// Two negative indexes in the wrong order are an empty range, even where the
	// clamping in spanOf would make a range of one byte.
	if start < 0 && end < 0 && start > end {
		return 0
	}
	first, last := span(b, start, end, unit)
	if first > last {
		return 0
	}
	from, to := first>>3, last>>3
	n := count(b[from : to+1])
	n -= uint64(bits.OnesCount8(b[from] &^ headMask(first)))
	n -= uint64(bits.OnesCount8(b[to] &^ tailMask(last)))
	return n
}

// span resolves a range to bit numbers as Redis does: negative indexes from
// the end, then both at least 0, then end at most the last. It is empty where
// first > last.
func span(b []byte, start, end int64, unit Unit) (first, last int64) {
	return spanOf(int64(len(b)), start, end, unit)
}

// spanOf is span for a string of total bytes.
func spanOf(total, start, end int64, unit Unit) (first, last int64) {
	if unit == Bit {
		total *= 8
	}
	if start < 0 {
		start += total
	}
	if end < 0 {
		end += total
	}
	start, end = max(start, 0), min(max(end, 0), total-1)
	switch {
	case start > end:
		return 1, 0
	case unit == Bit:
		return start, end
	}
	return start * 8, end*8 + 7
}

// headMask keeps the given bit and those after it in its byte.
func headMask(bit int64) byte { return 0xff >> (bit & 7) }

// tailMask keeps the given bit and those before it in its byte.
func tailMask(bit int64) byte { return 0xff << (7 - bit&7) }

// countGeneric is the plain form of count; tests compare the two.
func countGeneric(b []byte) uint64 {
	var n0, n1, n2, n3 int // four, so that the additions do not wait for each other
	for ; len(b) >= 32; b = b[32:] {
		n0 += bits.OnesCount64(binary.LittleEndian.Uint64(b))
		n1 += bits.OnesCount64(binary.LittleEndian.Uint64(b[8:]))
		n2 += bits.OnesCount64(binary.LittleEndian.Uint64(b[16:]))
		n3 += bits.OnesCount64(binary.LittleEndian.Uint64(b[24:]))
	}
	for ; len(b) >= 8; b = b[8:] {
		n0 += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		n1 += bits.OnesCount8(c)
	}
	return uint64(n0 + n1 + n2 + n3)
}
