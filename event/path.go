package event

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxIndex is the greatest index of an array's element that a path can have.
const MaxIndex = 999

// A pathStep is one step of a path: a key of an object, or an element of an array.
type pathStep struct {
	key   string // empty for an element
	index int
	end   int // where the step ends in the path
}

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

// InKey reports whether a path leads into the record's key.
func InKey(path string) bool {
	in, _ := splitPath(path)
	return in == inKey
}

// CheckPath says what is wrong with a path; nil if nothing is. A path is a key,
// followed by further keys with a dot before each, and by indexes of array elements in
// brackets, from 0: "page", "geo.country", "items[0].sku", "line[0][1]". A key that
// is empty, or contains a dot or a bracket, cannot be named. A path has less than
// MaxDepth keys and indexes.
//
// A path goes on with [json] inside a text that is a JSON object: "properties[json].plan".
//
// "key:" is the record's key as a text, and "key:user.id" a path in a key that is a JSON
// object. "header:name" is the last header of that name; a name has no brackets.
func CheckPath(path string) error {
	if strings.Contains(path, inside) {
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
		_, err := pathSteps(rest)
		return err
	}
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

// ParsePathText returns the inverse of PathText.
func ParsePathText(text string) string {
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
		end := len(path)
		if n := strings.IndexAny(path[at:], ".[]"); n >= 0 {
			end = at + n
		}
		if end == at {
			return nil, fmt.Errorf("event: path %q has an empty key", path)
		}
		steps = append(steps, pathStep{key: path[at:end], end: end})
		for at = end; at < len(path) && path[at] == '['; {
			shut := strings.IndexByte(path[at:], ']')
			if shut < 0 {
				return nil, fmt.Errorf("event: path %q has a bracket that is not closed", path)
			}
			text := path[at+1 : at+shut]
			index, err := strconv.ParseUint(text, 10, 32)
			if err != nil || index > MaxIndex || strconv.FormatUint(index, 10) != text {
				return nil, fmt.Errorf("event: path %q has [%s], want an index from 0 to %d", path, text, MaxIndex)
			}
			at += shut + 1
			steps = append(steps, pathStep{index: int(index), end: at})
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
