package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A Unit says how a time is written in an event.
type Unit uint8

// The units.
const (
	Seconds    Unit = iota // a number of seconds since the Unix epoch
	Millis                 // of milliseconds
	Micros                 // of microseconds
	Nanos                  // of nanoseconds
	RFC3339                // a string as in RFC 3339
	ISO8601                // a string in that form or one that is near it
	RecordTime             // no value of the event: the timestamp of its Kafka record
)

var unitNames = [...]string{"s", "ms", "us", "ns", "rfc3339", "iso8601", "record"}

// Units returns the names of all units.
func Units() []string { return unitNames[:] }

// String returns the unit's name in a configuration.
func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return "unknown"
}

// ParseUnit returns the unit of that name.
func ParseUnit(name string) (Unit, error) {
	for i, n := range unitNames {
		if n == name {
			return Unit(i), nil
		}
	}
	return 0, fmt.Errorf("event: unknown time unit %q: want %s", name, strings.Join(unitNames[:], ", "))
}

// maxTime is the last millisecond of the year 9999. Times beyond it, or as
// far on the other side of the epoch, are refused: nothing downstream could
// write them.
const maxTime Time = 253402300799999

// scale is the power of ten from a unit to milliseconds.
var scale = [...]int{Seconds: 3, Millis: 0, Micros: -3, Nanos: -6}

// Time returns the value as a time. For the numeric units it must be
// Numeric: any JSON number, fraction and exponent included, is taken exactly
// and rounded down to the millisecond, so that 1763600000.5 seconds and
// 1.7636000005e9 are the same time, and -1 microseconds is millisecond -1.
// For RFC3339 and ISO8601 it must be a string. Times beyond the year 9999 in
// either direction are refused. No value is a time in the unit RecordTime.
func (v Value) Time(u Unit) (Time, bool) { return v.TimeIn(u, nil) }

// TimeIn returns the value as a time. A text of the unit ISO8601 that has no offset is one of the zone; nil is UTC.
func (v Value) TimeIn(u Unit, z *Zone) (Time, bool) {
	if b := v.Bytes; v.Type == Number && u == Millis && len(b) == 13 { // as most times from 2001 to 2286 are
		head, tail := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[5:])
		if nondigit(head)|nondigit(tail) == 0 {
			return Time(eightDigits(head<<24|ones*'0'>>40)*1e8 + eightDigits(tail)), true
		}
	}
	if u == RFC3339 || u == ISO8601 {
		if v.Type != String {
			return 0, false
		}
		if u == ISO8601 {
			if t, ok := parseISO8601(v.Bytes, z); ok {
				return t, true
			}
			var room [64]byte
			return parseISO8601(foreignTime(room[:0], v.Bytes), z)
		}
		return parseRFC3339(v.Bytes)
	}
	if int(u) >= len(scale) || v.Type != Integer && !v.Numeric() {
		return 0, false
	}
	var t int64
	if v.Type == Integer {
		t = int64(binary.LittleEndian.Uint64(v.Bytes))
	} else if n, ok := plainInt(v.Bytes); ok {
		t = n
	} else {
		return decimalTime(v.Bytes, scale[u])
	}
	switch u {
	case Seconds:
		if t > int64(maxTime) || t < -int64(maxTime) {
			return 0, false
		}
		t *= 1000
	case Micros:
		t = floorDiv(t, 1000)
	case Nanos:
		t = floorDiv(t, 1000000)
	}
	return Time(t), Time(t) <= maxTime && Time(t) >= -maxTime
}

func floorDiv(n, d int64) int64 {
	q := n / d
	if n%d < 0 {
		q--
	}
	return q
}

// plainInt reads an integer of up to 18 digits. It returns false for any other
// number, which decimalTime then reads.
func plainInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	if len(b) <= 8 && cap(b) >= 8 {
		// One word, from which the bytes behind the number are shifted out. Zeros in front take
		// their place, and no branch depends on how many digits there are.
		w := binary.LittleEndian.Uint64(b[:8])<<(64-8*len(b)) | ones*'0'>>(8*len(b))
		if nondigit(w) != 0 {
			return 0, false
		}
		n := eightDigits(w)
		if neg {
			n = -n
		}
		return n, true
	}
	var n int64
	if k := len(b) - 8; k > 0 && k < 8 {
		// The last eight digits, and the k before them with zeros in front: a time in
		// milliseconds has 13.
		head, tail := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[k:])
		if nondigit(head)|nondigit(tail) != 0 {
			return 0, false
		}
		zeros := uint64(ones*'0') >> (8 * k)
		n, b = eightDigits(head<<(64-8*k)|zeros)*1e8+eightDigits(tail), nil
	}
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if nondigit(w) != 0 {
			return 0, false
		}
		n, b = n*1e8+eightDigits(w), b[8:]
	}
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if neg {
		n = -n
	}
	return n, true
}

// eightDigits returns the number that eight ASCII digits make, the first of them in
// the lowest byte. It combines neighbours to pairs, then to fours, then to
// eight.
func eightDigits(w uint64) int64 {
	w -= ones * '0'
	w = (w*10 + w>>8) & 0x00ff00ff00ff00ff
	w = (w*100 + w>>16) & 0x0000ffff0000ffff
	return int64((w*10000 + w>>32) & 0xffffffff)
}

// decimalTime reads any number and shifts it by 10^shift to milliseconds.
func decimalTime(b []byte, shift int) (Time, bool) {
	d, ok := readDecimal(b)
	if !ok || d.digits == 0 {
		return 0, ok
	}
	// A time has at most 15 digits, so all of its digits are among the 18.
	if d.point+shift > 15 {
		return 0, false
	}
	t, exact := Time(d.digits), d.exact
	e := d.exp + shift
	for ; e > 0; e-- {
		t *= 10
	}
	for ; e < 0 && t != 0; e++ {
		exact = exact && t%10 == 0
		t /= 10
	}
	if d.neg {
		t = -t
		if !exact {
			t--
		}
	}
	return t, t <= maxTime && t >= -maxTime
}

// parseRFC3339 reads a date-time of RFC 3339, section 5.6, such as
// 2026-11-20T10:05:00.123+01:00. The letters may be in lower case. The fraction
// may have any number of digits, and is cut to milliseconds. A blank instead of
// the T, and leap seconds (:60), are refused.
func parseRFC3339(b []byte) (Time, bool) {
	if len(b) < len("2006-01-02T15:04:05Z") || b[10]|0x20 != 't' || b[16] != ':' {
		return 0, false
	}
	days, ok := date(b)
	minutes, ok := clock(b, ok)
	second, ok := field2(b, 17, 59, ok)
	i, ms := 19, Time(0)
	if b[i] == '.' {
		ms, i, ok = fraction(b, i+1, ok)
	}
	offset, ok := zone(b[i:], ok)
	t := (Time(days*24*60+minutes-offset)*60+Time(second))*1000 + ms
	return t, ok && t <= maxTime && t >= -maxTime
}

// parseISO8601 reads what parseRFC3339 reads, and the forms of ISO 8601 and of
// databases that are near it: a blank instead of the T, a comma in front of the
// fraction, an offset without its colon (+0200) or without minutes (+02), a time
// without seconds, a time without an offset, which is one of the zone, and a date alone,
// which is its midnight there.
func parseISO8601(b []byte, z *Zone) (Time, bool) {
	const day, minute = len("2006-01-02"), len("2006-01-02T15:04")
	if len(b) < day || len(b) > day && len(b) < minute {
		return 0, false
	}
	days, ok := date(b)
	if len(b) == day {
		return z.UTC(Time(days) * 24 * 3600 * 1000), ok
	}
	minutes, ok := clock(b, ok && (b[10]|0x20 == 't' || b[10] == ' '))
	i, second, ms := minute, 0, Time(0)
	if i+3 <= len(b) && b[i] == ':' {
		second, ok = field2(b, 17, 59, ok)
		if i = 19; i < len(b) && (b[i] == '.' || b[i] == ',') {
			ms, i, ok = fraction(b, i+1, ok)
		}
	}
	t := (Time(days*24*60+minutes)*60+Time(second))*1000 + ms
	if i == len(b) {
		t = z.UTC(t)
	} else {
		offset := 0
		offset, ok = nearZone(b[i:], ok)
		t -= Time(offset) * 60 * 1000
	}
	return t, ok && t <= maxTime && t >= -maxTime
}

// foreignTime appends a time in the form that parseISO8601 reads, of one in a form that other systems print:
//
//	2026-11-20 10:05:00 +0100, 2026-11-20 10:05:00 UTC   Ruby, Go, Snowflake, BigQuery
//	2026-11-20T10:05:00Z[UTC]                            Java's ZonedDateTime
//	Fri, 20 Nov 2026 10:05:00 GMT                        HTTP
//	20261120T100500Z                                     the basic form of ISO 8601
//
// It returns nil for any other text.
func foreignTime(to, b []byte) []byte {
	const httpDate, months = len("Fri, 20 Nov 2026 10:05:00 GMT"), "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(b) > 48 {
		return nil
	}
	if len(b) == httpDate && b[3] == ',' && b[7] == ' ' && b[11] == ' ' && b[16] == ' ' && string(b[25:]) == " GMT" {
		month := strings.Index(months, string(b[8:11]))
		if month < 0 || month%3 != 0 {
			return nil
		}
		month = month/3 + 1
		to = append(append(to, b[12:16]...), '-', '0'+byte(month/10), '0'+byte(month%10), '-')
		return append(append(append(append(to, b[5:7]...), 'T'), b[17:25]...), 'Z')
	}
	if len(b) >= len("20061102T150405") && b[8]|0x20 == 't' && digits(b, 0) == 8 && digits(b, 9) >= 15 {
		to = append(append(append(to, b[:4]...), '-'), b[4:6]...)
		to = append(append(append(append(to, '-'), b[6:8]...), 'T'), b[9:11]...)
		to = append(append(append(append(to, ':'), b[11:13]...), ':'), b[13:15]...)
		return append(to, b[15:]...)
	}
	if n := bytes.LastIndexByte(b, '['); n > 0 && b[len(b)-1] == ']' {
		b = b[:n]
	}
	n := len(b)
	if n > 4 && (string(b[n-4:]) == " UTC" || string(b[n-4:]) == " GMT") {
		return append(append(to, b[:n-4]...), 'Z')
	}
	if at := bytes.LastIndexByte(b, ' '); at >= len("2006-01-02T15:04") && at+1 < n && (b[at+1] == '+' || b[at+1] == '-') {
		return append(append(to, b[:at]...), b[at+1:]...)
	}
	return append(to, b...)
}

// date reads a date such as 2006-01-02 as days since the epoch. Whether b has so
// many bytes must be known.
func date(b []byte) (days int, ok bool) {
	year, ok := field2(b, 0, 99, b[4] == '-' && b[7] == '-')
	cent, ok := field2(b, 2, 99, ok)
	year = year*100 + cent
	month, ok := field2(b, 5, 12, ok)
	day, ok := field2(b, 8, 31, ok)
	if !ok || month == 0 || day == 0 || day > daysIn(year, month) {
		return 0, false
	}
	return daysSinceEpoch(year, month, day), true
}

// clock reads the hour and the minute behind a date and a T, in minutes.
func clock(b []byte, ok bool) (int, bool) {
	hour, ok := field2(b, 11, 23, ok && b[13] == ':')
	minute, ok := field2(b, 14, 59, ok)
	return hour*60 + minute, ok
}

// fraction reads the digits from index i, at least one, in milliseconds. It returns the
// index behind them.
func fraction(b []byte, i int, ok bool) (ms Time, end int, good bool) {
	end = digits(b, i)
	for k := range 3 {
		ms *= 10
		if i+k < end {
			ms += Time(b[i+k] - '0')
		}
	}
	return ms, end, ok && end > i
}

// zone reads the offset at the end of a date-time, in minutes.
func zone(b []byte, ok bool) (int, bool) {
	if len(b) == 1 {
		return 0, ok && b[0]|0x20 == 'z'
	}
	if len(b) != 6 || b[3] != ':' {
		return 0, false
	}
	return offset(b, 4, ok)
}

// nearZone reads an offset that may lack its colon or its minutes.
func nearZone(b []byte, ok bool) (int, bool) {
	switch len(b) {
	case 3:
		return offset(b, 0, ok)
	case 5:
		return offset(b, 3, ok)
	}
	return zone(b, ok)
}

// offset reads the sign and the hours of an offset, and the minutes at an index;
// 0 for none.
func offset(b []byte, at int, ok bool) (int, bool) {
	hour, ok := field2(b, 1, 23, ok && (b[0] == '+' || b[0] == '-'))
	minute := 0
	if at > 0 {
		minute, ok = field2(b, at, 59, ok)
	}
	if b[0] == '-' {
		return -(hour*60 + minute), ok
	}
	return hour*60 + minute, ok
}

// field2 reads the two digits at i. It returns false if they are not a number
// up to most, or if ok is false already.
func field2(b []byte, i, most int, ok bool) (int, bool) {
	d, u := b[i]-'0', b[i+1]-'0'
	n := int(d)*10 + int(u)
	return n, ok && d < 10 && u < 10 && n <= most
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSinceEpoch counts in the proleptic Gregorian calendar, years 0 to 9999.
// The year is taken to begin in March, so that the leap day is its last and
// the days before a month follow the line (153m+2)/5.
func daysSinceEpoch(year, month, day int) int {
	m := (month + 9) % 12
	if month < 3 {
		year--
	}
	year += 400 // no division of a negative number
	days := year*365 + year/4 - year/100 + year/400 + (153*m+2)/5 + day - 1
	const epoch = 719468 + 146097 // 1970-01-01, counted from 0000-03-01, and the 400 years
	return days - epoch
}
