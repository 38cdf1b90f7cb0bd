package window

import (
	"fmt"
	"strconv"
	"strings"

	"weir/event"
)

// A Change is one key of a job that means something else than before. Was and
// Is are the values as a configuration has them, in one line; "nothing" is a key
// that is not there.
type Change struct{ Key, Was, Is string }

func (c Change) String() string { return c.Key + " was " + c.Was + ", is " + c.Is }

// Difference compares two texts of Spec.Meaning and returns the keys that differ, in
// the order of the texts. ok is false if it cannot read one of the texts, for example
// because a later version of weir has written it.
func Difference(was, is string) (all []Change, ok bool) {
	return difference(was, is, readMeaning)
}

// difference compares two texts that read makes lists of settings of, in the same order.
func difference(was, is string, read func(string) ([]setting, bool)) (all []Change, ok bool) {
	before, readBefore := read(was)
	after, readAfter := read(is)
	if !readBefore || !readAfter {
		return nil, false
	}
	for i, s := range before {
		if s.fingerprint == after[i].fingerprint {
			continue
		}
		c := Change{s.key, s.shown, after[i].shown}
		switch {
		case c.Was != c.Is:
		case c.Key == "hash_key_file": // the secrets must not be shown
			c.Was, c.Is = "a file with one secret", "a file with another"
		default: // the same words meant less in an earlier version: see lenience
			c.Was += " (as an earlier version of weir read it: an event without a position was malformed all the same)"
		}
		all = append(all, c)
	}
	return all, true
}

// A setting is a key of a configuration, its value as people write it, and a text
// that is equal for equal values.
type setting struct{ key, shown, fingerprint string }

// nothing is shown of a setting that is not there.
const nothing = "nothing"

// readMeaning returns the inverse of Spec.Meaning. It returns a setting for every key that
// a job can have.
func readMeaning(text string) ([]setting, bool) {
	lines, ok := meaningLines(text)
	if !ok {
		return nil, false
	}
	if lines["format"] == nil { // Spec.Meaning leaves it out
		lines["format"] = [][]string{{event.JSON.String(), ""}}
	}
	m := &meaningReader{lines: lines, known: map[string]bool{lostKey: true}}
	m.one("format", 2, showFormat)
	m.one("time.field", 2, showTimeField)
	m.one("time.unit", 2, func(v []string) string { return v[1] })
	m.one("window", 1, span)
	m.one("lateness", 1, span)
	m.one("skew", 1, span)
	m.one("chunk", 1, first)
	m.one("max_groups", 1, first)
	m.list("by", m.items("by", 7, showColumn))
	m.list("where", append(m.items("condition", 1, first), m.items("where", 1, showIn)...))
	m.one("dedupe", 2, showDedupe)
	m.one("throttle", 5, showThrottle)
	m.secret("hash_key_file", "hash_key")
	m.list("columns", m.items("column", 2, showHeader))
	m.one("framing", 1, first)
	m.one("key_format", 1, first)
	m.one("each", 1, showEach)
	for key := range lines {
		m.strange = m.strange || !m.known[key]
	}
	return m.settings, !m.strange
}

// meaningLines returns the values of the lines of a text, by the keys they begin with.
func meaningLines(text string) (lines map[string][][]string, ok bool) {
	lines = map[string][][]string{}
	for line := range strings.Lines(text) {
		key, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		values, ok := quoted(rest)
		if !ok {
			return nil, false
		}
		lines[key] = append(lines[key], values)
	}
	return lines, true
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

// A meaningReader makes settings of lines.
type meaningReader struct {
	lines    map[string][][]string
	known    map[string]bool // the keys of lines that have been read
	settings []setting
	strange  bool // a line is not as this version writes it
}

// one adds a setting that is in one line of so many values. What stands behind a dot of the
// key is not in the key of the line.
func (m *meaningReader) one(key string, values int, show func(v []string) string) {
	name, _, _ := strings.Cut(key, ".")
	s := setting{key: key, shown: nothing}
	if v := m.line(name, values); v != nil {
		s.shown = show(v)
		s.fingerprint = s.shown
	}
	m.settings = append(m.settings, s)
}

// secret adds a setting whose value is not shown.
func (m *meaningReader) secret(key, name string) {
	s := setting{key: key, shown: nothing}
	if v := m.line(name, 1); v != nil {
		s.shown, s.fingerprint = "a file with a secret", v[0]
	}
	m.settings = append(m.settings, s)
}

// line returns the values of the only line of a key, or nil.
func (m *meaningReader) line(name string, values int) []string {
	m.known[name] = true
	of := m.lines[name]
	if len(of) == 0 {
		return nil
	}
	if len(of) > 1 || len(of[0]) != values {
		m.strange = true
		return nil
	}
	return of[0]
}

// list adds a setting that is a list.
func (m *meaningReader) list(key string, items []item) {
	s := setting{key: key, shown: nothing}
	var shown []string
	for _, i := range items {
		shown = append(shown, i.shown)
		s.fingerprint += i.fingerprint
	}
	if shown != nil {
		s.shown = "[" + strings.Join(shown, ", ") + "]"
	}
	m.settings = append(m.settings, s)
}

// An item of a list, as people write it, and a text that is equal for equal items.
type item struct{ shown, fingerprint string }

// items returns one for each line of a key. Each line has at least so many values.
func (m *meaningReader) items(name string, least int, show func(v []string) string) (all []item) {
	m.known[name] = true
	for _, v := range m.lines[name] {
		if len(v) < least {
			m.strange = true
			return nil
		}
		all = append(all, item{show(v), fmt.Sprintf("%s %q", name, v)})
	}
	return all
}

func first(v []string) string { return v[0] }

func showFormat(v []string) string {
	switch format, err := event.ParseFormat(v[0]); {
	case err == nil && !format.HasSchema():
		return v[0]
	case v[1] == "":
		return v[0] + " with a registry"
	}
	return v[0] + " with the schema " + v[1]
}

func showTimeField(v []string) string {
	if v[0] == "" { // the time of the record
		return nothing
	}
	return fieldWords(v[0])
}

// showColumn writes a column of `by` as a configuration has it. v has name, path,
// default, whether there is a default, lon, lat, precision.
func showColumn(v []string) string {
	name, path, value, lon, lat := v[0], v[1], v[2], v[4], v[5]
	if path != "" && path[0] != '[' && v[3] == "false" && name == strings.ReplaceAll(path, ".", "_") {
		return path
	}
	text := "{name: " + name
	if path != "" {
		text += ", " + fieldText(path)
	} else {
		text += ", geohash: {lon: " + lon + ", lat: " + lat + ", precision: " + v[6] + "}"
	}
	if v[3] != "false" {
		text += ", default: " + strconv.Quote(value)
	}
	return text + "}"
}

func showIn(v []string) string {
	return "{" + fieldText(v[0]) + ", in: [" + strings.Join(v[1:], ", ") + "]}"
}

func showDedupe(v []string) string {
	if v[1] == exact {
		return "{" + fieldText(v[0]) + ", exact: true}"
	}
	return "{" + fieldText(v[0]) + ", error: " + v[1] + "}"
}

// showThrottle: v has path, form, limit, per, burst.
func showThrottle(v []string) string {
	text := "{" + fieldText(v[0]) + ", limit: " + v[2] + ", per: " + span(v[3:4])
	if v[1] != "window" {
		text += ", form: " + v[1] + ", burst: " + v[4]
	}
	return text + "}"
}

// showHeader: v has the name of a column of CSV and its place, from 0.
func showHeader(v []string) string {
	at, _ := strconv.Atoi(v[1])
	return v[0] + " at " + strconv.Itoa(at+1)
}

func showEach(v []string) string {
	if v[0] == event.Whole {
		return v[0]
	}
	return fieldWords(v[0])
}

// span writes a duration, given in milliseconds, in the largest unit that divides it:
// 1m, 90s, 1d.
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

// MeasureDifference does the same for two texts of Measure.Meaning.
func MeasureDifference(was, is string) (all []Change, ok bool) {
	return difference(was, is, readMeasure)
}

func readMeasure(text string) ([]setting, bool) {
	var kind, path, optional, lon, lat string
	var capacity int
	var wrong float64
	if _, err := fmt.Sscanf(text, "%s %q optional=%s capacity=%d error=%g lon=%q lat=%q", &kind, &path, &optional, &capacity, &wrong, &lon, &lat); err != nil {
		return nil, false
	}
	all := []setting{{"kind", kind, kind}, {"field", fieldWords(path), path}, {"optional", strings.Replace(optional, "position", "true", 1), optional}}
	if k, ok := ParseKind(kind); ok && k.ByMember() {
		all[1].key = "member"
	}
	add := func(key, value string, there bool) {
		if !there {
			value = nothing
		}
		all = append(all, setting{key, value, value})
	}
	add("capacity", strconv.Itoa(capacity), capacity != 0)
	add("error", strconv.FormatFloat(wrong, 'g', -1, 64), wrong != 0)
	add("lon", fieldWords(lon), lon != "")
	add("lat", fieldWords(lat), lat != "")
	where, instead, scale, k, listed := "", nothing, "", "", ""
	if at := strings.LastIndex(text, ` where="`); at >= 0 {
		where, _ = strconv.Unquote(text[at+len(" where="):]) // not a where if it is no text
		text = text[:at]
	}
	if at := strings.LastIndex(text, ` default="`); at >= 0 {
		instead, text = text[at+len(" default="):], text[:at]
	}
	if at := strings.LastIndex(text, " k="); at >= 0 {
		if words := strings.Fields(text[at:]); len(words) == 2 && strings.HasPrefix(words[1], "listed=") {
			k, listed, text = words[0][len("k="):], words[1][len("listed="):], text[:at]
		}
	}
	if at := strings.LastIndex(text, " scale="); at >= 0 {
		scale = text[at+len(" scale="):]
	}
	add("scale", scale, scale != "")
	add("k", k, k != "")
	add("listed keys", listed, listed != "")
	add("default", instead, true)
	add("where", where, where != "")
	return all, true
}
