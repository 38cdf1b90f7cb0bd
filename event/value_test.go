package event

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func num(s string) Value { return Value{Number, []byte(s)} }
func str(s string) Value { return Value{String, []byte(s)} }

// notNumbers are values that are not numbers.
var notNumbers = []Value{{}, {Type: Null}, {Bool, []byte("true")}, {Composite, []byte("[1]")}, {Composite, []byte("{}")}}

func TestUint32(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint32
		ok   bool
	}{
		{"0", 0, true}, {"1", 1, true}, {"81234", 81234, true},
		{"4294967295", math.MaxUint32, true}, {"4294967296", 0, false}, {"9999999999", 0, false},
		{"10000000000", 0, false}, {"18446744073709551616", 0, false},
		{"-0", 0, false}, {"-1", 0, false}, {"1.0", 0, false}, {"1e3", 0, false},
		{"1:", 0, false}, {"1/", 0, false},
	} {
		for _, v := range []Value{num(c.text), str(c.text)} {
			if got, ok := v.Uint32(); ok != c.ok || ok && got != c.want {
				t.Errorf("%v %q: Uint32 = %d, %v, want %d, %v", v.Type, c.text, got, ok, c.want, c.ok)
			}
		}
	}
	for _, v := range append(notNumbers, str(""), str("01"), str("00"), str(" 1"), str("+1"), str("x")) {
		if got, ok := v.Uint32(); ok {
			t.Errorf("%v %q: Uint32 = %d", v.Type, v.Bytes, got)
		}
	}
}

// numbers are texts of JSON numbers, the awkward ones and random ones.
func numbers(r *rand.Rand, n int) []string {
	texts := []string{
		"0", "-0", "0.0", "-0.000", "0e999999999999999999999", "1", "-1", "9007199254740992", "9007199254740993",
		"999999999999999999", "-999999999999999999", "1000000000000000000", "123456789012345678901234567890",
		"1e22", "1e23", "1e-22", "1e-23", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308",
		"9.99e308", "1e309", "-1e309", "1e400", "1e99999999999999999999", "5e-324", "2e-324", "1e-400", "1e-99999999999999999999",
		"0.1", "0.30000000000000004", "38.115556", "13.361389", "-85.05112878", "0.000000000000000000000000000000000001",
		"1763600000123", "1763600000.123", "1.7636e9", "1.763600000123E+12", "1763600000123.999999999999999999999999",
		"253402300799.999", "253402300799.9999", "253402300800", "-253402300799.999", "-253402300799.9990001",
		"253402300799999", "253402300800000", "-253402300799999", "-253402300800000", "253402300799999.5", "-253402300799999.5",
		"0.0004", "0.0005", "-0.0004", "-0.0001", "-0.001", "-1e-30", "1e-30", "1e15", "1e14", "-1000000", "-1000001", "-1",
		"1" + strings.Repeat("0", 400), "1" + strings.Repeat("0", 400) + "e-400", "0." + strings.Repeat("0", 400) + "1e401",
		"99999999999999999950", "18446744073709552", "-18446744073709552", // seconds that overflow to a good time
		"999999999999999999.5e-5", "100000000000000000000000000000e-20",
	}
	digits := func(most int) string {
		b := make([]byte, 1+r.IntN(most))
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
			if r.IntN(3) == 0 {
				b[i] = '0'
			}
		}
		return string(b)
	}
	for range n {
		s := strings.TrimLeft(digits(22), "0")
		if s == "" {
			s = "0"
		}
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		if r.IntN(2) == 0 {
			s += "." + digits(22)
		}
		if r.IntN(2) == 0 {
			s += []string{"e", "E", "e-", "E+"}[r.IntN(4)] + digits(2)
		}
		texts = append(texts, s)
	}
	return texts
}

func TestFloatAgainstStrconv(t *testing.T) {
	for _, text := range numbers(rand.New(rand.NewPCG(3, 4)), 8000) {
		want, err := strconv.ParseFloat(text, 64)
		got, ok := num(text).Float()
		if of, is := str(text).Float(); ok != is || of != got {
			t.Fatalf("%s in a text: Float = %v, %v", text, of, is)
		}
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: Float = %v, %v, want %v, %v", text, got, ok, want, err)
		}
	}
	for _, v := range append(notNumbers, str(""), str(" 1"), str("1 "), str("+1"), str("01"), str("1,5"), num(""), num("NaN"), num("-"), num("1."), num("0x1"), num("1_0"), num("Inf"), num("01"), num("-01")) {
		if got, ok := v.Float(); ok {
			t.Errorf("%v %q: Float = %v", v.Type, v.Bytes, got)
		}
	}
}

// bigTime is Time by rational arithmetic.
func bigTime(text string, scale int) (Time, bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i:], "eE+-0")) > 4 {
		zero := strings.Trim(text[:i], "-0.") == ""
		if strings.Contains(text[i:], "-") && text[0] == '-' && !zero {
			return -1, true
		}
		return 0, strings.Contains(text[i:], "-") || zero
	}
	q, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	ten := new(big.Rat).SetInt64(10)
	for ; scale > 0; scale-- {
		q.Mul(q, ten)
	}
	for ; scale < 0; scale++ {
		q.Quo(q, ten)
	}
	n := new(big.Int)
	n.Div(q.Num(), q.Denom()) // Euclidean, which is downwards for a positive divisor
	if !n.IsInt64() || Time(n.Int64()) > maxTime || Time(n.Int64()) < -maxTime {
		return 0, false
	}
	return Time(n.Int64()), true
}

func TestTimeAgainstBig(t *testing.T) {
	for _, text := range numbers(rand.New(rand.NewPCG(5, 6)), 8000) {
		for u, scale := range map[Unit]int{Seconds: 3, Millis: 0, Micros: -3, Nanos: -6} {
			want, wantOK := bigTime(text, scale)
			got, ok := num(text).Time(u)
			if of, is := str(text).Time(u); ok != is || of != got {
				t.Fatalf("%s %v in a text: Time = %d, %v", text, u, of, is)
			}
			if got != want && ok || ok != wantOK {
				t.Fatalf("%s %v: Time = %d, %v, want %d, %v", text, u, got, ok, want, wantOK)
			}
		}
	}
}

func TestTimeKinds(t *testing.T) {
	for u := Seconds; u <= RecordTime; u++ {
		for _, v := range append(notNumbers, str("01763600000123"), str("1763600000123 "), str(""), num("x")) {
			if got, ok := v.Time(u); ok {
				t.Errorf("%v %q as %v: Time = %d", v.Type, v.Bytes, u, got)
			}
		}
	}
	if got, ok := num("1").Time(RFC3339); ok {
		t.Errorf("1 as rfc3339: Time = %d", got)
	}
	for _, u := range []Unit{ISO8601, RecordTime, RecordTime + 1} {
		if got, ok := num("1").Time(u); ok {
			t.Errorf("1 in the unit %v: Time = %d", u, got)
		}
	}
}

// rfc3339 is the grammar of RFC 3339, section 5.6, with the ranges that the
// standard library's parser leaves open; it also takes a comma.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// The grammar and the standard library together are the twin.
func checkRFC3339(t *testing.T, text string) {
	t.Helper()
	var want time.Time
	err := want.UnmarshalText([]byte(strings.Map(func(r rune) rune {
		if r == 't' || r == 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)))
	wantOK := err == nil && rfc3339.MatchString(text) && Time(want.UnixMilli()) <= maxTime
	got, ok := str(text).Time(RFC3339)
	if ok != wantOK || ok && got != Time(want.UnixMilli()) {
		t.Fatalf("%q: Time = %d, %v, want %v, %v", text, got, ok, want.UnixMilli(), err)
	}
}

var stamps = []string{
	"2026-11-20T10:05:00Z", "2026-11-20T10:05:00.123Z", "2026-11-20t10:05:00.123456789z", "2026-11-20T10:05:00+01:00",
	"2026-11-20T10:05:00.1-23:59", "2026-11-20T10:05:00.12+00:00", "2026-11-20T10:05:00-00:00",
	"1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.0001Z", "0000-01-01T00:00:00Z", "0000-02-29T00:00:00Z", "0001-01-01T00:00:00+23:59",
	"9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59-00:01", "2000-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z",
	"2026-11-20 10:05:00Z", "2026-11-20T10:05:00", "2026-11-20T10:05Z", "2026-11-20T10:05:00,5Z", "2026-11-20T10:05:00.Z", "2026-11-20T1:05:00Z",
	"2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z", "2026-11-20T23:59:60Z", "2026-00-20T10:05:00Z", "2026-13-20T10:05:00Z", "2026-11-00T10:05:00Z", "2026-11-31T10:05:00Z",
	"2026-11-20T10:05:00+0100", "2026-11-20T10:05:00+1:00", "2026-11-20T10:05:00+01:60", "2026-11-20T10:05:00Z ", " 2026-11-20T10:05:00Z", "2026-11-20T10:05:00ZZ",
	"+2026-11-20T10:05:00Z", "12026-11-20T10:05:00Z", "2O26-11-20T10:05:00Z", "2026-11-20T10:05:00.123456789012345678901234567890Z", "",
}

func TestRFC3339AgainstTime(t *testing.T) {
	for _, text := range stamps {
		checkRFC3339(t, text)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 8000 {
		at := time.UnixMilli(r.Int64N(2*int64(maxTime)) - int64(maxTime)).UTC()
		if at.Year() < 0 {
			continue
		}
		zone := time.FixedZone("", r.IntN(24*60*2)*60-24*60*60+60)
		checkRFC3339(t, at.Format(time.RFC3339Nano))
		if local := at.In(zone); local.Year() >= 0 && local.Year() <= 9999 {
			checkRFC3339(t, local.Format(time.RFC3339Nano))
		}
		checkRFC3339(t, string(mutate(r, []byte(at.Format(time.RFC3339)))))
	}
}

func FuzzRFC3339(f *testing.F) {
	for _, s := range stamps {
		f.Add(s)
	}
	f.Fuzz(checkRFC3339)
}

// iso8601 is the grammar of the near forms. Its groups are the date, the T, the clock,
// the seconds with their fraction, the fraction, and the offset.
var iso8601 = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:([Tt ])(\d\d:\d\d)(:\d\d([.,]\d+)?)?([Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$`)

// The grammar and the standard library, with the layout that the grammar finds, are the twin.
func checkISO8601(t *testing.T, text string) {
	t.Helper()
	var want time.Time
	m := iso8601.FindStringSubmatch(text)
	for i := 0; m == nil && i < len(foreign) && len(text) <= 48; i++ {
		if f := foreign[i]; f.form.MatchString(text) {
			plain := regexp.MustCompile(`\[[^\[]*\]$`).ReplaceAllString(f.form.ReplaceAllString(text, f.plain), "")
			for k, month := range months {
				plain = strings.Replace(plain, "-"+month+"-", fmt.Sprintf("-%02d-", k+1), 1)
			}
			m = iso8601.FindStringSubmatch(plain)
			break
		}
	}
	wantOK := m != nil
	if wantOK {
		layout, zone := "2006-01-02", strings.ToUpper(m[6])
		if m[2] != "" {
			layout += "T15:04"
		}
		if m[4] != "" {
			layout += ":05"
		}
		switch len(zone) {
		case 1:
			layout += "Z07"
		case 3, 5, 6:
			layout += "-07:00"
			zone = (zone + "00")[:3] + ":" + (strings.ReplaceAll(zone, ":", "") + "00")[3:5]
		}
		plain := m[1]
		if m[2] != "" {
			plain += "T" + m[3] + strings.Replace(m[4], ",", ".", 1) + zone
		}
		var err error
		want, err = time.Parse(layout, plain)
		wantOK = err == nil && Time(want.UnixMilli()) <= maxTime
	}
	got, ok := str(text).Time(ISO8601)
	if ok != wantOK || ok && got != Time(want.UnixMilli()) {
		t.Fatalf("%q: Time = %d, %v, want %v, %v", text, got, ok, want.UnixMilli(), wantOK)
	}
	if strict, ok := str(text).Time(RFC3339); ok && strict != got {
		t.Fatalf("%q is %d as rfc3339, %d as iso8601", text, strict, got)
	}
}

var months = strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")

// foreign are forms that other systems print, and how each is written plainly.
var foreign = []struct {
	form  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`(?s)^.{3},.(..) ([A-Z][a-z][a-z]) (.{4}) (.{8}) GMT$`), "$3-$2-${1}T${4}Z"},
	{regexp.MustCompile(`(?s)^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)(.*)$`), "$1-$2-${3}T$4:$5:$6$7"},
	{regexp.MustCompile(`(?s)^(.+) (UTC|GMT)(\[[^\[]*\])?$`), "${1}Z"},
	{regexp.MustCompile(`(?s)^(.{16,}) ([+-][^ \[]*)(\[[^\[]*\])?$`), "$1$2"},
	{regexp.MustCompile(`(?s)^(.+)\[[^\[]*\]$`), "$1"},
}

// near are times that RFC 3339 does not have, and texts that only look like them.
var near = []string{
	"2026-11-20", "2026-11-20T10:05", "2026-11-20 10:05", "2026-11-20 10:05:00", "2026-11-20 10:05:00.123456", "2026-11-20T10:05:00,5", "2026-11-20T10:05:00+0200",
	"2026-11-20 10:05:00+02", "2026-11-20 10:05:00.123-0930", "2026-11-20T10:05Z", "2026-11-20T10:05+01", "2024-02-29", "2023-02-29", "0000-01-01", "9999-12-31 23:59:59.9999",
	"2026-11-20T", "2026-11-20T1", "2026-11-20T10", "2026-11-20T10:", "2026-11-20T10:0", "2026-11-20T10:05:", "2026-11-20T10:05:0", "2026-11-20T10:05:00.", "2026-11-20T10:05:00,", "2026-11-20T10:05:00.Z",
	"2026-11-20T10:05:00+", "2026-11-20T10:05:00+2", "2026-11-20T10:05:00+020", "2026-11-20T10:05:00+02:0", "2026-11-20T10:05:00+02000", "2026-11-20T10:05:00+24", "2026-11-20T10:05:00+0260", "2026-11-20T10:05:00 +02", "2026-11-20Z",
	"2026-11-20 10:05:00 +0100", "2026-11-20 10:05:00.5 -08:00", "2026-11-20T10:05:00Z[UTC]", "2026-11-20T10:05:00.123+01:00[Europe/Paris]", "2026-11-20 10:05 UTC", "Fri, 20 Nov 2026 10:05:00 GMT", "Fri, 20 Nop 2026 10:05:00 GMT", "20261120T100500", "20261120T100500.25+0100",
	"2026-11-20 10:05:00 GMT[x]", "2026-11-20 10:05:00 CET", "2026-11-20T10:05:00Z UTC", "[2026-11-20]", "2026-11-20[UTC]", "2026-11-20 UTC", "2026-11-20 10:05:00 +", "2026-11-20T10:05.5", "20261120", "20261120T100500Z", "2026-W47-5", "2026-324", "2026-11", "2026-11-20_10:05", "2026/11/20 10:05:00", "2026-11-20  10:05:00", "2026-11-20 10:05:00 UTC", "2026-11-2010:05:00",
}

func TestISO8601AgainstTime(t *testing.T) {
	for _, text := range append(near, stamps...) {
		checkISO8601(t, text)
	}
	r := rand.New(rand.NewPCG(11, 12))
	layouts := []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04Z07", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.000Z0700", "2006-01-02 15:04:05.00000Z07", "2006-01-02 15:04:05,000", time.RFC3339, "2006-01-02 15:04:05.000 -0700", "20060102T150405.999Z07:00", "2006-01-02T15:04:05Z07:00[Europe/Paris]"}
	for i := range 8000 {
		at := time.UnixMilli(r.Int64N(int64(maxTime))).In(time.FixedZone("", r.IntN(24*60*2)*60-24*60*60+60))
		if at.Year() > 9999 {
			continue
		}
		text := at.Format(layouts[i%len(layouts)])
		checkISO8601(t, text)
		checkISO8601(t, string(mutate(r, []byte(text))))
	}
}

func FuzzISO8601(f *testing.F) {
	for _, s := range append(near, stamps...) {
		f.Add(s)
	}
	f.Fuzz(checkISO8601)
}

// FuzzNumber compares all readings of a number with their twins.
func FuzzNumber(f *testing.F) {
	for _, s := range numbers(rand.New(rand.NewPCG(9, 10)), 20) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if number([]byte(text), 0) != len(text) || len(text) > 100 {
			return
		}
		want, err := strconv.ParseFloat(text, 64)
		if got, ok := num(text).Float(); ok != (err == nil) || ok && got != want {
			t.Fatalf("%s: Float = %v, %v, want %v, %v", text, got, ok, want, err)
		}
		for u, scale := range scale {
			at, wantOK := bigTime(text, scale)
			if got, ok := num(text).Time(Unit(u)); ok != wantOK || ok && got != at {
				t.Fatalf("%s %v: Time = %d, %v, want %d, %v", text, Unit(u), got, ok, at, wantOK)
			}
		}
	})
}

// TestPlainInt: a number of up to eight bytes is read in the same way whether it is the end of its
// buffer or digits, signs or anything else follow.
func TestPlainInt(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	read := map[bool]int{}
	for range 60_000 {
		text := make([]byte, 1+r.IntN(9))
		for i := range text {
			text[i] = '0' + byte(r.IntN(10))
		}
		switch r.IntN(8) {
		case 0:
			text[r.IntN(len(text))] = byte(r.Uint32())
		case 1:
			text[0] = '-'
		}
		buffer := slices.Concat(text, []byte("0123456789,-. ")[r.IntN(14):], make([]byte, 8))
		want, err := strconv.ParseInt(string(text), 10, 64)
		fits := err == nil && text[0] != '+'
		read[fits]++
		for _, b := range [][]byte{buffer[:len(text)], slices.Clip(text)} {
			if got, ok := plainInt(b); ok != fits || ok && got != want {
				t.Fatalf("%q in %q is %d, %t, want %d, %t", text, b[:cap(b)], got, ok, want, fits)
			}
		}
	}
	if read[true] < 40_000 || read[false] < 4000 {
		t.Errorf("%v", read)
	}
}
