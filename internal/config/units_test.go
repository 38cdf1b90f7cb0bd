package config

import (
	"math/rand"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

func TestParseDuration(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  time.Duration
		shown string
	}{
		{"0", 0, "0s"}, {"0s", 0, "0s"}, {"0d", 0, "0s"},
		{"1500ms", 1500 * time.Millisecond, "1500ms"},
		{"30s", 30 * time.Second, "30s"}, {"60s", time.Minute, "1m"}, {"90s", 90 * time.Second, "90s"},
		{"1h30m", 90 * time.Minute, "90m"}, {"24h", 24 * time.Hour, "1d"}, {"36h", 36 * time.Hour, "36h"},
		{"7d", 168 * time.Hour, "7d"}, {"2w", 336 * time.Hour, "14d"}, {"1w1d1h1m1s", 694861 * time.Second, "694861s"},
		{"5 m", 5 * time.Minute, "5m"},
		{"106751d", 106751 * 24 * time.Hour, "106751d"},
	} {
		got, err := ParseDuration(tc.text)
		if err != nil || time.Duration(got) != tc.want || got.String() != tc.shown {
			t.Errorf("%q: %v (%s), %v; want %v (%s)", tc.text, time.Duration(got), got, err, tc.want, tc.shown)
		}
	}
	for _, tc := range []struct{ text, want string }{
		{"", "is no duration"}, {"s", "is no duration"}, {"1", "is no duration"}, {"1s2", "is no duration"}, {"-1s", "is no duration"},
		{"1.5h", "is no duration"}, {"1S", "is no duration"}, {"1M", "is no duration"}, {"1month", "is no duration"}, {"+1s", "is no duration"},
		{"106752d", "is no duration"}, {"99999999999999999999s", "is no duration"}, {"106751d1d", "is no duration"},
		{"1ns", "is no duration"}, {"250us", "is no duration"}, {"1s ", "is no duration"}, {" 1s", "is no duration"}, {"1m 1s", "is no duration"}, {"1s\x00", "is no duration"},
	} {
		_, err := ParseDuration(tc.text)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v; want %q", tc.text, err, tc.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  int64
		shown string
	}{
		{"0", 0, "0B"}, {"1B", 1, "1B"}, {"64MiB", 64 << 20, "64MiB"}, {"1gib", 1 << 30, "1GiB"}, {"1 GiB", 1 << 30, "1GiB"},
		{"1024MiB", 1 << 30, "1GiB"}, {"1500kB", 1500000, "1500KB"}, {"2TB", 2e12, "1953125000KiB"}, {"8388607TiB", 8388607 << 40, "8388607TiB"},
	} {
		got, err := ParseSize(tc.text)
		if err != nil || int64(got) != tc.want || got.String() != tc.shown {
			t.Errorf("%q: %d (%s), %v; want %d (%s)", tc.text, got, got, err, tc.want, tc.shown)
		}
	}
	for _, tc := range []struct{ text, want string }{
		{"", "is no size"}, {"64", "is no size"}, {"1073741824", "is no size"}, {"99999999999999999999", "is no size"}, {"64M", "is no size"}, {"1GiB1MiB", "is no size"}, {"-1B", "is no size"},
		{"8388608TiB", "is no size"}, {"1.5GiB", "is no size"},
	} {
		if _, err := ParseSize(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v; want %q", tc.text, err, tc.want)
		}
	}
}

// TestUnitsRoundTrip: a printed value reads as the same value.
func TestUnitsRoundTrip(t *testing.T) {
	durations := func(n int64) bool {
		d := Duration(n & (1<<63 - 1) / 1e6 * 1e6)
		back, err := ParseDuration(d.String())
		return err == nil && back == d
	}
	sizes := func(n int64) bool {
		s := Size(n & (1<<63 - 1))
		back, err := ParseSize(s.String())
		return err == nil && back == s
	}
	draws := &quick.Config{Rand: rand.New(rand.NewSource(1))}
	if err := quick.Check(durations, draws); err != nil {
		t.Error(err)
	}
	if err := quick.Check(sizes, draws); err != nil {
		t.Error(err)
	}
	for shift := range 63 {
		if !durations(1<<shift) || !sizes(1<<shift) {
			t.Errorf("2^%d does not survive", shift)
		}
	}
}
