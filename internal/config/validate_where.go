package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// alwaysText reports whether all paths lead to what is a text in every event: a header, or a key
// without a schema.
func (j *Job) alwaysText(paths []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		p = event.ParsePathText(p)
		return strings.Contains(p, "[json]") || !strings.HasPrefix(p, "header:") && (p != "key:" || j.KeyFormat != "")
	})
}

// alwaysCell reports whether all paths lead to columns, whose values are numbers and texts.
func (j *Job) alwaysCell(paths []string) bool {
	format, err := event.ParseFormat(j.Format)
	return err == nil && format.HasColumns() && len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return strings.Contains(p, "[json]") || event.InEnvelope(event.ParsePathText(p))
	})
}

// constants warns of constants that no value can be like, whatever is in the log: so a test never
// holds, or always, and every number of the job may be wrong. These are no mistakes that stop a job,
// because one that has them already could lose them only with a new version.
func (v *validator) constants(at string, j *Job, t *Test) {
	field := fieldName(t.Field, t.Apply)
	warn := func(key, format string, args ...any) {
		v.origins.Warnings = append(v.origins.Warnings, fmt.Sprintf("%s.%s: ", at, key)+fmt.Sprintf(format, args...))
	}
	host := slices.Contains(t.Apply, "host")
	text := host || slices.Contains(t.Apply, "path") || j.alwaysText(t.Field)
	cell := !text && j.alwaysCell(t.Field)
	for _, o := range t.tests() {
		constant, err := strconv.Unquote(o.value)
		quoted := err == nil
		equal := o.key == "is" || o.key == "is_not"
		outcome, remedy := "the test never holds", ""
		if o.key == "is_not" {
			outcome = "the test always holds"
		}
		if equal {
			remedy = "; put quotes around " + o.value
		}
		switch boolean := o.value == "true" || o.value == "false"; {
		case o.texts != nil, o.key == "exists":
		case text && !quoted:
			warn(o.key, "%s is a text, and %s is none: %s%s", field, o.value, outcome, remedy)
		case cell && boolean:
			warn(o.key, "%s is a number or a text, and %s is neither: %s%s", field, o.value, outcome, remedy)
		case cell && quoted && equal && isNumber(constant):
			warn(o.key, "%s is a number where it looks like one, and %q is a text: %s; leave the quotes out", field, constant, outcome)
		}
		texts := o.texts
		if quoted && equal {
			texts = []string{constant}
		}
		for _, s := range texts {
			// lower leaves numbers, such as 1E5, as they are.
			if small := strings.Map(lower, s); small != s && (host || slices.Contains(t.Apply, "lower") && (text || strings.Trim(s, "0123456789+-.E") != "")) {
				warn(o.key, "%s has no letters A to Z: no value is like %q; write %q", field, s, small)
			}
		}
	}
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
