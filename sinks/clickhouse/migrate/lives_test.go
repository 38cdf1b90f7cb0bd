package migrate

import (
	"testing"
)

// TestLonger: rows without a TTL live for ever.
func TestLonger(t *testing.T) {
	const one, two = "rolled_at + toIntervalSecond(86400)", "rolled_at + toIntervalSecond(172800)"
	for _, c := range []struct {
		before, ttl string
		want        bool
	}{{one, two, true}, {two, one, false}, {one, one, false}, {one, "", true}, {"", one, false}, {"", "", false}, {"window_start + toIntervalSecond(86400)", two, true}} {
		if got := longer(c.before, c.ttl); got != c.want {
			t.Errorf("%q after %q is longer: %t", c.ttl, c.before, got)
		}
	}
}
