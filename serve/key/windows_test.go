package key

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"weir/event"
)

// TestWindowsOfKey: a key names windows by their start or by counting back, both ends
// of a range included; a start between two windows is an error that names the right
// one.
func TestWindowsOfKey(t *testing.T) {
	const size = 60_000
	open := event.Time(time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC).UnixMilli())
	now := open + 30_500
	for text, want := range map[string][2]event.Time{
		"now":                            {open, open + size},
		"-1":                             {open - size, open},
		"-60..now":                       {open - 60*size, open + size},
		"20261120T1205Z":                 {open, open + size},
		"20261120T1204Z..20261120T1205Z": {open - size, open + size},
		"20261120T1200Z..now":            {open - 5*size, open + size},
		"19700101T0000Z":                 {0, size},
	} {
		k, err := Parse("w:clicks:users:" + text)
		if err != nil {
			t.Fatal(err)
		}
		from, until, err := k.Windows(now, size)
		if err != nil || from != want[0] || until != want[1] {
			t.Errorf("%s: [%d, %d), %v; want [%d, %d)", text, from, until, err, want[0], want[1])
		}
	}
	for text, want := range map[string]string{
		"20261120T120530Z":    "not a question for this job: no window of job clicks starts at 2026-11-20T12:05:30Z; one starts at 2026-11-20T12:05:00Z",
		"20261120T1206Z..now": "not a question for this job: the range of windows ends before it begins",
	} {
		k, err := Parse("w:clicks:users:" + text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.Windows(now, size); !errors.Is(err, ErrQuestion) || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestTexts: groups that are left out are all values, and an empty value is one value.
func TestTexts(t *testing.T) {
	for text, want := range map[string][][]byte{
		"":         {nil, nil},
		":*":       {nil, nil},
		":/p/1":    {[]byte("/p/1"), nil},
		"::DE":     {{}, []byte("DE")},
		":a:b:c":   {[]byte("a"), []byte("b"), []byte("c")},
		":*:%2A":   {nil, []byte("*")},
		":a%3Ab:*": {[]byte("a:b"), nil},
	} {
		k, err := Parse("w:clicks:users:now" + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Texts(2); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
