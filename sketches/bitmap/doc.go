// Package bitmap holds sets of bit numbers, in the three forms that weir needs.
//
// Redis bitmaps are plain byte strings; the functions on []byte do what the
// commands of the same name do, with the same bytes and error texts (Redis 7.0
// to 7.2, and the four BITOP operations of 8.2):
//
//	b, old := bitmap.SetBit(nil, 7, 1)   // SETBIT; b is []byte{0x01}
//	n := bitmap.Count(b)                 // BITCOUNT
//	b, err := bitmap.Op(nil, bitmap.Or, x, y) // BITOP OR
//
// An [Activity] is one sparse bitmap, on Roaring, for example the users that
// were active on a day, with unions and intersections.
//
// A [Pool] is very many sets, most of them small: one per open (window, group).
//
// Bits are numbered as Redis numbers them: bit 0 is the most significant bit of
// byte 0. All three forms are exact; none is safe for concurrent use, and none
// keeps a slice that the caller passed in.
package bitmap
