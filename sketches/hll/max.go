package hll

import "encoding/binary"

// maxWords raises each register of d to that of s, in plain Go. It works on eight
// registers at a time: ranks are below 128, so the top bit of each byte is free for the
// result of the comparison.
func maxWords(d, s *registers) {
	const top = 0x8080808080808080
	for i := 0; i < Registers; i += 8 {
		a := binary.LittleEndian.Uint64(d[i : i+8])
		b := binary.LittleEndian.Uint64(s[i : i+8])
		ge := ((a | top) - b) & top // where a >= b
		keep := ge - ge>>7          // 0x7f there
		binary.LittleEndian.PutUint64(d[i:i+8], b^((a^b)&keep))
	}
}

// maxPacked raises each register of d to that of the packed ones, in plain Go.
func maxPacked(d *registers, b []byte) {
	var s registers
	s.unpack(b)
	maxWords(d, &s)
}
