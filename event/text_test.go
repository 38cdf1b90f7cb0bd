package event

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
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

// TestAppendInteger compares with strconv at the edges of all lengths, and on random numbers.
func TestAppendInteger(t *testing.T) {
	check := func(n int64) {
		t.Helper()
		if got, want := string(appendInteger([]byte("x"), n)), "x"+strconv.FormatInt(n, 10); got != want {
			t.Fatalf("%d is written as %s", n, got)
		}
	}
	for n := int64(1); n > 0 && n < math.MaxInt64/10; n *= 10 {
		for d := int64(-2); d <= 2; d++ {
			check(n + d)
			check(-n - d)
			check(9*n + d)
		}
	}
	for _, n := range []int64{0, math.MaxInt64, math.MinInt64} {
		check(n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(int64(r.Uint64()) >> r.IntN(64))
	}
	for n := range int64(20_000) {
		check(n)
		check(n * 1000)
	}
}
