package key

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	at := func(hour, minute, second int) Point {
		return Point{Start: time.Date(2026, 11, 20, hour, minute, second, 0, time.UTC)}
	}
	one := func(p Point, groups ...Group) Key { return Key{"clicks", "users", p, p, groups} }
	for text, want := range map[string]Key{
		"w:clicks:users:20261120T1005Z":                 one(at(10, 5, 0)),
		"w:clicks:users:20261120T100530Z":               one(at(10, 5, 30)),
		"w:clicks:users:now":                            one(Point{}),
		"w:clicks:users:-3":                             one(Point{Ago: 3}),
		"w:clicks:users:now:*":                          one(Point{}, Group{All: true}),
		"w:clicks:users:now:/p/1:DE":                    one(Point{}, Group{Value: "/p/1"}, Group{Value: "DE"}),
		"w:clicks:users:now:":                           one(Point{}, Group{}),
		"w:clicks:users:now:a%3Ab:%2A:%25":              one(Point{}, Group{Value: "a:b"}, Group{Value: "*"}, Group{Value: "%"}),
		"w:clicks:users:-60..now:*":                     {"clicks", "users", Point{Ago: 60}, Point{}, []Group{{All: true}}},
		"w:clicks:users:20261120T1005Z..20261120T1105Z": {"clicks", "users", at(10, 5, 0), at(11, 5, 0), nil},
		"w:clicks:users:20261120T1005Z..-3":             {"clicks", "users", at(10, 5, 0), Point{Ago: 3}, nil},
		"w:a%3Ab:m%20:now":                              {"a:b", "m ", Point{}, Point{}, nil},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"users":                         "does not begin with w:",
		"w:clicks:users":                "want w:<job>:<measure>:<window>",
		"w:":                            "want w:<job>:<measure>:<window>",
		"w::users:now":                  "empty job or measure",
		"w:clicks:users:":               "not a window",
		"w:clicks:users:today":          "want a start such as 20261120T1005Z, now, -3",
		"w:clicks:users:-0":             "not a window",
		"w:clicks:users:-03":            "not a window",
		"w:clicks:users:--3":            "not a window",
		"w:clicks:users:-99999999999":   "not a window",
		"w:clicks:users:20261320T1005Z": "not a window",
		"w:clicks:users:2026-11-20T10":  "not a window",
		"w:clicks:users:now..":          "not a window",
		"w:clicks:users:now..-3":        "ends before it begins",
		"w:clicks:users:20261120T1105Z..20261120T1005Z": "ends before it begins",
		"w:clicks:users:now:%":                          "ends within an escape",
		"w:clicks:users:now:%zz":                        "two hex digits",
		"w:clicks:users:now:%+1":                        "two hex digits",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// FuzzParse: Parse does not panic, and a key that it reads is the same
// after String and Parse.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"w:clicks:users:-60..now:*", "w:a:b:20261120T1005Z:%3A%2A", "w:a:b:-3..20261120T100501Z::x", "w:a:b:now:\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(k.String())
		if err != nil || !reflect.DeepEqual(k, again) {
			t.Fatalf("%q is %+v, written %q, read as %+v, %v", text, k, k, again, err)
		}
	})
}
