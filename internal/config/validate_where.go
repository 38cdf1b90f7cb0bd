package config

import (
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// kinds returns the kinds that a field can have, as far as the configuration and a schema in a file say it.
func (j *Job) kinds(paths, apply []string) (all event.Kinds) {
	format, err := event.ParseFormat(j.Format)
	columns := err == nil && format.HasColumns()
	for _, p := range paths {
		switch p = event.ParsePathText(p); {
		case strings.Contains(p, "[json]"):
			all |= event.AnyKind
		case strings.HasPrefix(p, "header:"), p == "key:" && j.KeyFormat == "":
			all |= event.Strings
		case event.InEnvelope(p):
			all |= event.AnyKind
		case columns:
			all |= event.Numbers | event.Strings
		case j.Schema != nil:
			all |= j.Schema.Kinds(event.ParsePathText(j.Each), p)
		default:
			all |= event.AnyKind
		}
	}
	if slices.Contains(apply, "host") || slices.Contains(apply, "path") {
		all &= event.Strings // of anything else there is none
	}
	return all
}

// kindWords names kinds in a message.
func kindWords(kinds event.Kinds) string {
	var words []string
	for i, word := range []string{"true or false", "a number", "a text", "an object or an array"} {
		if kinds&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " or ")
}

// constants warns of constants that no value can be like, whatever is in the log: so a test never
// holds, or always, and every number of the job may be wrong. These are no mistakes that stop a job,
// because one that has them already could lose them only with a new version.
func (v *validator) constants(at string, j *Job, t *Test) {
	field := fieldName(t.Field, t.Apply)
	warn := func(key, format string, args ...any) { v.warn(at+"."+key, format, args...) }
	kinds := j.kinds(t.Field, t.Apply)
	if kinds == 0 {
		return
	}
	format, _ := event.ParseFormat(j.Format) // it has been checked
	host := slices.Contains(t.Apply, "host")
	for _, o := range t.tests() {
		constant, err := strconv.Unquote(o.value)
		quoted := err == nil
		equal := o.key == "is" || o.key == "is_not"
		of, what := event.Numbers, "a number"
		switch {
		case quoted:
			of, what = event.Strings, "a text"
		case o.value == "true", o.value == "false":
			of, what = event.Bools, "a bool"
		}
		outcome, remedy := "the test never holds", ""
		if o.key == "is_not" {
			outcome = "the test always holds"
		}
		switch {
		case equal && quoted && (isNumber(constant) && kinds&event.Numbers != 0 || (constant == "true" || constant == "false") && kinds&event.Bools != 0):
			remedy = "; leave the quotes out"
		case equal && !quoted && kinds&event.Strings != 0:
			remedy = "; put quotes around " + o.value
		}
		switch {
		case o.texts != nil, o.key == "exists":
		case kinds&of == 0:
			warn(o.key, "%s is %s, and %s is %s: %s%s", field, kindWords(kinds), o.value, what, outcome, remedy)
		case kinds == event.Numbers|event.Strings && format.HasColumns() && equal && quoted && isNumber(constant):
			warn(o.key, "%s is a number where it looks like one, and %q is a text: %s; leave the quotes out", field, constant, outcome)
		}
		texts := o.texts
		if quoted && equal {
			texts = []string{constant}
		}
		for _, s := range texts {
			// lower leaves numbers, such as 1E5, as they are.
			if small := strings.Map(lower, s); small != s && (host || slices.Contains(t.Apply, "lower") && (kinds&event.Numbers == 0 || strings.Trim(s, "0123456789+-.E") != "")) {
				warn(o.key, "%s has no letters A to Z: no value is like %q; write %q", field, s, small)
			}
		}
	}
}

// contradictions warns of tests of one field that no value can pass together: bounds that exclude each
// other, values that are wanted and refused, and exists: false beside a test that a missing field does not pass.
func (v *validator) contradictions(at string, t *Test) {
	never := func(first, second string) {
		v.warn(at, "no value passes %s and %s: the condition never holds", first, second)
	}
	for _, low := range []operand{{"above", nil, t.Above}, {"at_least", nil, t.AtLeast}, {"is", nil, t.Is}} {
		for _, high := range []operand{{"below", nil, t.Below}, {"at_most", nil, t.AtMost}, {"is", nil, t.Is}} {
			order, ok := compareConstants(low.value, high.value)
			strict := low.key == "above" || high.key == "below"
			if ok && (order > 0 || order == 0 && strict) {
				never(low.key+": "+low.value, high.key+": "+high.value)
			}
		}
	}
	if order, ok := compareConstants(t.Is, t.IsNot); ok && order == 0 {
		never("is: "+t.Is, "is_not: "+t.IsNot)
	}
	if text, err := strconv.Unquote(t.Is); err == nil {
		if t.In != nil && !slices.Contains(t.In, text) {
			never("is: "+t.Is, "in")
		}
		if slices.Contains(t.NotIn, text) {
			never("is: "+t.Is, "not_in")
		}
	}
	passes := func(value string) bool { return !slices.Contains(t.NotIn, value) }
	if t.In != nil && !slices.ContainsFunc(t.In, passes) {
		never("in", "not_in")
	}
	for _, o := range t.tests() {
		if t.Exists == "false" && o.key != "exists" && o.key != "is_not" && o.key != "not_in" {
			never("exists: false", o.key)
		}
	}
}

// compareConstants compares two constants of one kind; ok is false for others.
func compareConstants(a, b string) (order int, ok bool) {
	textA, errA := strconv.Unquote(a)
	textB, errB := strconv.Unquote(b)
	if errA == nil && errB == nil {
		return strings.Compare(textA, textB), true
	}
	bound, err := event.ParseBound(b)
	if err != nil {
		return 0, false
	}
	number := event.Value{Kind: event.Number, Bytes: []byte(a)}
	return number.Compare(&bound)
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

func isNumber(text string) bool {
	_, err := event.ParseBound(text)
	return err == nil
}
