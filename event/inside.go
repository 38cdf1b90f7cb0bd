package event

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A producer may put a JSON object into a text of its event: {"properties":"{\"plan\":\"pro\"}"}.
// A path goes on inside such a text with [json]: properties[json].plan. The format of the
// event only finds the text; a reader of JSON reads what is inside, and may find
// another text on the way of a longer path.

// inside stands in a path where it goes on inside a text.
const inside = "[json]"

// cutInside splits a path at the first text that it leads into. ok is false if it leads into
// none.
func cutInside(path string) (text, rest string, ok bool) {
	text, rest, ok = strings.Cut(path, inside)
	return text, strings.TrimPrefix(rest, "."), ok
}

// checkInside says what is wrong with a path that leads into a text.
func checkInside(path string) error {
	text, rest, _ := cutInside(path)
	switch {
	case !strings.HasPrefix(path[len(text):], inside+"."):
		return fmt.Errorf("event: path %q names nothing in the text: want %s%s.name", path, text, inside)
	case InEnvelope(rest):
		return fmt.Errorf("event: path %q names a key or a header inside a text", path)
	}
	if err := CheckPath(text); err != nil {
		return err
	}
	return CheckPath(rest)
}

// An insideReader reads the values of paths that lead into texts.
type insideReader struct {
	found []Value // of the paths that lead to plain values and to texts
	plain []place
	texts []insideText
}

// A place is where a value is found, and where it is wanted.
type place struct{ from, to int }

// An insideText is a text that is a JSON object.
type insideText struct {
	from   int
	reader *Reader
	record Record
	vals   []Value
	to     []int // where each of vals is wanted
	wrong  error // the reason why the text cannot be read
}

// newInsideReader splits paths at the texts that they lead into. It returns the paths to find
// in the event, and nil if there are no texts.
func newInsideReader(paths []string, texts *scratch) ([]string, *insideReader, error) {
	if !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, inside) }) {
		return paths, nil, nil
	}
	if len(paths) > MaxPaths {
		return nil, nil, fmt.Errorf("event: %d paths, at most %d", len(paths), MaxPaths)
	}
	n := &insideReader{}
	var outer []string
	find := func(path string) int {
		i := slices.Index(outer, path)
		if i < 0 {
			i, outer = len(outer), append(outer, path)
		}
		return i
	}
	rests := map[int][]string{} // by index of the text
	for to, path := range paths {
		text, rest, ok := cutInside(path)
		if !ok {
			n.plain = append(n.plain, place{find(path), to})
			continue
		}
		if err := checkInside(path); err != nil {
			return nil, nil, err
		}
		from := find(text)
		i := slices.IndexFunc(n.texts, func(t insideText) bool { return t.from == from })
		if i < 0 {
			i = len(n.texts)
			n.texts = append(n.texts, insideText{from: from, wrong: errors.New("event: the text at " + PathText(text) + " is no JSON object")})
		}
		n.texts[i].to = append(n.texts[i].to, to)
		rests[from] = append(rests[from], rest)
	}
	for i := range n.texts {
		t := &n.texts[i]
		var err error
		if t.reader, err = newReader(Form{}, rests[t.from], texts); err != nil {
			return nil, nil, err
		}
		t.vals = make([]Value, len(t.to))
	}
	n.found = make([]Value, len(outer))
	return outer, n, nil
}

// read sets the values of all paths from what was found in the event. In a text that is
// empty, and in a value that is no text, there is nothing.
func (n *insideReader) read(vals []Value) error {
	for _, p := range n.plain {
		vals[p.to] = n.found[p.from]
	}
	for i := range n.texts {
		t := &n.texts[i]
		if v := n.found[t.from]; v.Type != String || len(v.Bytes) == 0 {
			clear(t.vals)
		} else if t.record.Value = v.Bytes; t.reader.Read(&t.record, t.vals) != nil {
			return t.wrong
		}
		for k, to := range t.to {
			vals[to] = t.vals[k]
		}
	}
	return nil
}
