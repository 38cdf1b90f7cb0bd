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

// CheckPath says what is wrong with a path; nil if nothing is. A path is a key,
// followed by further keys with a dot before each, and by indexes of array elements in
// brackets, from 0: "page", "geo.country", "items[0].sku", "line[0][1]". A key that
// is empty, or contains a dot or a bracket, cannot be named. A path has less than
// MaxDepth keys and indexes.
func CheckPath(path string) error {
	_, err := pathSteps(path)
	return err
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
