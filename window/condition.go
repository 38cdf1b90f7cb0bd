package window

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// A Condition says which events count: those whose field passes every test that is given
// here, or those that meet Any of, All of, or Not some conditions. A condition has
// a field with at least one test, or exactly one of Any, All and Not.
type Condition struct {
	Path string `json:"field,omitempty"`

	// The value's text is one of these, or none: the contents of a string, the text of a
	// number as it stands, true or false. NotIn is the opposite of In, so an event without the
	// field passes it.
	In    []string `json:"in,omitempty"`
	NotIn []string `json:"not_in,omitempty"`
	// The value's text begins or ends with one of these, byte by byte.
	Prefix []string `json:"prefix,omitempty"`
	Suffix []string `json:"suffix,omitempty"`

	// Constants, a text among them in quotes; empty: no test. A number is compared by
	// event.Value.Compare, with what is Numeric; a text with strings only, byte by byte; true
	// and false with bools only. IsNot is the opposite of Is, so an event without the field
	// passes it; it passes none of the others. The last four are not true or false.
	Is      string `json:"is,omitempty"`
	IsNot   string `json:"is_not,omitempty"`
	Below   string `json:"below,omitempty"`
	AtMost  string `json:"at_most,omitempty"`
	Above   string `json:"above,omitempty"`
	AtLeast string `json:"at_least,omitempty"`

	// Exists is "true" if the value must be there and not be null, "false" for the
	// opposite; empty: no test.
	Exists string `json:"exists,omitempty"`

	Any []Condition `json:"any,omitempty"`
	All []Condition `json:"all,omitempty"`
	Not *Condition  `json:"not,omitempty"`
}

// ofRecord reports whether the condition reads only the record of an array of events, and not these.
func (c *Condition) ofRecord() bool {
	f, _ := event.ParseField(c.Path) // the decoder has parsed it
	inEvent := func(path string) bool { return !event.InEnvelope(path) && !strings.HasPrefix(path, event.OfRecord) }
	if c.Path != "" && slices.ContainsFunc(f.Paths, inEvent) {
		return false
	}
	of := slices.Concat(c.Any, c.All)
	if c.Not != nil {
		of = append(of, *c.Not)
	}
	return !slices.ContainsFunc(of, func(c Condition) bool { return !c.ofRecord() })
}

// tests are the tests of a condition by their keys in a configuration.
func (c *Condition) tests() []keyTest {
	return []keyTest{
		{"in", in, c.In, ""}, {"not_in", notIn, c.NotIn, ""}, {"is", is, nil, c.Is}, {"is_not", isNot, nil, c.IsNot},
		{"below", below, nil, c.Below}, {"at_most", atMost, nil, c.AtMost}, {"above", above, nil, c.Above}, {"at_least", atLeast, nil, c.AtLeast},
		{"prefix", prefix, c.Prefix, ""}, {"suffix", suffix, c.Suffix, ""}, {"exists", exists, nil, c.Exists},
	}
}

type keyTest struct {
	key     string
	op      op
	texts   []string
	operand string
}

func (t *keyTest) given() bool { return t.texts != nil || t.operand != "" }

type op uint8

const (
	in op = iota
	notIn
	is
	isNot
	below
	atMost
	above
	atLeast
	prefix
	suffix
	exists
)

// A condition is a Condition made ready for the decoder's values.
type condition struct {
	at       int // index of the field's value; -1: not a test of a field
	tests    []test
	any, all []condition
	not      *condition
}

// A test is one test of a field.
type test struct {
	op     op
	texts  []string
	kind   event.Type // of the operand
	number event.Bound
	text   []byte
}

// compile makes conditions ready. field returns the index of a field's value.
func compile(conditions []Condition, field func(string) int) (all []condition, err error) {
	for i := range conditions {
		c := &conditions[i]
		to := condition{at: field(c.Path)}
		for _, t := range c.tests() {
			if !t.given() {
				continue
			}
			made, err := compileTest(t)
			if err != nil {
				return nil, fmt.Errorf("condition on %s: %s: %w", c.Path, t.key, err)
			}
			to.tests = append(to.tests, made)
		}
		if to.any, err = compile(c.Any, field); err != nil {
			return nil, err
		}
		if to.all, err = compile(c.All, field); err != nil {
			return nil, err
		}
		if c.Not != nil {
			not, err := compile([]Condition{*c.Not}, field)
			if err != nil {
				return nil, err
			}
			to.not = &not[0]
		}
		all = append(all, to)
	}
	return all, nil
}

func compileTest(t keyTest) (test, error) {
	made := test{op: t.op, texts: t.texts}
	switch {
	case t.operand == "":
	case t.operand[0] == '"':
		text, err := strconv.Unquote(t.operand)
		made.kind, made.text = event.String, []byte(text)
		return made, err
	case t.operand == "true", t.operand == "false":
		made.kind, made.text = event.Bool, []byte(t.operand)
		if t.op >= below && t.op <= atLeast {
			return made, fmt.Errorf("%s has no order", t.operand)
		}
	default:
		var err error
		made.kind = event.Number
		made.number, err = event.ParseBound(t.operand)
		return made, err
	}
	return made, nil
}

// holds reports whether the decoded values meet the condition.
func (c *condition) holds(vals []event.Value) bool {
	if c.at >= 0 {
		v := &vals[c.at]
		for i := range c.tests {
			if !c.tests[i].holds(v) {
				return false
			}
		}
		return true
	}
	switch {
	case c.not != nil:
		return !c.not.holds(vals)
	case c.any != nil:
		for i := range c.any {
			if c.any[i].holds(vals) {
				return true
			}
		}
		return false
	}
	return allHold(c.all, vals)
}

func allHold(conditions []condition, vals []event.Value) bool {
	for i := range conditions {
		if !conditions[i].holds(vals) {
			return false
		}
	}
	return true
}

func (t *test) holds(v *event.Value) bool {
	switch t.op {
	case in:
		return oneOf(v, t.texts)
	case notIn:
		return !oneOf(v, t.texts)
	case prefix, suffix:
		if !hasText(v) {
			return false
		}
		for _, s := range t.texts {
			if len(s) > len(v.Bytes) {
				continue
			}
			if t.op == prefix && string(v.Bytes[:len(s)]) == s || t.op == suffix && string(v.Bytes[len(v.Bytes)-len(s):]) == s {
				return true
			}
		}
		return false
	case exists:
		return (v.Type > event.Null) == (t.text[0] == 't')
	}
	order, ok := t.compare(v)
	switch t.op {
	case is:
		return ok && order == 0
	case isNot:
		return !ok || order != 0
	case below:
		return ok && order < 0
	case atMost:
		return ok && order <= 0
	case above:
		return ok && order > 0
	}
	return ok && order >= 0 // atLeast
}

// compare compares a value with the operand. ok is false if they are not of one kind.
func (t *test) compare(v *event.Value) (order int, ok bool) {
	if t.kind == event.Number {
		return v.Compare(&t.number)
	}
	if v.Type != t.kind {
		return 0, false
	}
	return bytes.Compare(v.Bytes, t.text), true
}

// hasText reports whether a value has a text: a string, a number, true or false.
func hasText(v *event.Value) bool {
	return v.Type == event.String || v.Type == event.Number || v.Type == event.Bool
}

func oneOf(v *event.Value, in []string) bool {
	if !hasText(v) {
		return false
	}
	for _, s := range in {
		if string(v.Bytes) == s {
			return true
		}
	}
	return false
}
