package config

import (
	"math/rand"
	"strings"
	"testing"
	"testing/quick"
)

func readDuration(text string) (string, error) { d, err := ParseDuration(text); return d.String(), err }
func readSize(text string) (string, error)     { s, err := ParseSize(text); return s.String(), err }

// TestUnits: what a text is read as, in its printed form, and what is refused. TestUnitsRoundTrip shows that no two
// values have the same printed form.
func TestUnits(t *testing.T) {
	for _, kind := range []struct {
		refusal string
		read    func(string) (string, error)
		shown   map[string]string
		refused []string
	}{
		{"is no duration", readDuration, map[string]string{
			"0": "0s", "0s": "0s", "0d": "0s", "1500ms": "1500ms", "30s": "30s", "60s": "1m", "90s": "90s", "1h30m": "90m", "24h": "1d", "36h": "36h",
			"7d": "7d", "2w": "14d", "1w1d1h1m1s": "694861s", "5 m": "5m", "106751d": "106751d",
		}, []string{
			"", "s", "1", "1s2", "-1s", "1.5h", "1S", "1M", "1month", "+1s", "1ns", "250us", "106752d", "99999999999999999999s", "106751d1d", "1s ", " 1s", "1m 1s", "1s\x00",
		}},
		{"is no size", readSize, map[string]string{
			"0": "0B", "1B": "1B", "64MiB": "64MiB", "1gib": "1GiB", "1 GiB": "1GiB", "1024MiB": "1GiB", "1500kB": "1500KB", "2TB": "1953125000KiB", "8388607TiB": "8388607TiB",
		}, []string{"", "64", "1073741824", "99999999999999999999", "64M", "1GiB1MiB", "-1B", "8388608TiB", "1.5GiB"}},
	} {
		for text, want := range kind.shown {
			if got, err := kind.read(text); got != want || err != nil {
				t.Errorf("%q: %s, %v; want %s", text, got, err, want)
			}
		}
		for _, text := range kind.refused {
			if got, err := kind.read(text); err == nil || !strings.Contains(err.Error(), kind.refusal) {
				t.Errorf("%q: %s, %v; want it refused", text, got, err)
			}
		}
	}
}

// TestUnitsRoundTrip: a printed value reads as the same value.
func TestUnitsRoundTrip(t *testing.T) {
	same := func(n int64) bool {
		d, s := Duration(n&(1<<63-1)/1e6*1e6), Size(n&(1<<63-1))
		duration, err := ParseDuration(d.String())
		size, errSize := ParseSize(s.String())
		return err == nil && duration == d && errSize == nil && size == s
	}
	if err := quick.Check(same, &quick.Config{Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	for shift := range 63 {
		if !same(1 << shift) {
			t.Errorf("2^%d does not survive", shift)
		}
	}
}
