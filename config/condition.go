package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"weir/event"
	"weir/window"
)

// A Where is one condition on an event: tests of a field, all of which must hold, or a combination
// of conditions. Conditions nest two deep, which suffices for any formula.
type Where struct {
	Field   []string `yaml:"field" max:"8" format:"path" doc:"Path of the field, or several: the first that is there and neither null nor an empty text. An event without the field passes is_not, not_in and exists: false, and no other test."`
	Apply   []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the text first, in this order: see [functions](#functions)."`
	In      []string `yaml:"in" max:"1000" format:"any" doc:"Accepted values: a string's contents, a number's text as it stands, true or false."`
	NotIn   []string `yaml:"not_in" max:"1000" format:"any" doc:"Values that are not accepted; the opposite of in."`
	Is      string   `yaml:"is" format:"operand" doc:"The value. A number equals numbers of the same value (10, 10.0, 1e1, also in a text), a text (in quotes if it looks like a number) strings of the same bytes, true and false themselves."`
	IsNot   string   `yaml:"is_not" format:"operand" doc:"Not the value; the opposite of is."`
	Below   string   `yaml:"below" format:"operand" doc:"Less than this. A number is compared with numbers, also in a text, exactly and in all digits; a text with strings, byte by byte. A value of another kind does not pass."`
	AtMost  string   `yaml:"at_most" format:"operand" doc:"Less than or equal to this."`
	Above   string   `yaml:"above" format:"operand" doc:"Greater than this."`
	AtLeast string   `yaml:"at_least" format:"operand" doc:"Greater than or equal to this."`
	Prefix  []string `yaml:"prefix" max:"100" format:"any" doc:"The text, as for in, begins with one of these, byte by byte."`
	Suffix  []string `yaml:"suffix" max:"100" format:"any" doc:"The text, as for in, ends with one of these, byte by byte."`
	Exists  string   `yaml:"exists" format:"flag" doc:"true: the value is there and not null. false: it is not."`

	Any []Where `yaml:"any" max:"16" like:"where" doc:"Conditions of which at least one must hold; instead of field."`
	All []Where `yaml:"all" max:"16" like:"where" doc:"Conditions that must all hold; instead of field."`
	Not *Where  `yaml:"not" like:"where" doc:"A condition that must not hold; instead of field."`
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

// conditions returns conditions in the form of package window.
func conditions(list []Where) (all []window.Condition) {
	for _, w := range list {
		c := window.Condition{
			Path: fieldOf(w.Field, w.Apply), In: w.In, NotIn: w.NotIn, Is: w.Is, IsNot: w.IsNot,
			Below: w.Below, AtMost: w.AtMost, Above: w.Above, AtLeast: w.AtLeast,
			Prefix: w.Prefix, Suffix: w.Suffix, Exists: w.Exists, Any: conditions(w.Any), All: conditions(w.All),
		}
		if w.Not != nil {
			c.Not = &conditions([]Where{*w.Not})[0]
		}
		all = append(all, c)
	}
	return all
}

// where checks that a condition has one form, and that its tests make sense.
func (v *validator) where(at string, w *Where) {
	forms := 0
	for _, given := range []bool{w.Field != nil, len(w.Any) > 0, len(w.All) > 0, w.Not != nil} {
		if given {
			forms++
		}
	}
	all := []string{"in", "not_in", "is", "is_not", "below", "at_most", "above", "at_least", "prefix", "suffix", "exists"}
	tests := slices.DeleteFunc(all, func(key string) bool { return !v.given(join(at, key)) })
	v.must(forms == 1, at, "needs one of field (the path that it tests), any, all and not; make each further one a condition of its own")
	v.must(forms == 0 || w.Field != nil || len(tests) == 0 && w.Apply == nil, at, "has a test or apply without field; make it a condition of its own, with the path that it tests in field")
	v.must(w.Field == nil || len(tests) > 0, at, "needs a test such as in: [view, click], is: view, at_least: 10, prefix: /p/ or exists: true")
	for key, value := range map[string]string{"below": w.Below, "at_most": w.AtMost, "above": w.Above, "at_least": w.AtLeast, "is": w.Is, "is_not": w.IsNot} {
		isBool := value == "true" || value == "false"
		texts := w.Field != nil && !slices.ContainsFunc(w.Field, func(p string) bool { return !strings.HasPrefix(p, "header:") || strings.Contains(p, "[json]") })
		v.must(!isBool || !texts, join(at, key), "a header is a text, and %s is none; put it in quotes", value)
		v.must(!isBool || key == "is" || key == "is_not", join(at, key), "%s has no order; write is: %[1]s", value)
	}
}

// operandText returns a constant in a form that keeps its kind: a text in quotes, and a
// number, true or false as JSON has them.
func operandText(n *yaml.Node) (string, error) {
	tag := n.Tag
	if n.Style == 0 && tag == "!!str" && json.Valid([]byte(n.Value)) { // a number that YAML finds too large
		tag = "!!float"
	}
	_, err := event.ParseBound(n.Value)
	switch {
	case tag == "!!bool":
		return strings.ToLower(n.Value), nil
	case tag != "!!int" && tag != "!!float":
		return strconv.Quote(n.Value), nil
	case err == nil:
		return n.Value, nil
	}
	return "", fmt.Errorf("%s is no number of JSON of at most 40 characters, between 1e-400 and 1e400; write it like 10, -0.5 or 1e6, or put a text in quotes", n.Value)
}
