package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// Meaning is the canonical text of everything but the measures: the job's
// fingerprint. A job whose stored meaning differs must raise its version.
func (s *Spec) Meaning() string {
	var b strings.Builder
	f := func(key string, values ...string) {
		b.WriteString(key)
		for _, v := range values {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(v))
		}
		b.WriteByte('\n')
	}
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	f("time", s.TimeField, s.TimeUnit.String())
	f("window", n(int64(s.Window)))
	f("lateness", n(int64(s.Lateness)))
	f("skew", n(int64(s.Skew)))
	f("chunk", n(s.Chunk))
	f("max_groups", n(int64(s.MaxGroups)))
	for _, c := range s.By {
		f("by", c.Name, c.Path, c.Default, covers(c.HasDefault, c.Path == ""), c.Lon, c.Lat, n(int64(c.Precision)))
	}
	for _, c := range s.Where {
		f("where", append([]string{c.Path}, c.In...)...)
	}
	if s.Dedupe != nil {
		f("dedupe", s.Dedupe.Path, strconv.FormatFloat(s.Dedupe.Error, 'g', -1, 64))
	}
	if s.HashKey != nil {
		// The key itself is a secret: a digest of it would let ids be tried
		// against it offline only by those who already know the key.
		f("hash_key", n(int64(keyCheck(s.HashKey))))
	}
	return b.String()
}

// Meaning is the canonical text of one measure. Measures may be added to a
// job (older windows simply lack them) but not changed.
func (m *Measure) Meaning() string {
	return fmt.Sprintf("%s %q optional=%s capacity=%d error=%g lon=%q lat=%q", m.Kind, m.Path, covers(m.Optional, m.Kind.ByMember()), m.Capacity, m.Error, m.Lon, m.Lat)
}

// covers says whether the lack of a field has a meaning. "position" is another
// one than the "true" of versions that covered no position: under them such an
// event was malformed, and one job version must not know it as both.
func covers(lack, position bool) string {
	if lack && position {
		return "position"
	}
	return strconv.FormatBool(lack)
}

// A Change is one key of a job that means something else than before. Was and
// Is are what a configuration would say, in one line; "nothing" is a key that is
// not there.
type Change struct{ Key, Was, Is string }

func (c Change) String() string { return c.Key + " was " + c.Was + ", is " + c.Is }

// Difference is the keys of a job that differ between two texts that Spec.Meaning
// has made, in the order of the texts. It is empty if none differ, and false if
// one of the texts is none of these, as those of a later version of weir may be.
func Difference(was, is string) (all []Change, ok bool) {
	before, known := readMeaning(was)
	after, sane := readMeaning(is)
	if !known || !sane {
		return nil, false
	}
	return compare(before, after), true
}

// compare lists what differs between two lists of settings in the same order.
func compare(before, after []setting) (all []Change) {
	for i, s := range before {
		if s.fingerprint == after[i].fingerprint {
			continue
		}
		c := Change{s.key, s.shown, after[i].shown}
		switch {
		case c.Was != c.Is:
		case c.Key == "hash_key_file": // nothing that people could compare
			c.Was, c.Is = "a file with one secret", "one with another"
		default: // what is written is the same, what it covers is not
			c.Was += " (of an earlier version of weir, which did not see the lack of a position in it)"
		}
		all = append(all, c)
	}
	return all
}

// A setting is a key as people write it and what decides whether two are equal.
type setting struct{ key, shown, fingerprint string }

// readMeaning is the inverse of Spec.Meaning: every key that there can be.
func readMeaning(text string) ([]setting, bool) {
	lines := map[string][][]string{}
	for line := range strings.Lines(text) {
		key, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		values, ok := quoted(rest)
		if !ok {
			return nil, false
		}
		lines[key] = append(lines[key], values)
	}
	all := make([]setting, 0, 10)
	ok := true
	add := func(key string, values int, show func(v []string) string) {
		name, _, _ := strings.Cut(key, ".")
		of := lines[name]
		if len(of) > 1 || len(of) == 1 && len(of[0]) != values {
			ok = false
			return
		}
		s := setting{key: key, shown: "nothing"}
		if len(of) == 1 {
			s.shown = show(of[0])
			s.fingerprint = s.shown
		}
		all = append(all, s)
	}
	first := func(v []string) string { return v[0] }
	add("time.field", 2, first)
	add("time.unit", 2, func(v []string) string { return v[1] })
	add("window", 1, span)
	add("lateness", 1, span)
	add("skew", 1, span)
	add("chunk", 1, first)
	add("max_groups", 1, first)
	list := func(key string, least int, show func(v []string) string) {
		s := setting{key: key, shown: "nothing", fingerprint: fmt.Sprintf("%q", lines[key])}
		var texts []string
		for _, v := range lines[key] {
			if len(v) < least {
				ok = false
				return
			}
			texts = append(texts, show(v))
		}
		if texts != nil {
			s.shown = "[" + strings.Join(texts, ", ") + "]"
		}
		all = append(all, s)
	}
	list("by", 7, showColumn)
	list("where", 1, func(v []string) string { return "{field: " + v[0] + ", in: [" + strings.Join(v[1:], ", ") + "]}" })
	add("dedupe", 2, func(v []string) string { return "{field: " + v[0] + ", error: " + v[1] + "}" })
	key := setting{key: "hash_key_file", shown: "nothing"}
	if check := lines["hash_key"]; check != nil {
		key.shown, key.fingerprint = "a file with a secret", fmt.Sprintf("%q", check)
	}
	all = append(all, key)
	for key := range lines {
		ok = ok && slices.Contains([]string{"time", "window", "lateness", "skew", "chunk", "max_groups", "by", "where", "dedupe", "hash_key"}, key)
	}
	return all, ok
}

// quoted reads texts as strconv.Quote writes them, with blanks between them.
func quoted(rest string) (values []string, ok bool) {
	for rest != "" {
		text, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, false
		}
		value, err := strconv.Unquote(text)
		if err != nil {
			return nil, false
		}
		values = append(values, value)
		rest = strings.TrimPrefix(rest[len(text):], " ")
	}
	return values, true
}

// showColumn is a group column as one would write it: name, path, default,
// whether there is one, lon, lat, precision.
func showColumn(v []string) string {
	name, path, value, lon, lat := v[0], v[1], v[2], v[4], v[5]
	if path != "" && v[3] == "false" && name == strings.ReplaceAll(path, ".", "_") {
		return path
	}
	text := "{name: " + name
	if path != "" {
		text += ", field: " + path
	} else {
		text += ", geohash: {lon: " + lon + ", lat: " + lat + ", precision: " + v[6] + "}"
	}
	if v[3] != "false" {
		text += ", default: " + strconv.Quote(value)
	}
	return text + "}"
}

// span writes milliseconds in the largest unit that divides them: 1m, 90s, 1d.
func span(v []string) string {
	n, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil || n == 0 {
		return v[0] + "s"
	}
	for _, u := range []struct {
		size event.Time
		name string
	}{{86_400_000, "d"}, {3_600_000, "h"}, {60_000, "m"}, {1000, "s"}} {
		if event.Time(n)%u.size == 0 {
			return strconv.FormatInt(n/int64(u.size), 10) + u.name
		}
	}
	return v[0] + "ms"
}

// MeasureDifference is the keys that differ between two texts that
// Measure.Meaning has made; false as for Difference.
func MeasureDifference(was, is string) (all []Change, ok bool) {
	before, known := readMeasure(was)
	after, sane := readMeasure(is)
	if !known || !sane {
		return nil, false
	}
	return compare(before, after), true
}

func readMeasure(text string) ([]setting, bool) {
	var kind, path, optional, lon, lat string
	var capacity int
	var wrong float64
	if _, err := fmt.Sscanf(text, "%s %q optional=%s capacity=%d error=%g lon=%q lat=%q", &kind, &path, &optional, &capacity, &wrong, &lon, &lat); err != nil {
		return nil, false
	}
	all := []setting{{"sketch", kind, kind}, {"field", path, path}, {"optional", strings.Replace(optional, "position", "true", 1), optional}}
	if k, ok := ParseKind(kind); ok && k.ByMember() {
		all[1].key = "member"
	}
	add := func(key, value string, there bool) {
		if !there {
			value = "nothing"
		}
		all = append(all, setting{key, value, value})
	}
	add("capacity", strconv.Itoa(capacity), capacity != 0)
	add("error", strconv.FormatFloat(wrong, 'g', -1, 64), capacity != 0)
	add("lon", lon, lon != "")
	add("lat", lat, lat != "")
	return all, true
}
