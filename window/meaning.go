package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// Meaning returns everything but the measures as a text: equal specs have equal
// texts. The sink keeps it. A job whose text differs from the one in the sink, by SameMeaning,
// needs a higher version. LostSchemas are not in it: what they decide had no outcome before.
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
	if s.Format != event.JSON { // earlier versions had no other
		f("format", s.Format.String(), s.Schema)
	}
	if s.Glue {
		f("framing", "glue")
	}
	if s.Keyed {
		f("key_format", s.Format.String())
	}
	if s.Each != "" {
		f("each", s.Each)
	}
	names, at := s.columns() // those that are not read may change
	for i, name := range names {
		f("column", name, n(int64(at[i])))
	}
	f("time", s.TimeField, s.TimeUnit.String())
	f("window", n(int64(s.Window)))
	f("lateness", n(int64(s.Lateness)))
	f("skew", n(int64(s.Skew)))
	f("chunk", n(s.Chunk))
	f("max_groups", n(int64(s.MaxGroups)))
	for _, c := range s.By {
		f("by", c.Name, c.Path, c.Default, lenience(c.HasDefault, c.Path == ""), c.Lon, c.Lat, n(int64(c.Precision)))
	}
	for _, c := range s.Where {
		if c.onlyIn() {
			f("where", append([]string{c.Path}, c.In...)...)
		} else {
			f("condition", c.text())
		}
	}
	if d := s.Dedupe; d != nil {
		how := exact
		if !d.Exact {
			how = strconv.FormatFloat(d.Error, 'g', -1, 64)
		}
		f("dedupe", d.Path, how)
	}
	if t := s.Throttle; t != nil {
		form := "window"
		if t.Funnel {
			form = "funnel"
		}
		f("throttle", t.Path, form, n(int64(t.Limit)), n(int64(t.Per)), n(int64(t.Burst)))
	}
	if s.HashKey != nil {
		// The key is secret. It is random, so its digest does not reveal it.
		f("hash_key", n(int64(keyCheck(s.HashKey))))
	}
	return b.String()
}

// lostKey begins the line of LostSchemas in texts of earlier versions of weir.
const lostKey = "lost_schemas"

// SameMeaning reports whether two texts of Spec.Meaning say the same.
func SameMeaning(was, is string) bool {
	var b strings.Builder
	for line := range strings.Lines(was) {
		if !strings.HasPrefix(line, lostKey+" ") {
			b.WriteString(line)
		}
	}
	return b.String() == is
}

// exact stands in the place of the error of a Dedupe that makes none.
const exact = "exact"

// Meaning returns one measure as a text. A job may get further measures (windows
// from before have nothing in them), but a measure may not change.
func (m *Measure) Meaning() string {
	text := fmt.Sprintf("%s %q optional=%s capacity=%d error=%g lon=%q lat=%q", m.Kind, m.Path, lenience(m.Optional, m.Kind.ByMember()), m.Capacity, m.Error, m.Lon, m.Lat)
	if m.Kind.Additive() { // the other kinds have the text that they had before there was a scale
		text += fmt.Sprintf(" scale=%d", m.Scale)
	}
	if m.K != 0 {
		text += fmt.Sprintf(" k=%d listed=%d", m.K, m.Listed())
	}
	if m.HasDefault { // earlier versions had none
		text += " default=" + strconv.Quote(m.Default)
	}
	if len(m.Where) > 0 { // earlier versions had none
		text += " where=" + strconv.Quote(conditionsText(m.Where))
	}
	return text
}

// lenience says whether an event may lack the field. For a position it says
// "position" instead of "true". Earlier versions of weir wrote "true" there, and
// called an event without a position malformed all the same; one version of a job
// must not do both.
func lenience(optional, position bool) string {
	if optional && position {
		return "position"
	}
	return strconv.FormatBool(optional)
}

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

// readMeaning returns the inverse of Spec.Meaning. It returns a setting for every key that
// a job can have.
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
	all := make([]setting, 0, 11)
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
	add("format", 2, func(v []string) string {
		switch format, err := event.ParseFormat(v[0]); {
		case err == nil && !format.HasSchema():
			return v[0]
		case v[1] == "":
			return v[0] + " with a registry"
		}
		return v[0] + " with the schema " + v[1]
	})
	if all[0].fingerprint == "" {
		all[0].shown = event.JSON.String()
	}
	add("time.field", 2, func(v []string) string {
		if v[0] == "" { // the time of the record
			return "nothing"
		}
		return fieldWords(v[0])
	})
	add("time.unit", 2, func(v []string) string { return v[1] })
	add("window", 1, span)
	add("lateness", 1, span)
	add("skew", 1, span)
	add("chunk", 1, first)
	add("max_groups", 1, first)
	list := func(key string, least int, show func(v []string) string) {
		s := setting{key: key, shown: "nothing", fingerprint: fmt.Sprintf("%q", lines[key])}
		var texts []string
		for _, v := range lines["condition"] {
			if key == "where" && len(v) == 1 {
				texts = append(texts, v[0])
				s.fingerprint += strconv.Quote(v[0])
			}
		}
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
	list("where", 1, func(v []string) string { return "{" + fieldText(v[0]) + ", in: [" + strings.Join(v[1:], ", ") + "]}" })
	add("dedupe", 2, func(v []string) string {
		if v[1] == exact {
			return "{" + fieldText(v[0]) + ", exact: true}"
		}
		return "{" + fieldText(v[0]) + ", error: " + v[1] + "}"
	})
	add("throttle", 5, func(v []string) string {
		text := "{" + fieldText(v[0]) + ", limit: " + v[2] + ", per: " + span(v[3:4])
		if v[1] != "window" {
			text += ", form: " + v[1] + ", burst: " + v[4]
		}
		return text + "}"
	})
	key := setting{key: "hash_key_file", shown: "nothing"}
	if check := lines["hash_key"]; check != nil {
		key.shown, key.fingerprint = "a file with a secret", fmt.Sprintf("%q", check)
	}
	all = append(all, key)
	list("column", 2, func(v []string) string {
		at, _ := strconv.Atoi(v[1])
		return v[0] + " at " + strconv.Itoa(at+1)
	})
	all[len(all)-1].key = "columns"
	add("framing", 1, first)
	add("key_format", 1, first)
	add("each", 1, func(v []string) string {
		if v[0] == event.Whole {
			return v[0]
		}
		return fieldWords(v[0])
	})
	for key := range lines {
		ok = ok && slices.Contains([]string{"format", "column", "framing", "key_format", lostKey, "each", "time", "window", "lateness", "skew", "chunk", "max_groups", "by", "where", "condition", "dedupe", "throttle", "hash_key"}, key)
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
			value = "nothing"
		}
		all = append(all, setting{key, value, value})
	}
	add("capacity", strconv.Itoa(capacity), capacity != 0)
	add("error", strconv.FormatFloat(wrong, 'g', -1, 64), wrong != 0)
	add("lon", fieldWords(lon), lon != "")
	add("lat", fieldWords(lat), lat != "")
	where, instead, scale, k, listed := "", "nothing", "", "", ""
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
