package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"", "brokers", "group", "session", "flush"}
	for word, want := range map[string]string{
		"brokerz": "brokers", "borkers": "brokers", "Brokers": "brokers", "sesion": "session", "grou": "group", "gruop": "group",
		"zebra": "", "": "", "b": "", "fl": "", strings.Repeat("brokers", 100): "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}} {
		if got := Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 job": Count(1, "job"), "0 jobs": Count(0, "job"), "12 jobs": Count(int64(12), "job"),
		"1 mismatch": Count(1, "mismatch"), "2 mismatches": Count(uint64(2), "mismatch"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
