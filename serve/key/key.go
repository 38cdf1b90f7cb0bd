package key

import (
	"strconv"
	"strings"
	"time"
)

// Prefix begins every window key, and no scratch key of a Redis client.
const Prefix = "w:"

// A Key asks for one measure of a job, over a range of windows and for a choice of
// groups.
type Key struct {
	Job, Measure string
	From, To     Point // equal unless the key has a range
	Groups       []Group
}

// A Point is one window, given by its start or counted back from now.
type Point struct {
	Ago   int64     // if Start is zero: how many windows before the current one
	Start time.Time // UTC, whole seconds, 1970 or later
}

// A Group is one value of a group column, or all of them.
type Group struct {
	All   bool
	Value string // unless All
}

// Parse reads a key. The error is a *SyntaxError.
func Parse(text string) (Key, error) {
	rest, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return Key{}, malformed("not a window key: %q does not begin with w:", text)
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 3 {
		return Key{}, malformed("not a window key: %q; want w:<job>:<measure>:<window>[:<group>…]", text)
	}
	var k Key
	var err error
	if k.Job, err = unescape(parts[0]); err != nil {
		return Key{}, err
	}
	if k.Measure, err = unescape(parts[1]); err != nil {
		return Key{}, err
	}
	if k.Job == "" || k.Measure == "" {
		return Key{}, malformed("not a window key: %q has an empty job or measure", text)
	}
	from, to, isRange := strings.Cut(parts[2], "..")
	if k.From, err = parsePoint(from); err != nil {
		return Key{}, err
	}
	if k.To = k.From; isRange {
		if k.To, err = parsePoint(to); err != nil {
			return Key{}, err
		}
		if k.From.Start.IsZero() == k.To.Start.IsZero() && (k.From.Ago < k.To.Ago || k.From.Start.After(k.To.Start)) {
			return Key{}, malformed("not a range of windows: %q ends before it begins", parts[2])
		}
	}
	for _, p := range parts[3:] {
		if p == "*" {
			k.Groups = append(k.Groups, Group{All: true})
			continue
		}
		v, err := unescape(p)
		if err != nil {
			return Key{}, err
		}
		k.Groups = append(k.Groups, Group{Value: v})
	}
	return k, nil
}

// agoMax bounds how far back a relative window may be: 19 years of minutes.
const agoMax = 10_000_000

func parsePoint(s string) (Point, error) {
	switch {
	case s == "now":
		return Point{}, nil
	case strings.HasPrefix(s, "-"):
		if n, err := strconv.ParseUint(s[1:], 10, 64); err == nil && n >= 1 && n <= agoMax && s[1] != '0' {
			return Point{Ago: int64(n)}, nil
		}
	default:
		for _, layout := range [...]string{"20060102T1504Z", "20060102T150405Z"} {
			if len(s) != len(layout) {
				continue
			}
			t, err := time.Parse(layout, s)
			switch {
			case err != nil:
			case t.Unix() < 0:
				return Point{}, malformed("not a window: %q is before 1970, where times begin", s)
			default:
				return Point{Start: t}, nil
			}
		}
	}
	return Point{}, malformed("not a window: %q; want a start such as 20261120T1005Z, now, -3, or a range from..to of these", s)
}

// Is reports whether a text begins as every key does.
func Is(text []byte) bool { return len(text) >= len(Prefix) && string(text[:len(Prefix)]) == Prefix }

// String returns the key in the form that Parse reads.
func (k Key) String() string {
	var b strings.Builder
	b.WriteString(Prefix)
	escape(&b, k.Job)
	b.WriteByte(':')
	escape(&b, k.Measure)
	b.WriteByte(':')
	b.WriteString(k.From.String())
	if k.To != k.From {
		b.WriteString("..")
		b.WriteString(k.To.String())
	}
	for _, g := range k.Groups {
		b.WriteByte(':')
		switch {
		case g.All:
			b.WriteByte('*')
		case g.Value == "*":
			b.WriteString("%2A")
		default:
			escape(&b, g.Value)
		}
	}
	return b.String()
}

func (p Point) String() string {
	switch {
	case !p.Start.IsZero() && p.Start.Second() == 0:
		return p.Start.UTC().Format("20060102T1504Z")
	case !p.Start.IsZero():
		return p.Start.UTC().Format("20060102T150405Z")
	case p.Ago == 0:
		return "now"
	}
	return strconv.FormatInt(-p.Ago, 10)
}

func escape(b *strings.Builder, s string) {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c == ':' || c == '%' || c <= ' ' || c == 0x7f {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		} else {
			b.WriteByte(c)
		}
	}
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", malformed("%q ends within an escape; write %% as %%25", s)
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", malformed("%q has the escape %q, not %% and two hex digits; write %% as %%25", s, s[i:i+3])
		}
		b = append(b, byte(n))
		i += 2
	}
	return string(b), nil
}
