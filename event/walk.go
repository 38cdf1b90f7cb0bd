package event

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"strconv"
)

// A walk follows a program through the bytes of a value, and makes values of the types of
// binary formats. A number becomes the text that it has in JSON, 1 for 1.0, so that a job does
// not split its groups when a producer changes the format. Bytes become base64, as in the JSON
// of Protobuf.
type walk struct {
	data []byte
	vals []Value
	err  error
	time int         // index of the value that is read by Value.Time alone, and 1; 0: there is none
	each *eachReader // notes the events of a record; nil: this is no walk around them

	// Of messages, by protoAction.counter.
	counts []int       // elements so far
	times  []protoTime // parts so far

	*scratch
}

// begin readies the walk for a value.
func (w *walk) begin(data []byte, vals []Value) {
	w.data, w.vals, w.err = data, vals, nil
	clear(vals)
}

// end forgets the value.
func (w *walk) end() { w.data, w.vals = nil, nil }

// fail notes a fault.
func (w *walk) fail(err error) int {
	w.err = err
	return -1
}

// clear makes values missing.
func (w *walk) clear(slots []int) {
	for _, slot := range slots {
		w.vals[slot] = Value{}
	}
}

// long reads a zigzag varint at i and returns the index after it, or -1 after noting the
// fault.
func (w *walk) long(i int) (int64, int) {
	if uint(i) < uint(len(w.data)) && w.data[i] < 0x80 {
		c := w.data[i]
		return int64(c>>1) ^ -int64(c&1), i + 1
	}
	n, end := zigzagAt(w.data, i)
	if end < 0 {
		if len(w.data)-i >= binary.MaxVarintLen64 {
			return 0, w.fail(ErrAvroVarint)
		}
		return 0, w.fail(ErrAvroEnd)
	}
	return n, end
}

// length reads a length that fits into the value, as long does.
func (w *walk) length(i int) (int, int) {
	n, i := w.long(i)
	switch {
	case i < 0:
		return 0, -1
	case n < 0:
		return 0, w.fail(ErrAvroLength)
	case n > int64(len(w.data)-i):
		return 0, w.fail(ErrAvroEnd)
	}
	return int(n), i
}

// number sets a value to the number whose text has been appended to w.text from index from on.
func (w *walk) number(slot, from int) {
	w.vals[slot] = Value{Number, w.text[from:len(w.text):len(w.text)]}
}

func (w *walk) integer(slot int, n int64) {
	from := len(w.text)
	if slot == w.time-1 {
		w.text = binary.LittleEndian.AppendUint64(w.text, uint64(n))
		w.vals[slot] = Value{Integer, w.text[from:len(w.text):len(w.text)]}
		return
	}
	w.text = appendInteger(w.text, n)
	w.number(slot, from)
}

var (
	textTrue  = []byte("true")
	textFalse = []byte("false")
	textNaN   = []byte("NaN")
	textPlus  = []byte("Infinity")
	textMinus = []byte("-Infinity")
)

func (w *walk) boolean(slot int, b bool) {
	if w.vals[slot] = (Value{Bool, textFalse}); b {
		w.vals[slot].Bytes = textTrue
	}
}

// float sets a value to the shortest decimal that is the number at its size in bits, in the
// form of ECMAScript (ECMA-262, Number::toString). What is no number in JSON becomes a text.
func (w *walk) float(slot int, f float64, size int) {
	switch {
	case math.IsNaN(f):
		w.vals[slot] = Value{String, textNaN}
		return
	case math.IsInf(f, 1):
		w.vals[slot] = Value{String, textPlus}
		return
	case math.IsInf(f, -1):
		w.vals[slot] = Value{String, textMinus}
		return
	case f == math.Trunc(f) && (math.Abs(f) < 1<<24 || size == 64 && math.Abs(f) < 1<<53): // all digits count
		w.integer(slot, int64(f)) // -0 becomes 0
		return
	}
	from, format := len(w.text), byte('f')
	if a := math.Abs(f); a >= 1e21 || size == 64 && a < 1e-6 || size == 32 && float32(a) < 1e-6 {
		format = 'e'
	}
	w.text = strconv.AppendFloat(w.text, f, format, -1, size)
	if n := len(w.text); format == 'e' && w.text[n-4] == 'e' && w.text[n-2] == '0' { // 1e-07
		w.text[n-2] = w.text[n-1]
		w.text = w.text[:n-1]
	}
	w.number(slot, from)
}

func (w *walk) base64(slot int, b []byte) {
	from := len(w.text)
	w.text = base64.StdEncoding.AppendEncode(w.text, b)
	w.vals[slot] = Value{String, w.text[from:len(w.text):len(w.text)]}
}

func (w *walk) uuid(slot int, b []byte) {
	from := len(w.text)
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:16]} {
		if i > 0 {
			w.text = append(w.text, '-')
		}
		w.text = hex.AppendEncode(w.text, part)
	}
	w.vals[slot] = Value{String, w.text[from:len(w.text):len(w.text)]}
}

// maxDecimal is the length of the longest decimal that is read, in bytes: 76 digits, as those
// of ClickHouse.
const maxDecimal = 32

// decimal sets a value to unscaled × 10^-scale, exactly and without zeros at the end. unscaled
// is two's complement, the highest byte first, of at most maxDecimal bytes.
func (w *walk) decimal(slot int, unscaled []byte, scale int) {
	var limbs [maxDecimal / 8]uint64 // the lowest first
	negative := len(unscaled) > 0 && unscaled[0] >= 0x80
	var padded [maxDecimal]byte
	if negative {
		for i := range padded {
			padded[i] = 0xff
		}
	}
	copy(padded[maxDecimal-len(unscaled):], unscaled)
	carry := uint64(1)
	for i := range limbs {
		limbs[i] = binary.BigEndian.Uint64(padded[maxDecimal-8-8*i:])
		if negative {
			limbs[i], carry = bits.Add64(^limbs[i], 0, carry)
		}
	}
	var digits [MaxScale + 80]byte // the lowest last
	at := len(digits)
	for limbs != [len(limbs)]uint64{} {
		rest := uint64(0)
		for i := len(limbs) - 1; i >= 0; i-- {
			limbs[i], rest = bits.Div64(rest, limbs[i], 10)
		}
		at--
		digits[at] = '0' + byte(rest)
	}
	for len(digits)-at <= scale {
		at--
		digits[at] = '0'
	}
	whole, fraction := digits[at:len(digits)-scale], digits[len(digits)-scale:]
	for len(fraction) > 0 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	from := len(w.text)
	if negative {
		w.text = append(w.text, '-')
	}
	w.text = append(w.text, whole...)
	if len(fraction) > 0 {
		w.text = append(append(w.text, '.'), fraction...)
	}
	w.number(slot, from)
}

// MaxScale is the greatest scale of a decimal that is read as a number.
const MaxScale = 76

// rfc3339 sets a value to a time as RFC 3339 has it, in UTC, with 0, 3, 6 or 9 digits of the
// second, as in the JSON of Protobuf. A time before the year 1 or after 9999, or with
// nanoseconds out of range, has no such text; then the value is composite.
func (w *walk) rfc3339(slot int, seconds, nanos int64) {
	const first, last = -62135596800, 253402300799
	if seconds < first || seconds > last || nanos < 0 || nanos > 999_999_999 {
		w.vals[slot] = Value{Type: Composite}
		return
	}
	days := floorDiv(seconds, 86400)
	rest := seconds - days*86400
	// The inverse of daysSinceEpoch: years begin in March, in cycles of 400.
	d := days + 719468
	era := floorDiv(d, 146097)
	d -= era * 146097
	year := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*year + year/4 - year/100
	month := (5*d + 2) / 153
	day := d - (153*month+2)/5 + 1
	if year += era * 400; month < 10 {
		month += 3
	} else {
		month -= 9
		year++
	}
	from := len(w.text)
	digits := func(n int64, count int, behind byte) {
		at := len(w.text)
		w.text = append(w.text, "000000000"[:count]...)
		for i := at + count - 1; i >= at; i-- {
			w.text[i] = '0' + byte(n%10)
			n /= 10
		}
		w.text = append(w.text, behind)
	}
	digits(year, 4, '-')
	digits(month, 2, '-')
	digits(day, 2, 'T')
	digits(rest/3600, 2, ':')
	digits(rest/60%60, 2, ':')
	switch {
	case nanos == 0:
		digits(rest%60, 2, 'Z')
	case nanos%1_000_000 == 0:
		digits(rest%60, 2, '.')
		digits(nanos/1_000_000, 3, 'Z')
	case nanos%1000 == 0:
		digits(rest%60, 2, '.')
		digits(nanos/1000, 6, 'Z')
	default:
		digits(rest%60, 2, '.')
		digits(nanos, 9, 'Z')
	}
	w.vals[slot] = Value{String, w.text[from:len(w.text):len(w.text)]}
}
