package hll

import "encoding/binary"

// packedBytes is the size of all registers at six bits each, in the order both
// Redis' dense strings and ClickHouse's states use: register i at bit 6·i,
// counted from the lowest bit of the first byte.
const packedBytes = Registers * rankBits / 8

// pack writes the registers at six bits each into the first packedBytes of b.
// Eight registers become one 48-bit word in three steps, each halving the gaps.
func (d *registers) pack(b []byte) {
	b = b[:packedBytes]
	for i := 0; i < Registers; i += 8 {
		w := binary.LittleEndian.Uint64(d[i : i+8])
		w = w&0x003f003f003f003f | w>>2&0x0fc00fc00fc00fc0
		w = w&0x00000fff00000fff | w>>4&0x00fff00000fff000
		w = w&0x0000000000ffffff | w>>8&0x0000ffffff000000
		o := b[i/8*6 : i/8*6+6]
		binary.LittleEndian.PutUint32(o, uint32(w))
		binary.LittleEndian.PutUint16(o[4:], uint16(w>>32))
	}
}

// unpack is the inverse of pack. Six bits hold ranks up to 63, so the caller
// must validate bytes from outside.
func (d *registers) unpack(b []byte) {
	b = b[:packedBytes]
	for i := 0; i < Registers; i += 8 {
		o := b[i/8*6 : i/8*6+6]
		w := uint64(binary.LittleEndian.Uint32(o)) | uint64(binary.LittleEndian.Uint16(o[4:]))<<32
		binary.LittleEndian.PutUint64(d[i:i+8], spread(w))
	}
}

// spread spreads eight 6-bit fields over the eight bytes of a word.
func spread(w uint64) uint64 {
	w = w&0x0000000000ffffff | w<<8&0x00ffffff00000000
	w = w&0x00000fff00000fff | w<<4&0x0fff00000fff0000
	w = w&0x003f003f003f003f | w<<2&0x3f003f003f003f00
	return w
}

// packedRaise lifts packed register i to rank r and tells what it was. A
// register may straddle two bytes.
func packedRaise(b []byte, i uint32, r uint8) (old uint8) {
	bit := i * rankBits
	p, s := bit/8, bit%8
	w := uint16(b[p])
	if s > 8-rankBits {
		w |= uint16(b[p+1]) << 8
	}
	old = uint8(w>>s) & (1<<rankBits - 1)
	if old >= r {
		return old
	}
	w = w&^(63<<s) | uint16(r)<<s
	b[p] = byte(w)
	if s > 8-rankBits {
		b[p+1] = byte(w >> 8)
	}
	return old
}

// packedHistogram counts packed registers by rank, rank 0 and ranks above
// MaxRank included.
func packedHistogram(b []byte) (h histogram) {
	b = b[:packedBytes]
	var a, c, d, e histogram
	for i := 0; i < packedBytes; i += 6 {
		o := b[i : i+6]
		w := uint64(binary.LittleEndian.Uint32(o)) | uint64(binary.LittleEndian.Uint16(o[4:]))<<32
		a[w&63]++
		c[w>>6&63]++
		d[w>>12&63]++
		e[w>>18&63]++
		a[w>>24&63]++
		c[w>>30&63]++
		d[w>>36&63]++
		e[w>>42&63]++
	}
	for r := range h {
		h[r] = a[r] + c[r] + d[r] + e[r]
	}
	return h
}
