package event

import (
	"encoding/binary"
	"math/bits"
	"testing"
)

// Every byte at every place of a word, among neighbours that nearly match:
// the lowest flag must be exact.
func TestWordsExhaustively(t *testing.T) {
	isSpecial := func(c byte) bool { return c < ' ' || c == '"' || c == '\\' || c >= 0x80 }
	isNondigit := func(c byte) bool { return c < '0' || c > '9' }
	check := func(name string, word [8]byte, m uint64, is func(byte) bool) {
		t.Helper()
		want := 0
		for want < 8 && !is(word[want]) {
			want++
		}
		got := 8
		if m != 0 {
			got = bits.TrailingZeros64(m) >> 3
		}
		if got != want {
			t.Fatalf("%s(%q): first at %d, want %d", name, word, got, want)
		}
	}
	fills := []byte{' ', '!', '#', '[', ']', 'a', 0x7f, '0', '9', '5', 0, 0xff, '"', '\\', 0x80, 0xdc, 0xde}
	for _, before := range fills {
		for _, after := range fills {
			for at := range 8 {
				for c := range 256 {
					var word [8]byte
					for i := range word {
						word[i] = before
						if i > at {
							word[i] = after
						}
					}
					word[at] = byte(c)
					w := binary.LittleEndian.Uint64(word[:])
					check("special", word, special(w), isSpecial)
					check("nondigit", word, nondigit(w), isNondigit)
				}
			}
		}
	}
}
