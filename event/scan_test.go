package event

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// click is the event of the documentation, location its smaller sibling.
const (
	click    = `{"event_id":"9f2c5a7be0134d6f8a9b0c1d2e3f4a5b","ts":1763600000123,"user_id":81234,"page":"/p/17","action":"view","referrer":"https://example.org/","country":"DE","device":"mobile"}`
	location = `{"ts":1763600000456,"user_id":81234,"lon":13.361389,"lat":38.115556}`
)

var clickPaths = []string{"ts", "user_id", "page", "event_id", "country"}

func newScanner(t testing.TB, paths ...string) *Scanner {
	t.Helper()
	s, err := NewScanner(paths)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func nest(open, inner, shut string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
}

func manyKeys(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"key%d":%d,`, i, i)
	}
	return b.String() + last + "}"
}

// faulty documents, the reason for refusing them, and where it is.
var faulty = []struct {
	name, doc string
	err       error
	at        int
}{
	{"nothing", "", ErrEmpty, 0},
	{"white space", " \n\t\r", ErrEmpty, 4},
	{"null", "null", ErrNotObject, 0},
	{"array", `[{"ts":1}]`, ErrNotObject, 0},
	{"string", ` "a"`, ErrNotObject, 1},
	{"number", "-1", ErrNotObject, 0},
	{"byte order mark", "\xef\xbb\xbf{}", ErrSyntax, 0},
	{"zero bytes", "\x00\x00", ErrSyntax, 0},
	{"bare brace", "{", ErrTruncated, 1},
	{"cut in key", `{"t`, ErrTruncated, 3},
	{"cut after key", `{"ts"`, ErrTruncated, 5},
	{"cut after colon", `{"ts":`, ErrTruncated, 6},
	{"cut after value", `{"ts":1`, ErrTruncated, 7},
	{"cut after comma", `{"ts":1,`, ErrTruncated, 8},
	{"cut in string", `{"page":"/p`, ErrTruncated, 11},
	{"cut in character", "{\"page\":\"\xe2\x82", ErrTruncated, 11},
	{"cut in escape", `{"page":"\u12`, ErrTruncated, 9},
	{"cut in pair", `{"page":"\ud83d\u`, ErrTruncated, 9},
	{"cut in word", `{"a":tru`, ErrTruncated, 8},
	{"cut in number", `{"a":-`, ErrTruncated, 6},
	{"cut in array", `{"a":[1`, ErrTruncated, 7},
	{"trailing garbage", `{"ts":1}x`, ErrTrailing, 8},
	{"two documents", `{"ts":1}{"ts":2}`, ErrTrailing, 8},
	{"two lines", "{\"ts\":1}\n{\"ts\":2}", ErrTrailing, 9},
	{"trailing zero byte", "{\"ts\":1}\x00", ErrTrailing, 8},
	{"trailing comma", `{"ts":1,}`, ErrSyntax, 8},
	{"leading comma", `{,"ts":1}`, ErrSyntax, 1},
	{"missing comma", `{"ts":1 "a":2}`, ErrSyntax, 8},
	{"missing colon", `{"ts" 1}`, ErrSyntax, 6},
	{"missing value", `{"ts":}`, ErrSyntax, 6},
	{"unquoted key", `{ts:1}`, ErrSyntax, 1},
	{"single quotes", `{'ts':1}`, ErrSyntax, 1},
	{"number as key", `{1:1}`, ErrSyntax, 1},
	{"comment", `{/**/"ts":1}`, ErrSyntax, 1},
	{"bare word", `{"x":foo}`, ErrSyntax, 6},
	{"NaN", `{"ts":NaN}`, ErrSyntax, 6},
	{"Infinity", `{"ts":Infinity}`, ErrSyntax, 6},
	{"minus Infinity", `{"ts":-Infinity}`, ErrNumber, 7},
	{"True", `{"a":True}`, ErrSyntax, 5},
	{"vertical tab", "{\v\"ts\":1}", ErrSyntax, 1},
	{"no-break space", "{\u00a0\"ts\":1}", ErrSyntax, 1},
	{"mismatched bracket", `{"x":[1,2}}`, ErrSyntax, 9},
	{"mismatched brace", `{"x":{"y":1]}`, ErrSyntax, 11},
	{"comma in a wanted array", `{"tags":[1,]}`, ErrSyntax, 11},
	{"comma after the wanted elements", `{"tags":[1,2,3,]}`, ErrSyntax, 15},
	{"cut in a wanted array", `{"tags":[1`, ErrTruncated, 10},
	{"cut after the wanted elements", `{"tags":[1,2,3`, ErrTruncated, 14},
	{"cut before an element", `{"tags":[`, ErrTruncated, 9},
	{"no comma in a wanted array", `{"tags":[1 2]}`, ErrSyntax, 11},
	{"brace in a wanted array", `{"tags":[1,2,3}`, ErrSyntax, 14},
	{"repeated key in an element", `{"items":[{"sku":1,"sku":2}]}`, ErrDuplicate, 19},
	{"wanted arrays too deep", `{"grid":[1,` + nest("[", "", "]", 63) + `]}`, ErrDepth, 11 + 62},
	{"array comma", `{"x":[1,]}`, ErrSyntax, 8},
	{"leading zero", `{"ts":01}`, ErrNumber, 7},
	{"minus zero one", `{"ts":-01}`, ErrNumber, 8},
	{"plus", `{"ts":+1}`, ErrSyntax, 6},
	{"bare point", `{"ts":1.}`, ErrNumber, 8},
	{"point first", `{"ts":.5}`, ErrSyntax, 6},
	{"two points", `{"ts":1.2.3}`, ErrSyntax, 9},
	{"bare exponent", `{"ts":1e}`, ErrNumber, 8},
	{"bare signed exponent", `{"ts":1e+}`, ErrNumber, 9},
	{"hexadecimal", `{"ts":0x10}`, ErrSyntax, 7},
	{"underscore", `{"ts":1_000}`, ErrSyntax, 7},
	{"bad escape", `{"x":"a\qb"}`, ErrEscape, 7},
	{"bad escape in key", `{"a\x":1}`, ErrEscape, 3},
	{"bad hexadecimal", `{"x":"\u12g4"}`, ErrEscape, 6},
	{"high half alone", `{"page":"\ud800"}`, ErrEscape, 9},
	{"low half alone", `{"page":"\udc00"}`, ErrEscape, 9},
	{"two high halves", `{"page":"\ud800\ud800"}`, ErrEscape, 9},
	{"high half and text", `{"page":"\ud800abcdef"}`, ErrEscape, 9},
	{"control character", "{\"x\":\"a\x01b\"}", ErrControl, 7},
	{"raw newline", "{\"page\":\"a\nb\"}", ErrControl, 10},
	{"control in key", "{\"a\tb\":1}", ErrControl, 3},
	{"invalid byte", "{\"page\":\"a\xffb\"}", ErrUTF8, 10},
	{"invalid byte in key", "{\"\xff\":1}", ErrUTF8, 2},
	{"invalid byte in an unwanted value", "{\"x\":[{\"y\":\"\x80\"}]}", ErrUTF8, 12},
	{"overlong", "{\"page\":\"\xc0\xaf\"}", ErrUTF8, 9},
	{"surrogate in UTF-8", "{\"page\":\"\xed\xa0\x80\"}", ErrUTF8, 9},
	{"beyond Unicode", "{\"page\":\"\xf4\x90\x80\x80\"}", ErrUTF8, 9},
	{"cut character before quote", "{\"page\":\"a\xe2\x82\"}", ErrUTF8, 10},
	{"invalid byte between tokens", "{\xff\"ts\":1}", ErrSyntax, 1},
	{"repeated key", `{"ts":1,"ts":2}`, ErrDuplicate, 8},
	{"repeated unwanted key", `{"x":1,"ts":1,"x":2}`, ErrDuplicate, 14},
	{"repeated key inside", `{"x":[{"y":1,"y":1}]}`, ErrDuplicate, 13},
	{"repeated key in branch", `{"geo":{"country":"DE","country":"FR"}}`, ErrDuplicate, 23},
	{"repeated branch", `{"geo":{"country":"DE"},"geo":{}}`, ErrDuplicate, 24},
	{"repeated by escape", `{"ts":1,"t\u0073":2}`, ErrDuplicate, 8},
	{"repeated empty key", `{"":1,"":2}`, ErrDuplicate, 6},
	{"repeated among many", manyKeys(100, `"key7":0,"key3":0`), ErrDuplicate, len(manyKeys(100, "")) - 1},
	{"arrays too deep", `{"x":` + nest("[", "", "]", 64) + `}`, ErrDepth, 5 + 63},
	{"objects too deep", nest(`{"x":`, "1", "}", 65), ErrDepth, 5 * 64},
	{"hopelessly deep", `{"x":` + strings.Repeat("[", 1<<20), ErrDepth, 5 + 63},
}

func TestFaulty(t *testing.T) {
	for _, c := range faulty {
		s := newScanner(t, refPaths...)
		checkScan(t, s, []byte(c.doc), refPaths)
		vals := make([]Value, len(refPaths))
		if err := s.Scan([]byte(c.doc), vals); !errors.Is(err, c.err) || s.ErrOffset() != c.at {
			t.Errorf("%s: Scan(%.60q) = %v at %d, want %v at %d", c.name, c.doc, err, s.ErrOffset(), c.err, c.at)
		}
	}
}

// sound documents; the reference says what is in them.
var sound = []string{
	click,
	location,
	"{}",
	" { } ",
	"\n{\"ts\" : 1 ,\t\"page\"\r: \"x\" }\n",
	`{"ts":0,"user_id":-0,"a":-12.5e+3}`,
	`{"ts":1e400,"user_id":123456789012345678901234567890,"a":0.000}`,
	`{"ts":null,"user_id":true,"page":false,"a":[1,{"b":[]}],"geo":null}`,
	`{"page":"a\"b\\c\/d\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00","user_id":"\uD83D\uDE00"}`,
	`{"page":"\u0000\ufffd\uffff"}`,
	"{\"page\":\"é€😀\ufffd\",\"ключ\":\"значение\"}",
	`{"\u0074s":1,"p\u0061ge":"x","\u043a\u043b\u044e\u0447":2}`,
	`{"geo":{"country":"DE","pos":{"lat":1.5,"lon":2}},"ts":3}`,
	`{"geo":{"pos":{"lat":{}},"country":[]}}`,
	`{"geo":[{"country":"DE"}],"a":{"geo":{"country":"FR"}}}`,
	`{"geo":"x","geo.country":"DE","":1}`,
	`{"geo":{},"ts":1}`,
	`{"geo":{"pos":{}},"ts":1}`,
	`{"TS":1,"Ts":2,"ts":3}`,
	`{"items":[{"sku":"a","n":[1]},{"n":2,"sku":"b"},{"sku":"c"}],"tags":[true,null,"x",{"y":[]}],"grid":[[],[7,8],9]}`,
	`{"items":[ { "sku" : 1 } , 2 ] , "tags" : [ 1 , 2 , 3 , 4 ] , "either" : [ 5 , 6 ] }`,
	`{"items":[],"tags":[1],"grid":[[1]],"either":{"a":{"b":1}}}`,
	`{"items":{"0":{"sku":1}},"tags":"x","grid":[1,{"0":1}],"either":[[1]]}`,
	`{"tags[2]":1,"tags":[0,0,0],"items[0]":{"sku":1}}`,
	`{"items":[1,{"sku":"A"},{"sku":"\u0061","n":"\u00e9","list":[{"k":"tru","v":0},{"v":1,"k":true}]},{"sku":"a","n":2},{"n":1,"sku":"b"}],"log.level":"x","log":{"level":1}}`,
	`{"geo":{"a.b":[{"k":"x"},{"k":"x]","v":["\"",{"k":2}]}],"a":{"b":[]}},"items":[{"sku":["a"]},{"sku":null},{"n":1.0},{"n":"1"}]}`,
	"{\"page\":\"\x7f\"}",
	`{"page":""}`,
	`{"page":"1234567"}`,
	`{"page":"12345678"}`,
	`{"a":"` + strings.Repeat("é", 100) + `"}`,
	`{"a":` + nest("[", "", "]", 63) + `}`,
	nest(`{"x":`, "1", "}", 64),
	manyKeys(50, `"ts":1`),
}

func TestSound(t *testing.T) {
	for _, doc := range sound {
		s := newScanner(t, refPaths...)
		for range 3 {
			checkScan(t, s, []byte(doc), refPaths)
		}
		if err := s.Scan([]byte(doc), make([]Value, len(refPaths))); err != nil {
			t.Errorf("Scan(%q) = %v", doc, err)
		}
	}
}

func TestLargeValue(t *testing.T) {
	long := strings.Repeat("0123456789abcdé\\n", 1<<13)
	s := newScanner(t, refPaths...)
	for _, doc := range []string{
		`{"ts":1,"page":"` + long + `"}`,
		`{"ts":1,"ignored":"` + long + `","a":1}`,
		`{"ts":1,"a":` + strings.Repeat("9", 1<<17) + `}`,
		`{"ts":1,"a":[` + strings.Repeat("1,", 1<<16) + `2]}`,
		manyKeys(1<<13, `"ts":1`),
		`{"` + long + `":1,"` + long + `x":2}`,
	} {
		checkScan(t, s, []byte(doc), refPaths)
		checkScan(t, s, []byte(doc[:len(doc)-1]), refPaths)
	}
	checkScan(t, s, []byte(click), refPaths)
	if cap(s.text) > keepText || cap(s.names) > keepNames {
		t.Errorf("scratch kept after large documents: %d bytes, %d names", cap(s.text), cap(s.names))
	}
}

func TestValuesAreViews(t *testing.T) {
	s := newScanner(t, "page", "user_id", "referrer")
	vals := make([]Value, 3)
	doc := []byte(`{"page":"/p/1","user_id":12,"referrer":"a\/b"}`)
	for range 2 {
		if err := s.Scan(doc, vals); err != nil {
			t.Fatal(err)
		}
		if &vals[0].Bytes[0] != &doc[bytes.IndexByte(doc, '/')] || &vals[1].Bytes[0] != &doc[bytes.IndexByte(doc, '1')+len(`1","user_id":`)] {
			t.Errorf("values were copied")
		}
		if string(vals[2].Bytes) != "a/b" {
			t.Errorf("referrer = %q, want a/b", vals[2].Bytes)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string // part of the error; "" for none
	}{
		{nil, ""},
		{[]string{"ts", "geo.country", "geo.pos.lat", "geox", "Ts"}, ""},
		{[]string{"a", "b", "a"}, `"a" is given twice`},
		{[]string{"a.b", "a.b"}, `"a.b" is given twice`},
		{[]string{"a", "a.b"}, `a.b leads through a,`},
		{[]string{"a.b.c", "a.b"}, `a.b is read as a value, and another path leads through it`},
		{[]string{""}, "empty key"},
		{[]string{"a..b"}, "empty key"},
		{[]string{"a."}, "empty key"},
		{[]string{strings.Repeat("a.", 63) + "a"}, "64 keys"},
		{[]string{"a" + strings.Repeat("[0]", 63)}, "64 keys and indexes"},
		{[]string{"a" + strings.Repeat("[0]", 62), "b[999]", "c[0].d", "c[0].e", "c[1]", "c.d"}, ""},
		{[]string{"a", "a[0]"}, `a[0] leads through a,`},
		{[]string{"a[0].b", "a[0].b.c"}, `a[0].b.c leads through a[0].b,`},
		{[]string{"a[1].b", "a[1]"}, `a[1] is read as a value, and another`},
		{[]string{"a[1]", "a[1]"}, `"a[1]" is given twice`},
		{[]string{"[0]"}, "empty key"},
		{[]string{"a.[0]"}, "empty key"},
		{[]string{"a[0]b"}, "where a dot or its end is expected"},
		{[]string{"a]"}, "where a dot or its end is expected"},
		{[]string{"a[0"}, "not closed"},
		{[]string{"a[]"}, "has []"},
		{[]string{"a[-1]"}, "has [-1]"},
		{[]string{"a[01]"}, "has [01]"},
		{[]string{"a[1000]"}, "has [1000]"},
		{[]string{"a[*]"}, "has [*]"},
		{[]string{"a[b]"}, "has [b]"},
		{make([]string, 65), "65 paths"},
	} {
		_, err := NewScanner(c.paths)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("NewScanner(%.60q) = %v, want %q", c.paths, err, c.want)
		}
	}
}

// mutate changes a document a little, since mistakes show best in documents
// that are nearly valid.
func mutate(r *rand.Rand, doc []byte) []byte {
	doc = slices.Clone(doc)
	alphabet := []byte("{}[]\",:\\ut0123456789.eE+-fn \n\x00\x1f\x7f\x80\xc3\xff")
	for range 1 + r.IntN(3) {
		if len(doc) == 0 {
			return doc
		}
		i := r.IntN(len(doc))
		switch r.IntN(6) {
		case 0:
			doc[i] = alphabet[r.IntN(len(alphabet))]
		case 1:
			doc = slices.Delete(doc, i, i+1)
		case 2:
			doc = slices.Insert(doc, i, alphabet[r.IntN(len(alphabet))])
		case 3:
			doc = doc[:i]
		case 4: // a part again
			j := min(len(doc), i+r.IntN(20))
			doc = slices.Insert(doc, j, slices.Clone(doc[i:j])...)
		case 5: // two bytes swapped
			j := r.IntN(len(doc))
			doc[i], doc[j] = doc[j], doc[i]
		}
	}
	return doc
}

// One scanner reads all documents, so that it reads each with the layouts of
// the others.
func TestMutationsAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newScanner(t, refPaths...)
	elements, err := NewReader(Form{}, elementPaths)
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		doc := []byte(sound[r.IntN(len(sound)-3)])
		if r.IntN(4) > 0 {
			doc = mutate(r, doc)
		}
		checkScan(t, s, doc, refPaths)
		checkElements(t, elements, doc)
	}
}

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Value{}); n != 32 {
		t.Errorf("a Value has %d bytes, want 32", n)
	}
}
