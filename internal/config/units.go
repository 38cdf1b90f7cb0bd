package config

import (
	"errors"
	"fmt"
	"math"
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
	{"d", int64(24 * time.Hour)}, {"h", int64(time.Hour)}, {"m", int64(time.Minute)}, {"s", int64(time.Second)},
	{"ms", int64(time.Millisecond)}, {"us", int64(time.Microsecond)}, {"ns", 1},
}

var sizeUnits = []unit{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseDuration reads whole numbers with units: 30s, 1m, 1h30m, 24h, 7d, 2w.
// Zero needs no unit. Unlike time.ParseDuration it knows days and weeks and
// no fractions or signs.
func ParseDuration(text string) (Duration, error) {
	week := unit{"w", int64(7 * 24 * time.Hour)}
	n, err := parseUnits(text, append([]unit{week}, durationUnits...), true)
	switch {
	case err == nil:
		return Duration(n), nil
	case errors.Is(err, errNoUnit):
		return 0, fmt.Errorf("%q has no unit; try %[1]sms, %[1]ss or %[1]sm", text)
	case errors.Is(err, errRange):
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	return 0, fmt.Errorf("%q is no duration; write whole numbers with units, such as 500ms, 30s, 1m, 1h30m, 24h or 7d", text)
}

// ParseSize reads a whole number of bytes with its unit: B, KiB, MiB, GiB,
// TiB (powers of 1024) or KB, MB, GB, TB (powers of 1000), in any case.
func ParseSize(text string) (Size, error) {
	n, err := parseUnits(text, sizeUnits, false)
	switch {
	case err == nil:
		return Size(n), nil
	case errors.Is(err, errNoUnit):
		if bytes, err := ParseSize(text + "B"); err == nil && bytes >= 1<<20 {
			return 0, fmt.Errorf("%q has no unit; if it is a number of bytes, write %s", text, bytes)
		}
		return 0, fmt.Errorf("%q has no unit; try %[1]sMiB or %[1]sGiB", text)
	case errors.Is(err, errRange):
		return 0, fmt.Errorf("%q is more than 8388607TiB", text)
	}
	return 0, fmt.Errorf("%q is no size; write a whole number with a unit, such as 64MiB or 1GiB", text)
}

// The mistakes that parseUnits finds; its callers make the messages.
var (
	errNoUnit = errors.New("no unit")
	errRange  = errors.New("out of range")
	errSyntax = errors.New("syntax")
)

// parseUnits adds up pairs of number and unit; more than one pair is allowed
// only if many is set.
func parseUnits(text string, units []unit, many bool) (int64, error) {
	rest := text
	if rest == "0" {
		return 0, nil
	}
	var sum int64
	for first := true; rest != "" || first; first = false {
		if !first && !many {
			return 0, errSyntax
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 {
			return 0, errSyntax
		}
		number, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, errRange
		}
		rest = strings.TrimLeft(rest[digits:], " ")
		letters := strings.IndexAny(rest, "0123456789 ")
		if letters < 0 {
			letters = len(rest)
		}
		name := rest[:letters]
		rest = rest[letters:]
		if name == "" {
			if first && rest == "" {
				return 0, errNoUnit
			}
			return 0, errSyntax
		}
		size := int64(0)
		for _, u := range units {
			if u.name == name || (!many && strings.EqualFold(u.name, name)) {
				size = u.size
				break
			}
		}
		if size == 0 {
			return 0, errSyntax
		}
		if number > math.MaxInt64/size || number*size > math.MaxInt64-sum {
			return 0, errRange
		}
		sum += number * size
	}
	return sum, nil
}

func printUnits(n int64, units []unit, zero string) string {
	for _, u := range units {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return zero
}

// String prints d in the largest unit that fits exactly; zero is 0s.
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
