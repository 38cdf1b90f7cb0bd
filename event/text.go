package event

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Strings and numbers, eight bytes at a time. A word is loaded little-endian,
// so the lowest flagged byte is the first in the document. A subtraction from
// all bytes at once may flag a byte wrongly, but only above a byte that is
// flagged rightly and lends the borrow. The same holds for additions. So the
// lowest flag is exact.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special flags the bytes of w that end the plain part of a string: the quote,
// the backslash, control characters, and everything beyond ASCII. With bit 1
// flipped, the quote (0x22) becomes 0x20, and the control characters stay below
// 0x20, so that exactly these lie below 0x21. Bytes of 0x80 and more keep their
// high bit through one subtraction or the other.
func special(w uint64) uint64 {
	quote, slash := w^ones*0x02, w^ones*'\\'
	return ((quote - ones*0x21) | (slash - ones)) & highs
}

// nondigit flags the bytes of w that are no decimal digit.
func nondigit(w uint64) uint64 {
	w ^= ones * '0'
	return ((w + ones*(0x80-10)) | w) & highs
}

// plain returns the index of the first special byte at or after i, or
// len(doc).
func plain(doc []byte, i int) int {
	for i+8 <= len(doc) {
		if m := special(binary.LittleEndian.Uint64(doc[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(doc) {
		if c := doc[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return i
		}
		i++
	}
	return i
}

// str reads a string from after its opening quote and returns the index of
// the closing one, and whether there is a backslash in between.
func (s *Scanner) str(i int) (end int, escaped bool) {
	doc, start, wide := s.doc, i, false
	for {
		if i = plain(doc, i); i >= len(doc) {
			// The document may end inside a character, which is a truncation and not
			// invalid UTF-8.
			return s.fail(len(doc), ErrTruncated), false
		}
		switch c := doc[i]; {
		case c == '"':
			if wide && !utf8.Valid(doc[start:i]) {
				return s.fail(start+invalidAt(doc[start:i]), ErrUTF8), false
			}
			return i, escaped
		case c == '\\':
			escaped = true
			if i+1 < len(doc) && doc[i+1] == '"' { // as of JSON in a text
				i += 2
				continue
			}
			n, err := escape(doc[i:])
			if err != nil {
				return s.fail(i, err), false
			}
			i += n
		case c < ' ':
			return s.fail(i, ErrControl), false
		default:
			wide = true
			for i < len(doc) && doc[i] >= utf8.RuneSelf {
				i++
			}
		}
	}
}

// invalidAt returns the index of the first byte of b that is not UTF-8.
func invalidAt(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		i += n
	}
	return i
}

// escape returns the length of the escape sequence that b begins with; a
// surrogate pair is one sequence. Halves of pairs are invalid.
func escape(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, ErrTruncated
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		u, err := hex4(b)
		if err != nil || !utf16.IsSurrogate(u) {
			return 6, err
		}
		low, err := hex4(b[6:])
		if err != nil {
			return 0, err
		}
		if utf16.DecodeRune(u, low) == utf8.RuneError {
			return 0, ErrEscape
		}
		return 12, nil
	}
	return 0, ErrEscape
}

// hex4 reads \uXXXX at the beginning of b.
func hex4(b []byte) (rune, error) {
	var r rune
	for k := range 6 {
		if k >= len(b) {
			return 0, ErrTruncated
		}
		c := b[k]
		switch {
		case k == 0 && c == '\\', k == 1 && c == 'u':
			continue
		case k < 2:
			return 0, ErrEscape
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, ErrEscape
		}
		r = r<<4 | rune(c)
	}
	return r, nil
}

// unescape returns the contents of a string that str has read, escapes
// resolved, as a view of s.text. Views taken before stay valid: when text has
// to grow, they keep the old array.
func (s *Scanner) unescape(body []byte) []byte {
	from := len(s.text)
	s.text = unescape(s.text, body)
	return s.text[from:len(s.text):len(s.text)]
}

// unescape appends the contents of a string, escapes resolved.
func unescape(t, body []byte) []byte {
	t = slices.Grow(t, len(body)+8)
	for i := 0; i < len(body); {
		// Eight bytes at a time, of which those before a backslash count.
		if i+8 <= len(body) {
			w := binary.LittleEndian.Uint64(body[i:])
			binary.LittleEndian.PutUint64(t[len(t):cap(t)], w)
			n := bits.TrailingZeros64(lowest(w, '\\')) >> 3
			t, i = t[:len(t)+n], i+n
			if n == 8 {
				continue
			}
		}
		c := body[i]
		if c != '\\' {
			t = append(t, c)
			i++
			continue
		}
		switch c = body[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(body[i:])
			i += 6
			if utf16.IsSurrogate(r) {
				low, _ := hex4(body[i:])
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			t = utf8.AppendRune(t, r)
			continue
		}
		t = append(t, c)
		i += 2
	}
	return t
}

// number reads a number and returns the index after it, or ^i with the index i
// of the fault.
func number(doc []byte, i int) int {
	if i < len(doc) && doc[i] == '-' {
		i++
	}
	start := i
	i = digits(doc, i)
	if i == start {
		return ^i
	}
	if doc[start] == '0' && i > start+1 {
		return ^(start + 1)
	}
	if i < len(doc) && doc[i] == '.' {
		start = i + 1
		if i = digits(doc, start); i == start {
			return ^i
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		start = i + 1
		if start < len(doc) && (doc[start] == '+' || doc[start] == '-') {
			start++
		}
		if i = digits(doc, start); i == start {
			return ^i
		}
	}
	return i
}

// numberFault tells a number cut off by the end from one that is wrong.
func numberFault(doc []byte, at int) error {
	if at >= len(doc) {
		return ErrTruncated
	}
	return ErrNumber
}

// digits returns the index of the first byte at or after i that is no digit.
func digits(doc []byte, i int) int {
	for i+8 <= len(doc) {
		if m := nondigit(binary.LittleEndian.Uint64(doc[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(doc) && doc[i]-'0' < 10 {
		i++
	}
	return i
}

// valid reports whether text is UTF-8. Most texts are short and ASCII, for which utf8.Valid
// costs a call that takes longer than the look.
func valid(text []byte) bool {
	i, all := 0, uint64(0)
	for ; i+8 <= len(text); i += 8 {
		all |= binary.LittleEndian.Uint64(text[i:])
	}
	for ; i < len(text); i++ {
		all |= uint64(text[i])
	}
	return all&highs == 0 || utf8.Valid(text)
}

// eightBytes returns the eight decimal digits of a number below 10^8, the first one in the lowest
// byte: the inverse of eightDigits, without the ASCII zeros. It splits the number into fours,
// then into pairs, then into digits; a division by a constant is a product and a shift.
func eightBytes(n uint64) uint64 {
	fours := n/10000 | n%10000<<32
	hundreds := fours * 10486 >> 20 & 0x0000007f0000007f
	pairs := (fours-hundreds*100)<<16 | hundreds
	tens := pairs * 103 >> 10 & 0x000f000f000f000f
	return (pairs-tens*10)<<8 | tens
}

// appendInteger is strconv.AppendInt for base 10, in half the time for numbers of up to 16
// digits.
func appendInteger(b []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		b, u = append(b, '-'), -u
	}
	if u >= 1e16 {
		return strconv.AppendUint(b, u, 10)
	}
	at := len(b)
	if cap(b)-at < 16 {
		b = slices.Grow(b, 16)
	}
	b = b[:at+16]
	first, rest := u, u
	if u >= 1e8 {
		first, rest = u/1e8, u%1e8
	}
	x := eightBytes(first)
	zeros := bits.TrailingZeros64(x|1<<56) >> 3 // in front
	binary.LittleEndian.PutUint64(b[at:], (x|ones*'0')>>(8*zeros))
	if at += 8 - zeros; u >= 1e8 {
		binary.LittleEndian.PutUint64(b[at:], eightBytes(rest)|ones*'0')
		at += 8
	}
	return b[:at]
}
