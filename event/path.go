package event

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxIndex is the greatest index of an array's element that a path can have.
const MaxIndex = 999

// A pathStep is one step of a path: a key of an object, or elements of an array.
type pathStep struct {
	key   string // empty for elements
	index int    // of the element; everyElement for all
	name  string // the element is the first whose value at this key is the text; empty: it is that of the index
	text  string
	end   int // where the step ends in the path
}

// everyElement is the index of a step over all elements, which Form.Each can have.
const everyElement = -1

// A part is a part of a Kafka record that a path leads into.
type part uint8

const (
	inValue  part = iota
	inKey         // the record's key
	inHeader      // a header
)

// splitPath returns the part of a record that a path leads into, and the path in it.
func splitPath(path string) (part, string) {
	if rest, ok := strings.CutPrefix(path, "header:"); ok {
		return inHeader, rest
	}
	if rest, ok := strings.CutPrefix(path, "key:"); ok {
		return inKey, rest
	}
	return inValue, path
}

// InEnvelope reports whether a path leads into the record's key or its headers.
func InEnvelope(path string) bool {
	in, _ := splitPath(path)
	return in != inValue
}

// CheckPath says what is wrong with a path; nil if nothing is. A path is a key,
// followed by further keys with a dot before each, and by elements of arrays in brackets, by index from 0 or
// by the value of a key: "page", "geo.country", "items[0].sku", "line[0][1]", "params[key=page].value". A
// key or a value that contains a dot, a bracket or a quote stands in quotes, as QuoteKey writes it. An empty key cannot
// be named. A path has less than MaxDepth keys and elements.
//
// A path goes on with [json] inside a text that is a JSON object: "properties[json].plan".
//
// "key:" is the record's key as a text, and "key:user.id" a path in a key that is a JSON
// object. "header:name" is the last header of that name; a name has no brackets.
func CheckPath(path string) error {
	if _, _, ok := cutInside(path); ok {
		return checkInside(path)
	}
	switch in, rest := splitPath(path); {
	case in == inHeader && rest == "":
		return fmt.Errorf("event: path %q names no header", path)
	case in == inHeader && strings.ContainsAny(rest, "[]"):
		return fmt.Errorf("event: path %q has a bracket in the name of a header", path)
	case in == inHeader, in == inKey && rest == "":
		return nil
	default:
		steps, err := pathSteps(rest)
		if err == nil && slices.ContainsFunc(steps, func(s pathStep) bool { return s.index == everyElement }) {
			err = fmt.Errorf("event: path %q has [], which only the path of an array of events can have", path)
		}
		return err
	}
}

// QuoteKey returns a key as a step of a path.
func QuoteKey(key string) string {
	if key != "" && !strings.ContainsAny(key, `.[]"\/$#*=`) && !InEnvelope(key) && !strings.HasPrefix(key, OfRecord) {
		return key
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// unquoteKey reads a key in quotes at the beginning of a text. It returns the index behind it; -1 if the text begins
// with none.
func unquoteKey(text string) (key string, end int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), i + 1
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
		case c == '\\':
			return "", -1
		}
		b.WriteByte(text[i])
	}
	return "", -1
}

// indexPlain returns the first index of one of some bytes outside of quotes; -1 if there is none.
func indexPlain(text, chars string) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			_, end := unquoteKey(text[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		} else if strings.IndexByte(chars, text[i]) >= 0 {
			return i
		}
	}
	return -1
}

// A Dotted is a path on which some steps of another one are a single key, with dots in it.
type Dotted struct{ Key, Path string }

// DottedPaths returns them: a."b.c", "a.b".c and "a.b.c" of a.b.c. It returns none of a path with elements, or of more
// than six keys.
func DottedPaths(path string) (all []Dotted) {
	steps, err := pathSteps(path)
	if err != nil || InEnvelope(path) || len(steps) > 6 || slices.ContainsFunc(steps, func(s pathStep) bool { return s.key == "" }) {
		return nil
	}
	keys := make([]string, len(steps))
	for i, s := range steps {
		keys[i] = s.key
	}
	for from := range keys {
		for to := from + 2; to <= len(keys); to++ {
			d := Dotted{Key: strings.Join(keys[from:to], ".")}
			var parts []string
			for _, key := range slices.Concat(keys[:from], []string{d.Key}, keys[to:]) {
				parts = append(parts, QuoteKey(key))
			}
			d.Path = strings.Join(parts, ".")
			all = append(all, d)
		}
	}
	return all
}

// PathText returns a path as a configuration has it: "key" for "key:", "key.user" for
// "key:user", and "value.key" for the field key of the value.
func PathText(path string) string {
	switch in, rest := splitPath(path); {
	case in == inKey && rest == "":
		return "key"
	case in == inKey:
		return "key." + rest
	case in == inValue && escapesKey(path):
		return "value." + path
	}
	return path
}

// ParsePathText returns the inverse of PathText. A key may be in quotes without need; the path has it as
// QuoteKey does.
func ParsePathText(text string) string {
	if strings.Contains(text, `"`) {
		var b strings.Builder
		for text != "" {
			if text[0] == '"' {
				if key, end := unquoteKey(text); end > 0 {
					b.WriteString(QuoteKey(key))
					text = text[end:]
					continue
				}
			}
			b.WriteByte(text[0])
			text = text[1:]
		}
		text = b.String()
	}
	if !escapesKey(text) {
		return text
	}
	if rest, ok := strings.CutPrefix(text, "value."); ok {
		return rest
	}
	return "key:" + strings.TrimPrefix(text[len("key"):], ".")
}

// escapesKey reports whether a path begins with the step key, behind any number of steps
// value.
func escapesKey(path string) bool {
	for strings.HasPrefix(path, "value.") {
		path = path[len("value."):]
	}
	rest, ok := strings.CutPrefix(path, "key")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func pathSteps(path string) ([]pathStep, error) {
	var steps []pathStep
	for at := 0; ; {
		key, end := "", len(path)
		if at < len(path) && path[at] == '"' {
			var n int
			if key, n = unquoteKey(path[at:]); n < 0 {
				return nil, fmt.Errorf("event: path %q has a quote that is not closed, or a backslash in front of something else than a quote or a backslash", path)
			}
			end = at + n
		} else {
			if n := strings.IndexAny(path[at:], ".[]"); n >= 0 {
				end = at + n
			}
			if key = path[at:end]; strings.Contains(key, `"`) {
				return nil, fmt.Errorf("event: path %q has a quote inside a key, want it at both ends of the key", path)
			}
		}
		if key == "" {
			return nil, fmt.Errorf("event: path %q has an empty key", path)
		}
		steps = append(steps, pathStep{key: key, end: end})
		for at = end; at < len(path) && path[at] == '['; {
			shut := indexPlain(path[at:], "]")
			if shut < 0 {
				return nil, fmt.Errorf("event: path %q has a bracket that is not closed", path)
			}
			step, err := elementStep(path[at+1 : at+shut])
			if err != nil {
				return nil, fmt.Errorf("event: path %q has [%s], %w", path, path[at+1:at+shut], err)
			}
			at += shut + 1
			if step.name != "" && (at == len(path) || path[at] != '.') {
				return nil, fmt.Errorf("event: path %q names nothing in the element: want %s.name", path, path[:at])
			}
			step.end = at
			steps = append(steps, step)
		}
		switch {
		case len(steps) >= MaxDepth:
			return nil, fmt.Errorf("event: path %q has %d keys and indexes, at most %d", path, len(steps), MaxDepth-1)
		case at == len(path):
			return steps, nil
		case path[at] != '.':
			return nil, fmt.Errorf("event: path %q has %q where a dot or its end is expected", path, path[at])
		}
		at++
	}
}

// elementStep reads what is in the brackets of a step.
func elementStep(text string) (pathStep, error) {
	if text == "" {
		return pathStep{index: everyElement}, nil
	}
	if equal := indexPlain(text, "="); equal > 0 {
		step := pathStep{name: text[:equal], text: text[equal+1:]}
		for _, part := range []*string{&step.name, &step.text} {
			if key, end := unquoteKey(*part); strings.HasPrefix(*part, `"`) && end == len(*part) {
				*part = key
			} else if strings.ContainsAny(*part, `"[]`) {
				return step, errors.New("want a key and a value, each alone or in quotes")
			}
		}
		if step.name == "" {
			return step, errors.New("want a key in front of =")
		}
		return step, nil
	}
	index, err := strconv.ParseUint(text, 10, 32)
	if err != nil || index > MaxIndex || strconv.FormatUint(index, 10) != text {
		return pathStep{}, fmt.Errorf("want an index from 0 to %d, or key=value", MaxIndex)
	}
	return pathStep{index: int(index)}, nil
}
