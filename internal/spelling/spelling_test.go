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
