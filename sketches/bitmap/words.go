package bitmap

import "encoding/binary"

// The loops of BITOP. Each works on d and a source of the same length, eight
// bytes at a time: the byte order does not matter, as long as it is the same
// for reading and writing.

var le = binary.LittleEndian

func and(d, s []byte) {
	for ; len(d) >= 8; d, s = d[8:], s[8:] {
		le.PutUint64(d, le.Uint64(d)&le.Uint64(s))
	}
	for i := range d {
		d[i] &= s[i]
	}
}

func xor(d, s []byte) {
	for ; len(d) >= 8; d, s = d[8:], s[8:] {
		le.PutUint64(d, le.Uint64(d)^le.Uint64(s))
	}
	for i := range d {
		d[i] ^= s[i]
	}
}

func not(d []byte) {
	for ; len(d) >= 8; d = d[8:] {
		le.PutUint64(d, ^le.Uint64(d))
	}
	for i := range d {
		d[i] = ^d[i]
	}
}

// andNot keeps in d what s has and d has not.
func andNot(d, s []byte) {
	for ; len(d) >= 8; d, s = d[8:], s[8:] {
		le.PutUint64(d, le.Uint64(s)&^le.Uint64(d))
	}
	for i := range d {
		d[i] = s[i] &^ d[i]
	}
}

// clearBits keeps in d what s has not.
func clearBits(d, s []byte) {
	for ; len(d) >= 8; d, s = d[8:], s[8:] {
		le.PutUint64(d, le.Uint64(d)&^le.Uint64(s))
	}
	for i := range d {
		d[i] &^= s[i]
	}
}

// one keeps in d the bits that exactly one source had so far. seen collects the
// bits that any source had; it may be longer than d.
func one(d, seen, s []byte) {
	for ; len(d) >= 8; d, seen, s = d[8:], seen[8:], s[8:] {
		x, y := le.Uint64(seen), le.Uint64(s)
		le.PutUint64(d, (le.Uint64(d)|y)&^(x&y))
		le.PutUint64(seen, x|y)
	}
	for i := range d {
		d[i] = (d[i] | s[i]) &^ (seen[i] & s[i])
		seen[i] |= s[i]
	}
}

// orGeneric and or2Generic are the plain forms of or and or2, and their twins
// in the tests.
func orGeneric(d, s []byte) {
	for ; len(d) >= 8; d, s = d[8:], s[8:] {
		le.PutUint64(d, le.Uint64(d)|le.Uint64(s))
	}
	for i := range d {
		d[i] |= s[i]
	}
}

func or2Generic(d, s, t []byte) {
	for ; len(d) >= 8; d, s, t = d[8:], s[8:], t[8:] {
		le.PutUint64(d, le.Uint64(d)|le.Uint64(s)|le.Uint64(t))
	}
	for i := range d {
		d[i] |= s[i] | t[i]
	}
}
