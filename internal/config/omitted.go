package config

import (
	"fmt"
	"slices"
	"strconv"

	"weir/event"
)

// An Omission is what a job does not see of the events in which a field has a value that
// their producers do not write, and the remedy.
type Omission struct {
	At   string // the place in the job: measures[1]
	Text string
}

// Omissions returns what the job misses where zero returns the value that is not written at
// a path, as event.Schema.Omitted does. It says nothing of fields of several paths, which may
// be missing by their nature.
func (j *Job) Omissions(zero func(path string) (event.Value, bool)) (all []Omission) {
	omitted := func(paths []string) (event.Value, bool) {
		if len(paths) != 1 {
			return event.Value{}, false
		}
		return zero(event.ParsePathText(paths[0]))
	}
	add := func(at, path string, v event.Value, what string) {
		all = append(all, Omission{at, fmt.Sprintf("producers do not write %s where it is %s, because the schema does not declare it optional: %s", path, zeroText(v), what)})
	}
	for i, c := range j.By {
		if v, ok := omitted(c.Field); ok && c.Default == nil {
			add(fmt.Sprintf("by[%d]", i), c.Field[0], v, "such events are malformed; give the column a default")
		}
	}
	in := func(at string, list []Where) {
		for i := range list {
			at, c := fmt.Sprintf("%s[%d]", at, i), &list[i]
			var seen []string
			fields(at, c, func(_ string, paths []string) {
				v, ok := omitted(paths)
				if !ok || slices.Contains(seen, paths[0]) {
					return
				}
				seen = append(seen, paths[0])
				if passes, fails := differs(c, paths[0], v); passes || fails {
					add(at, paths[0], v, zeroRemedy(c, paths[0], zeroText(v), passes, fails))
				}
			})
		}
	}
	in("where", j.Where)
	for i := range j.Measures {
		m, at := &j.Measures[i], fmt.Sprintf("measures[%d]", i)
		in(at+".where", m.Where)
		v, ok := omitted(m.Field)
		switch {
		case !ok || m.Default != nil || !m.counts(v):
		case !m.Optional:
			add(at, m.Field[0], v, "such events are malformed; say default: "+zeroText(v))
		case m.kind() != &sumMeasure:
			add(at, m.Field[0], v, m.Kind+" leaves such events out; say default: "+zeroText(v)+" in place of optional: true")
		}
	}
	return all
}

// counts reports whether a measure counts an event in which its field has a value: as an id, text or number.
func (m *Measure) counts(v event.Value) bool {
	if v.Kind == event.String && (slices.Contains(m.Apply, "host") || slices.Contains(m.Apply, "path")) {
		return false // an empty text has none
	}
	return m.kind().plain || v.Kind == event.Number // an empty text is no id
}

// zeroRemedy says what a condition makes of such events, and what to write instead.
func zeroRemedy(c condition, path, text string, passes, fails bool) string {
	field := quoteIndexed(path)
	does, remedy := "such events meet the condition, and with a written "+text+" they would not; ", "add the condition {field: "+field+", exists: true}"
	if passes {
		does, remedy = "such events do not meet the condition, and with a written "+text+" they would; ", "say any: […, {field: "+field+", exists: false}]"
	}
	switch {
	case asksExists(c, path):
		remedy = "no condition tells them from events without the field: declare it optional"
	case passes && (fails || !canBeOneOf(c)):
		remedy = "declare it optional"
	}
	return does + remedy
}

// canBeOneOf reports whether any: may have a condition as one of its own: it is no deeper then than
// conditions may be.
func canBeOneOf(c condition) bool {
	inside, forms := c.parts()
	return slices.Contains(forms, "any") || !slices.ContainsFunc(inside, func(p part) bool { _, forms := p.parts(); return forms != nil })
}

// asksExists reports whether a condition asks whether a field is there.
func asksExists(c condition, path string) bool {
	if ofField(c, path) && c.test().Exists != "" {
		return true
	}
	inside, _ := c.parts()
	return slices.ContainsFunc(inside, func(p part) bool { return asksExists(p.condition, path) })
}

// zeroText writes a value as a configuration has it.
func zeroText(v event.Value) string {
	if v.Kind == event.String {
		return strconv.Quote(string(v.Bytes))
	}
	return string(v.Bytes)
}

// maxFree bounds how many tests of other fields differs tries both ways.
const maxFree = 8

// differs reports whether a condition can hold for a value of a field and not for a missing
// one (passes), or the other way round (fails), whatever the outcomes of its tests of other
// fields are.
func differs(c condition, path string, v event.Value) (passes, fails bool) {
	free := 0
	count(c, path, &free)
	if free > maxFree {
		return false, false
	}
	for others := range 1 << free {
		with, without := outcome(c, path, v, others), outcome(c, path, event.Value{}, others)
		passes = passes || with && !without
		fails = fails || without && !with
	}
	return passes, fails
}

// ofField reports whether a condition is a test of one path.
func ofField(c condition, path string) bool { return slices.Equal(c.test().Field, []string{path}) }

// count counts the tests of other fields.
func count(c condition, path string, free *int) {
	if len(c.test().Field) > 0 && !ofField(c, path) {
		*free++
	}
	inside, _ := c.parts()
	for _, p := range inside {
		count(p.condition, path, free)
	}
}

// outcome returns whether a condition holds for a value of a field. others has a bit for
// each test of another field, in the order of count.
func outcome(c condition, path string, v event.Value, others int) bool {
	var eval func(c condition) bool
	eval = func(c condition) bool {
		if ofField(c, path) {
			w := c.test().condition()
			if apply := c.test().Apply; slices.Contains(apply, "host") || slices.Contains(apply, "path") {
				return w.Holds(event.Value{}) // an empty text has none
			}
			return w.Holds(v)
		}
		if len(c.test().Field) > 0 {
			holds := others&1 == 1
			others >>= 1
			return holds
		}
		inside, forms := c.parts()
		one, every := false, true
		for _, p := range inside { // all of them, because each takes its bit
			holds := eval(p.condition)
			one, every = one || holds, every && holds
		}
		switch {
		case slices.Contains(forms, "not"):
			return !every
		case slices.Contains(forms, "any"):
			return one
		}
		return every
	}
	return eval(c)
}
