package event

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestField(t *testing.T) {
	for _, c := range []struct {
		text, words string
		want        Field
	}{
		{"page", "page", Field{Paths: []string{"page"}}},
		{"items[0].sku", "items[0].sku", Field{Paths: []string{"items[0].sku"}}},
		{"[userId][anonymousId]", "userId or anonymousId", Field{Paths: []string{"userId", "anonymousId"}}},
		{"[a[0][1].b][c, d]", "a[0][1].b or c, d", Field{Paths: []string{"a[0][1].b", "c, d"}}},
		{`[labels."log.]level\""][b[k="]"].x] host`, `host of labels."log.]level\"" or b[k="]"].x`, Field{Paths: []string{`labels."log.]level\""`, `b[k="]"].x`}, Apply: []Function{Host}}},
		{"[url] host", "host of url", Field{Paths: []string{"url"}, Apply: []Function{Host}}},
		{"[date]T[time]", "date and time", Field{Paths: []string{"date", "time"}, Joined: true}},
		{"[a]T[b] trim", "trim of a and b", Field{Paths: []string{"a", "b"}, Joined: true, Apply: []Function{Trim}}},
		{"[a][b] trim lower", "lower of trim of a or b", Field{Paths: []string{"a", "b"}, Apply: []Function{Trim, Lower}}},
	} {
		got, err := ParseField(c.text)
		if err != nil || !slices.Equal(got.Paths, c.want.Paths) || !slices.Equal(got.Apply, c.want.Apply) || got.Joined != c.want.Joined {
			t.Errorf("ParseField(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
		if got.String() != c.text || got.Words() != c.words {
			t.Errorf("%q becomes %q, in words %q", c.text, got.String(), got.Words())
		}
	}
	for _, text := range []string{"", "a..b", "[a", "[a]x", "[a] ", "[a]  lower", "[a] upper", "[a]", "[a[0]", "[a][]", "[a] lower ", "a] lower", "[a]T", "T[a]", "[a]T[b][c]", "[a][b]T[c]", "[a]T[b]T[c]", "[a] T[b]", "[a]TT[b]"} {
		if got, err := ParseField(text); err == nil {
			t.Errorf("ParseField(%q) = %v", text, got)
		}
	}
}

func FuzzParseField(f *testing.F) {
	for _, text := range []string{"page", "[a[0]][b] lower host", "[a]x", "[[", "[] ", "[a]T[b]", "[a]T"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseField(text); err == nil && got.String() != text {
			t.Errorf("%q becomes %q", text, got.String())
		}
		if text == "" {
			return
		}
		// Any text is a key that a path can name, and an element's.
		path := "a." + QuoteKey(text) + "[" + QuoteKey(text) + "=" + QuoteKey(text) + "].b"
		steps, err := pathSteps(path)
		if err != nil || len(steps) != 4 || steps[1].key != text || steps[2].name != text || steps[2].text != text {
			t.Errorf("%q: %v, %+v", path, err, steps)
		}
		if got, err := ParseField("[" + path + "] lower"); err != nil || got.Paths[0] != path || ParsePathText(path) != path {
			t.Errorf("%q: %v, %v", path, got, err)
		}
	})
}

func TestFirst(t *testing.T) {
	vals := []Value{{}, {Type: Null}, str(" A b "), num("5")}
	for _, c := range []struct {
		at    []int
		apply []Function
		want  Value
	}{
		{[]int{0, 1}, nil, Value{}},
		{[]int{1, 2, 3}, nil, str(" A b ")},
		{[]int{0, 3, 2}, nil, num("5")},
		{[]int{2}, []Function{Trim}, str("A b")},
		{[]int{2}, []Function{Lower, Trim}, str("a b")},
		{[]int{3}, []Function{Lower, Trim}, num("5")},
		{[]int{3}, []Function{Host}, Value{}},
		{[]int{1}, []Function{Path}, Value{}},
	} {
		f := Field{Apply: c.apply}
		got, _ := f.First(vals, c.at, nil)
		if got.Type != c.want.Type || string(got.Bytes) != string(c.want.Bytes) {
			t.Errorf("%v %v: %v %q, want %v %q", c.at, c.apply, got.Type, got.Bytes, c.want.Type, c.want.Bytes)
		}
	}
	// Results stay valid when the scratch grows, and the value itself stays as it is.
	upper := str(strings.Repeat("X", 100))
	lower := Field{Apply: []Function{Lower}}
	one, text := lower.First([]Value{upper}, []int{0}, make([]byte, 0, 10))
	two, _ := lower.First([]Value{str("YY")}, []int{0}, text)
	if string(one.Bytes) != strings.Repeat("x", 100) || string(two.Bytes) != "yy" || upper.Bytes[0] != 'X' {
		t.Errorf("%q, %q, %q", one.Bytes, two.Bytes, upper.Bytes)
	}
}

// TestFunctions fixes the definition of each function: stored groups depend on it.
func TestFunctions(t *testing.T) {
	const none = "\x00none"
	for _, c := range []struct {
		fn       Function
		in, want string
	}{
		{Lower, "", ""}, {Lower, "aZ09[@`{", "az09[@`{"}, {Lower, "ÄÖ É İ Σ \u212a", "ÄÖ É İ Σ \u212a"}, {Lower, "MÜNCHEN", "mÜnchen"},
		{Trim, "", ""}, {Trim, " \t\n\v\f\r", ""}, {Trim, "\r\n a b \t", "a b"}, {Trim, "\u00a0a\u0085", "\u00a0a\u0085"}, {Trim, "\x08a\x0e", "\x08a\x0e"},
		{Host, "https://example.org/a?b#c", "example.org"},
		{Host, "HTTPS://User:Pass@WWW.Example.ORG:8443/A", "www.example.org"},
		{Host, "//cdn.example.org/x", "cdn.example.org"},
		{Host, "http://a@b@c:1:2/", "c"},
		{Host, "http://[2001:DB8::1]:80/", "2001:db8::1"}, {Host, "http://[::1", none}, {Host, "http://[]/", none},
		{Host, "http://example.org", "example.org"}, {Host, "http://example.org?x", "example.org"}, {Host, "http://example.org#x", "example.org"},
		{Host, "http://example.org.", "example.org."}, {Host, "http://m%C3%BCnchen.de/", "m%c3%bcnchen.de"}, {Host, "http://münchen.DE/", "münchen.de"},
		{Host, "svn+ssh://h/x", "h"}, {Host, "s3-x.y://b/k", "b"},
		{Host, "example.org/a", none}, {Host, "example.org:80/a", none}, {Host, "/p/17", none}, {Host, "", none}, {Host, "http://", none}, {Host, "file:///etc", none},
		{Host, "http://:80/", none}, {Host, "http:/x", none}, {Host, "3http://x/", none}, {Host, "mailto:a@b", none}, {Host, " http://x/", none}, {Host, "http://u@/", none},
		{Path, "https://example.org/a/b?c#d", "/a/b"}, {Path, "https://example.org", "/"}, {Path, "https://example.org?x", "/"}, {Path, "https://u@h:1#x/y", "/"},
		{Path, "//h/x", "/x"}, {Path, "/p/17?x=1", "/p/17"}, {Path, "p/17#x", "p/17"}, {Path, "example.org/a", "example.org/a"},
		{Path, "/A/../B//c%20", "/A/../B//c%20"}, {Path, "mailto:a@b", "mailto:a@b"},
		{Unquote, `"u1"`, "u1"}, {Unquote, "u1", "u1"}, {Unquote, `""`, ""}, {Unquote, `"`, `"`}, {Unquote, "", ""}, {Unquote, `"a`, `"a`}, {Unquote, `a"`, `a"`},
		{Unquote, `"a\"b\u00e4\n"`, "a\"bä\n"}, {Unquote, `"ä\\"`, `ä\`}, {Unquote, `"a\"`, `"a\"`}, {Unquote, `"a"b"`, `"a"b"`}, {Unquote, `"\q"`, `"\q"`}, {Unquote, "\"a\nb\"", "\"a\nb\""},
		{Unquote, ` "a"`, ` "a"`}, {Unquote, `"12"`, "12"}, {Unquote, `""a""`, `""a""`}, {Unquote, `"\ud83d"`, `"\ud83d"`},
		{Path, "", none}, {Path, "?x=1", none}, {Path, "#x", none}, {Path, "file:///etc/x", "/etc/x"},
	} {
		v, _ := c.fn.apply(str(c.in), nil)
		got := none
		if v.Type == String {
			got = string(v.Bytes)
		}
		if got != c.want {
			t.Errorf("%s of %q is %q, want %q", c.fn, c.in, got, c.want)
		}
	}
	for _, name := range Functions() {
		if fn, err := ParseFunction(name); err != nil || fn.String() != name {
			t.Errorf("%q: %v, %v", name, fn, err)
		}
	}
	if _, err := ParseFunction("upper"); err == nil {
		t.Error("any name is a function")
	}
}

// TestCompare: comparing is exact, as big.Rat decides it.
func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	texts := numbers(r, 300)
	rat := func(text string) *big.Rat {
		if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 6 {
			return nil // too far for big
		}
		x, _ := new(big.Rat).SetString(text)
		return x
	}
	compared := 0
	for _, b := range append(texts, "10", "10.0", "1e1", "123456789012345678901", "123456789012345678902", "0.1234567890123456789", "-1234567890123456789.5") {
		bound, err := ParseBound(b)
		if err != nil {
			continue
		}
		for _, a := range append(texts, b, b+"0", b+"1", "-"+b, "10.00", "1e1", "123456789012345678901.0", "12345678901234567890.1e1") {
			v := num(a)
			got, ok := v.Compare(&bound)
			if ok != (number(v.Bytes, 0) == len(a)) {
				t.Fatalf("Compare(%s, %s): %v", a, b, ok)
			}
			x, y := rat(a), rat(b)
			if !ok || x == nil || y == nil {
				continue
			}
			compared++
			if want := x.Cmp(y); got != want {
				t.Fatalf("Compare(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d compared", compared)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"1e99999999999999999999", "1e399", 1}, {"-1e99999999999999999999", "1", -1}, {"1e-99999999999999999999", "1e-400", -1}, {"0e99999999999999999999", "0", 0}} {
		bound, err := ParseBound(c.b)
		if got, _ := num(c.a).Compare(&bound); err != nil || got != c.want {
			t.Errorf("Compare(%s, %s) = %d, %v", c.a, c.b, got, err)
		}
	}
	bound, _ := ParseBound("1")
	for _, v := range append(notNumbers, str("1 ")) {
		if _, ok := v.Compare(&bound); ok {
			t.Errorf("%v %q is compared", v.Type, v.Bytes)
		}
	}
	for _, text := range []string{"", "x", "01", "1.", "1e401", "1e-402", strings.Repeat("1", 41)} {
		if _, err := ParseBound(text); err == nil {
			t.Errorf("%q is a bound", text)
		}
	}
}
