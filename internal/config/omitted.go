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
// be missing by their nature, nor of ids, because an empty one is none.
func (j *Job) Omissions(zero func(path string) (event.Value, bool)) (all []Omission) {
	add := func(at string, paths []string, what func(text string) string) {
		if len(paths) != 1 {
			return
		}
		if v, ok := zero(event.ParsePathText(paths[0])); ok {
			text := zeroText(v)
			all = append(all, Omission{at, fmt.Sprintf("producers do not write %s where it is %s, because the schema does not declare it optional: %s", paths[0], text, what(text))})
		}
	}
	for i, c := range j.By {
		if c.Default == nil {
			add(fmt.Sprintf("by[%d]", i), c.Field, func(string) string { return "such events are malformed; give the column a default" })
		}
	}
	in := func(at string, list []Where) {
		for i := range list {
			at, c := fmt.Sprintf("%s[%d]", at, i), &list[i]
			var seen []string
			fields(at, c, func(_ string, paths []string) {
				if len(paths) != 1 || slices.Contains(seen, paths[0]) {
					return
				}
				seen = append(seen, paths[0])
				v, ok := zero(event.ParsePathText(paths[0]))
				if !ok {
					return
				}
				passes, fails := differs(c, paths[0], v)
				if passes || fails {
					add(at, paths, func(text string) string { return zeroRemedy(paths[0], text, passes) })
				}
			})
		}
	}
	in("where", j.Where)
	for i := range j.Measures {
		m, at := &j.Measures[i], fmt.Sprintf("measures[%d]", i)
		in(at+".where", m.Where)
		k := m.kind()
		switch {
		case m.Default != nil || !k.number && !k.plain:
		case !m.Optional:
			add(at, m.Field, func(text string) string { return "such events are malformed; say default: " + text })
		case k != &sumMeasure:
			add(at, m.Field, func(text string) string {
				return m.Kind + " leaves such events out; say default: " + text + " in place of optional: true"
			})
		}
	}
	return all
}

func zeroRemedy(path, text string, passes bool) string {
	if passes {
		return "such events do not meet the condition, and with a written " + text + " they would; say any: […, {field: " + path + ", exists: false}]"
	}
	return "such events meet the condition, and with a written " + text + " they would not; say all: […, {field: " + path + ", exists: true}]"
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
