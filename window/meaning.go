package window

import (
	"fmt"
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
