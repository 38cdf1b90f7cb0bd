package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Duration is a [time.Duration] that is written with its unit and printed
// in the largest unit that fits exactly: 60s is 1m, 24h is 1d, 90s is 90s.
// The printed form is also part of table names (clicks_1m).
type Duration time.Duration

// A Size is a number of bytes, written with its unit: 64MiB.
type Size int64

type unit struct {
	name string
	size int64
}

// Both tables go from large to small; String picks the first that fits.
var durationUnits = []unit{
	{"w", int64(7 * 24 * time.Hour)}, {"d", int64(24 * time.Hour)}, {"h", int64(time.Hour)}, {"m", int64(time.Minute)}, {"s", int64(time.Second)},
	{"ms", int64(time.Millisecond)}, {"us", int64(time.Microsecond)}, {"ns", 1},
}

var sizeUnits = []unit{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseDuration reads whole numbers with units: 30s, 1m, 1h30m, 24h, 7d, 2w.
// Zero needs no unit. Unlike time.ParseDuration it knows days and weeks, and no fractions, signs or
// units below milliseconds, in which times of events are.
func ParseDuration(text string) (Duration, error) {
	n, ok := parseUnits(text, durationUnits[:6])
	if !ok && calendar.MatchString(text) {
		return 0, fmt.Errorf("%q is no duration, because its length changes; ask for calendar months in SQL, of the view JOB_calendar", text)
	}
	if !ok {
		return 0, fmt.Errorf("%q is no duration; write whole numbers with units, such as 500ms, 30s, 1m, 1h30m, 24h or 7d", text)
	}
	return Duration(n), nil
}

// calendar matches units of a calendar.
var calendar = regexp.MustCompile(`(?i)\d *(mo|months?|quarters?|y|years?)$`)

// ParseSize reads a whole number of bytes with its unit: B, KiB, MiB, GiB,
// TiB (powers of 1024) or KB, MB, GB, TB (powers of 1000), in any case.
func ParseSize(text string) (Size, error) {
	n, ok := parseUnits(strings.ReplaceAll(strings.ToUpper(text), "I", "i"), sizeUnits)
	if !ok || strings.Count(text, "B")+strings.Count(text, "b") > 1 {
		return 0, fmt.Errorf("%q is no size; write a whole number with a unit, such as 64MiB or 1GiB", text)
	}
	return Size(n), nil
}

var quantity = regexp.MustCompile(`^([0-9]+) *([A-Za-z]+)`)

// parseUnits adds up pairs of number and unit.
func parseUnits(text string, units []unit) (sum int64, ok bool) {
	if text == "0" {
		return 0, true
	}
	for ok = text != ""; ok && text != ""; {
		m := quantity.FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		text = text[len(m[0]):]
		n, err := strconv.ParseInt(m[1], 10, 64)
		i := slices.IndexFunc(units, func(u unit) bool { return u.name == m[2] })
		if ok = err == nil && i >= 0 && n <= (math.MaxInt64-sum)/units[i].size; ok {
			sum += n * units[i].size
		}
	}
	return sum, ok
}

func printUnits(n int64, units []unit, zero string) string {
	for _, u := range units {
		if n != 0 && n%u.size == 0 && u.name != "w" {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return zero
}

// String prints d in the largest unit that fits exactly, days at most; zero is 0s.
func (d Duration) String() string { return printUnits(int64(d), durationUnits, "0s") }

// String prints s in the largest unit that fits exactly, powers of 1024
// first; zero is 0B.
func (s Size) String() string { return printUnits(int64(s), sizeUnits, "0B") }

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseDuration.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// UnmarshalText is ParseSize.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}
