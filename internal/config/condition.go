package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/event"
	"weir/window"
)

// A Where is one condition on an event: tests of a field, or a combination of conditions.
// Conditions nest two deep, which suffices for any formula.
type Where struct {
	Test
	Any []Inner `yaml:"any" max:"16" like:"where" doc:"Conditions of which at least one must hold; instead of field."`
	All []Inner `yaml:"all" max:"16" like:"where" doc:"Conditions that must all hold; instead of field."`
	Not *Inner  `yaml:"not" like:"where" doc:"A condition that must not hold; instead of field."`
}

// An Inner is a condition in a Where.
type Inner struct {
	Test
	Any []Test `yaml:"any" max:"16" like:"where" doc:"Tests of which at least one must hold; instead of field."`
	All []Test `yaml:"all" max:"16" like:"where" doc:"Tests that must all hold; instead of field."`
	Not *Test  `yaml:"not" like:"where" doc:"A test that must not hold; instead of field."`
}

// A Test tests one field. Everything that is given must hold.
type Test struct {
	Field   []string `yaml:"field" max:"8" format:"path" doc:"Path of the field, or several: the first that is there and not null. An event without the field passes is_not, not_in and exists: false, and no other test."`
	Apply   []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the text first, in this order: see [functions](#functions)."`
	In      []string `yaml:"in" max:"1000" format:"any" doc:"Accepted values: a string's contents, a number's text as it stands, true or false."`
	NotIn   []string `yaml:"not_in" max:"1000" format:"any" doc:"Values that are not accepted; the opposite of in."`
	Is      string   `yaml:"is" format:"operand" doc:"The value. A number equals numbers of the same value (10, 10.0, 1e1), a text (in quotes if it looks like a number) strings of the same bytes, true and false themselves."`
	IsNot   string   `yaml:"is_not" format:"operand" doc:"Not the value; the opposite of is."`
	Below   string   `yaml:"below" format:"operand" doc:"Less than this. A number is compared with numbers, exactly and in all digits; a text with strings, byte by byte. A value of another kind does not pass."`
	AtMost  string   `yaml:"at_most" format:"operand" doc:"Less than or equal to this."`
	Above   string   `yaml:"above" format:"operand" doc:"Greater than this."`
	AtLeast string   `yaml:"at_least" format:"operand" doc:"Greater than or equal to this."`
	Prefix  []string `yaml:"prefix" max:"100" format:"any" doc:"The text, as for in, begins with one of these, byte by byte."`
	Suffix  []string `yaml:"suffix" max:"100" format:"any" doc:"The text, as for in, ends with one of these, byte by byte."`
	Exists  string   `yaml:"exists" format:"flag" doc:"true: the value is there and not null. false: it is not."`
}

// fieldOf returns paths and functions as package window has a field.
func fieldOf(paths, apply []string) string {
	if len(paths) == 0 {
		return ""
	}
	var f event.Field
	for _, path := range paths {
		f.Paths = append(f.Paths, event.ParsePathText(path))
	}
	for _, name := range apply {
		fn, _ := event.ParseFunction(name) // Load has checked it
		f.Apply = append(f.Apply, fn)
	}
	return f.String()
}

func (t *Test) condition() window.Condition {
	return window.Condition{
		Path: fieldOf(t.Field, t.Apply), In: t.In, NotIn: t.NotIn, Is: t.Is, IsNot: t.IsNot,
		Below: t.Below, AtMost: t.AtMost, Above: t.Above, AtLeast: t.AtLeast,
		Prefix: t.Prefix, Suffix: t.Suffix, Exists: t.Exists,
	}
}

// node is a condition of any depth.
type condition interface {
	test() *Test
	condition() window.Condition
	// parts returns the conditions inside, by their places; forms are the keys any, all and
	// not that are given.
	parts() (inside []part, forms []string)
}

type part struct {
	at string
	condition
}

func (t *Test) test() *Test               { return t }
func (t *Test) parts() ([]part, []string) { return nil, nil }

func (w *Inner) condition() window.Condition { return combine(&w.Test, w.Any, w.All, w.Not) }
func (w *Inner) parts() ([]part, []string)   { return partsOf(w.Any, w.All, w.Not) }
func (w *Where) condition() window.Condition { return combine(&w.Test, w.Any, w.All, w.Not) }
func (w *Where) parts() ([]part, []string)   { return partsOf(w.Any, w.All, w.Not) }

// A pointer to an inner condition.
type inner[T any] interface {
	*T
	condition
}

func combine[T any, P inner[T]](t *Test, some, all []T, not P) window.Condition {
	c := t.condition()
	c.Any, c.All = conditions[T, P](some), conditions[T, P](all)
	if not != nil {
		n := not.condition()
		c.Not = &n
	}
	return c
}

// conditions returns conditions in the form of package window.
func conditions[T any, P inner[T]](list []T) (all []window.Condition) {
	for i := range list {
		all = append(all, P(&list[i]).condition())
	}
	return all
}

func partsOf[T any, P inner[T]](some, all []T, not P) (inside []part, forms []string) {
	add := func(key string, list []T) {
		if list != nil {
			forms = append(forms, key)
		}
		for i := range list {
			inside = append(inside, part{fmt.Sprintf("%s[%d]", key, i), P(&list[i])})
		}
	}
	add("any", some)
	add("all", all)
	if not != nil {
		forms = append(forms, "not")
		inside = append(inside, part{"not", not})
	}
	return inside, forms
}

// operand is a key of a Test with its value.
type operand struct {
	key   string
	texts []string
	value string
}

// tests returns the tests that are given.
func (t *Test) tests() []operand {
	return slices.DeleteFunc([]operand{
		{"in", t.In, ""}, {"not_in", t.NotIn, ""}, {"is", nil, t.Is}, {"is_not", nil, t.IsNot}, {"below", nil, t.Below}, {"at_most", nil, t.AtMost},
		{"above", nil, t.Above}, {"at_least", nil, t.AtLeast}, {"prefix", t.Prefix, ""}, {"suffix", t.Suffix, ""}, {"exists", nil, t.Exists},
	}, func(o operand) bool { return o.texts == nil && o.value == "" })
}

// where checks conditions.
func (v *validator) where(path string, j *Job, list []Where) {
	for i := range list {
		v.condition(fmt.Sprintf("%s[%d]", path, i), j, &list[i])
	}
}

// condition checks that a condition has one form, and that its tests make sense.
func (v *validator) condition(at string, j *Job, c condition) {
	t := c.test()
	tests := t.tests()
	inside, forms := c.parts()
	switch {
	case len(t.Field) > 0 && len(forms) > 0:
		v.complain(at, "has field and %s; make each a condition of its own", forms[0])
	case len(forms) > 1:
		v.complain(at, "has %s and %s; make each a condition of its own", forms[0], forms[1])
	case len(forms) == 1 && (len(tests) > 0 || t.Apply != nil):
		v.complain(at, "has %s, and tests of no field; make each a condition of its own", forms[0])
	case len(forms) == 0 && len(t.Field) == 0:
		v.complain(at, "needs field (%s)", firstSentence(table().child("jobs").child("where").child("field").doc))
	case len(forms) == 0 && len(tests) == 0:
		v.complain(at, "needs a test such as in: [view, click], is: view, at_least: 10, prefix: /p/ or exists: true")
	}
	for _, o := range tests {
		seen := map[string]bool{}
		for k, value := range o.texts {
			if seen[value] {
				v.complain(fmt.Sprintf("%s.%s[%d]", at, o.key, k), "%q is listed twice; keep one", value)
			}
			seen[value] = true
		}
		if ordered := o.key == "below" || o.key == "at_most" || o.key == "above" || o.key == "at_least"; ordered && (o.value == "true" || o.value == "false") {
			v.complain(at+"."+o.key, "%s has no order; write is: %s", o.value, o.value)
		}
	}
	v.constants(at, j, t)
	v.contradictions(at, t)
	for _, p := range inside {
		v.condition(at+"."+p.at, j, p.condition)
	}
}

// fields calls yield for each field that conditions name.
func fields(at string, c condition, yield func(at string, paths []string)) {
	yield(at, c.test().Field)
	inside, _ := c.parts()
	for _, p := range inside {
		fields(at+"."+p.at, p.condition, yield)
	}
}

// octal matches a whole number with a zero in front. To YAML 1.1 it is octal and to YAML 1.2 decimal,
// and most are codes, which are texts.
var octal = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// operandText returns a constant in a form that keeps its kind: a text in quotes, and a
// number, true or false as JSON has them.
func operandText(tag, value string, plain bool, integer func() (int64, bool)) (string, error) {
	if plain && json.Valid([]byte(value)) && tag == "!!str" { // a number that YAML finds too large
		tag = "!!float"
	}
	switch tag {
	case "!!bool":
		return strings.ToLower(value), nil
	case "!!int", "!!float":
		if _, err := event.ParseBound(value); err == nil {
			return value, nil
		}
		if tag == "!!int" && octal.MatchString(value) {
			return "", fmt.Errorf("%s has a zero in front; put a text in quotes, and write a number without it", value)
		}
		if n, ok := integer(); ok && tag == "!!int" {
			return strconv.FormatInt(n, 10), nil
		}
		return "", fmt.Errorf("%s is no number of JSON of at most 40 characters, between 1e-400 and 1e400; write it like 10, -0.5 or 1e6, or put a text in quotes", value)
	}
	return strconv.Quote(value), nil
}
