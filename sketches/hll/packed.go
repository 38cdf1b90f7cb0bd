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

// unpack is the inverse of pack. Six bits hold ranks up to 63, so what came
// from outside must be validated.
func (d *registers) unpack(b []byte) {
	b = b[:packedBytes]
	for i := 0; i < Registers; i += 8 {
		o := b[i/8*6 : i/8*6+6]
		w := uint64(binary.LittleEndian.Uint32(o)) | uint64(binary.LittleEndian.Uint16(o[4:]))<<32
		binary.LittleEndian.PutUint64(d[i:i+8], spread(w))
	}
}

// spread is one word of unpack: eight 6-bit fields to eight bytes.
func spread(w uint64) uint64 {
	w = w&0x0000000000ffffff | w<<8&0x00ffffff00000000
	w = w&0x00000fff00000fff | w<<4&0x0fff00000fff0000
	w = w&0x003f003f003f003f | w<<2&0x3f003f003f003f00
	return w
}

// packedSet writes rank r over the zero register i of packed registers. A
// register may straddle two bytes.
func packedSet(b []byte, i uint32, r uint8) {
	bit := i * rankBits
	p, s := bit/8, bit%8
	b[p] |= r << s
	if s > 8-rankBits {
		b[p+1] |= r >> (8 - s)
	}
}
