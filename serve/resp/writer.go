package resp

import (
	"math"
	"strconv"
	"strings"
)

// A Writer gathers replies. The zero value speaks RESP2.
//
// Array, Map and Set write a length; the caller must then write that many replies
// (for a map twice as many).
type Writer struct {
	buf  []byte
	v3   bool
	most int
	over bool
}

// SetVersion chooses RESP3 for 3 and RESP2 for anything else, from the next
// reply on.
func (w *Writer) SetVersion(v int) { w.v3 = v == 3 }

// Version returns 2 or 3.
func (w *Writer) Version() int {
	if w.v3 {
		return 3
	}
	return 2
}

// Bytes returns everything written since Reset. It is valid until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns the length of Bytes.
func (w *Writer) Len() int { return len(w.buf) }

// Limit bounds the length of Bytes. A reply that would exceed it is dropped, and so are all
// after it until Reset: see Over. 0 is no limit.
func (w *Writer) Limit(most int) { w.most = most }

// Over reports whether replies were dropped because of the limit.
func (w *Writer) Over() bool { return w.over }

const (
	writerIdle  = 16 << 10 // how much memory an empty Writer keeps
	writerSmall = 1 << 10  // what Held does not count
)

// Held returns how many bytes the Writer keeps beyond the little that every connection
// needs.
func (w *Writer) Held() int {
	if cap(w.buf) <= writerSmall {
		return 0
	}
	return cap(w.buf)
}

// Reset drops everything, and frees the memory if it is more than writerIdle.
func (w *Writer) Reset() {
	if cap(w.buf) > writerIdle {
		w.buf = nil
	}
	w.buf, w.over = w.buf[:0], false
}

// fits reports whether n bytes more are within the limit.
func (w *Writer) fits(n int) bool {
	w.over = w.over || w.most > 0 && len(w.buf)+n > w.most
	return !w.over
}

func (w *Writer) head(kind byte, n int64) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.buf = append(w.buf, '\r', '\n')
}

func (w *Writer) text(kind byte, s string) {
	w.buf = append(w.buf, kind)
	at := len(w.buf)
	w.buf = append(w.buf, s...)
	if strings.IndexByte(s, '\r') >= 0 || strings.IndexByte(s, '\n') >= 0 { // a line must not contain line ends
		for i, c := range w.buf[at:] {
			if c == '\r' || c == '\n' {
				w.buf[at+i] = ' '
			}
		}
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Status writes a simple string such as OK.
func (w *Writer) Status(s string) { w.text('+', s) }

// Error writes an error; by convention its first word, in capitals, is its kind. A
// long text, which quotes the peer, is cut.
func (w *Writer) Error(s string) { w.text('-', s[:min(len(s), errorMost)]) }

const errorMost = 4 << 10

// Int writes an integer.
func (w *Writer) Int(n int64) {
	if uint64(n) < 10 { // the most frequent replies
		w.buf = append(w.buf, ':', '0'+byte(n), '\r', '\n')
		return
	}
	w.head(':', n)
}

// Bulk writes a string of any bytes.
func (w *Writer) Bulk(b []byte) { bulk(w, b) }

// BulkString is Bulk for a string.
func (w *Writer) BulkString(s string) { bulk(w, s) }

func bulk[T string | []byte](w *Writer, text T) {
	if !w.fits(len(text)) {
		return
	}
	w.head('$', int64(len(text)))
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// Text is Bulk, but marked in RESP3 as plain text, which clients print as it is.
func (w *Writer) Text(s string) {
	if !w.v3 {
		w.BulkString(s)
		return
	}
	w.head('=', int64(len(s))+4)
	w.buf = append(w.buf, "txt:"...)
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// either writes one of two texts, by the version.
func (w *Writer) either(three, two string) {
	if w.v3 {
		w.buf = append(w.buf, three...)
	} else {
		w.buf = append(w.buf, two...)
	}
}

// Null writes a missing string in RESP2, and any missing value in RESP3.
func (w *Writer) Null() { w.either("_\r\n", "$-1\r\n") }

// NullArray writes a missing array.
func (w *Writer) NullArray() { w.either("_\r\n", "*-1\r\n") }

// Array announces n replies.
func (w *Writer) Array(n int) { w.head('*', int64(n)) }

// Map announces n pairs of replies; in RESP2 they are an array.
func (w *Writer) Map(n int) {
	if w.v3 {
		w.head('%', int64(n))
	} else {
		w.head('*', 2*int64(n))
	}
}

// Set announces n replies without an order; in RESP2 they are an array.
func (w *Writer) Set(n int) {
	if w.v3 {
		w.head('~', int64(n))
	} else {
		w.head('*', int64(n))
	}
}

// Bool writes true or false; 1 or 0 in RESP2.
func (w *Writer) Bool(b bool) {
	if b {
		w.either("#t\r\n", ":1\r\n")
	} else {
		w.either("#f\r\n", ":0\r\n")
	}
}

// Number writes a floating-point number by its text; a string in RESP2.
func (w *Writer) Number(text []byte) {
	if !w.v3 {
		w.Bulk(text)
		return
	}
	w.buf = append(w.buf, ',')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// Double writes a floating-point number. Its text is the shortest that reads as the
// same number.
func (w *Writer) Double(v float64) {
	var room [32]byte
	text := room[:0]
	switch {
	case math.IsInf(v, 1):
		text = append(text, "inf"...)
	case math.IsInf(v, -1):
		text = append(text, "-inf"...)
	default:
		text = strconv.AppendFloat(text, v, 'g', -1, 64)
	}
	w.Number(text)
}
