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

//
// In JSON, an element that is found by the value of a key is read so too: the format finds the array, and a
// reader looks at its elements one after the other. Avro and Protobuf look at them on their way.

// inside stands in a path where it goes on inside a text.
const inside = "[json]"

// cutInside splits a path at the first text that it leads into. ok is false if it leads into
// none.
func cutInside(path string) (text, rest string, ok bool) {
	text, _, rest, ok = cutAt(path, func(s pathStep, in string) bool { return in == inside })
	return text, rest, ok
}

// cutElement splits a path at the first text or element by key.
func cutElement(path string) (before string, step pathStep, rest string, ok bool) {
	return cutAt(path, func(s pathStep, in string) bool { return in == inside || s.name != "" })
}

// cutAt splits a path at the first brackets that are wanted.
func cutAt(path string, wanted func(s pathStep, in string) bool) (before string, step pathStep, rest string, ok bool) {
	for at := 0; ; {
		open := indexPlain(path[at:], "[")
		if open < 0 {
			return path, step, "", false
		}
		at += open
		shut := indexPlain(path[at:], "]")
		if shut < 0 {
			return path, step, "", false
		}
		in := path[at : at+shut+1]
		if step, _ = elementStep(in[1:shut]); wanted(step, in) {
			return path[:at], step, strings.TrimPrefix(path[at+shut+1:], "."), true
		}
		at += shut
	}
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

// An insideText is a text that is a JSON object, or an array of which an element is wanted.
type insideText struct {
	from   int
	reader *Reader
	record Record
	vals   []Value
	to     []int // where each of vals is wanted
	wrong  error // the reason why the text cannot be read

	element  pathStep // by the value of a key; else it is a text
	key      int      // index in vals of that value
	elements eachReader
}

// newInsideReader splits paths at the texts that they lead into, and in JSON at elements by key. It returns the paths to
// find in the event, and nil if none is split.
func newInsideReader(form *Form, paths []string, texts *scratch) ([]string, *insideReader, error) {
	if !slices.ContainsFunc(paths, func(p string) bool { _, _, _, ok := cutElement(p); return ok }) {
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
	rests := map[int][]string{} // by index in n.texts
	for to, path := range paths {
		if err := CheckPath(path); err != nil {
			return nil, nil, err
		}
		text, element, rest, ok := cutElement(path)
		if element.name != "" && form.Format.HasSchema() && (form.Keyed || !InEnvelope(path)) {
			text, rest, ok = cutInside(path)
			element = pathStep{}
			for _, key := range compared(text) {
				find(key)
			}
		}
		if !ok {
			n.plain = append(n.plain, place{find(path), to})
			continue
		}
		from := find(text)
		i := slices.IndexFunc(n.texts, func(t insideText) bool { return t.from == from && t.element == element })
		if i < 0 {
			i = len(n.texts)
			n.texts = append(n.texts, insideText{from: from, element: element, wrong: errors.New("event: the text at " + PathText(text) + " is no JSON object")})
		}
		n.texts[i].to = append(n.texts[i].to, to)
		rests[i] = append(rests[i], rest)
	}
	for i := range n.texts {
		t := &n.texts[i]
		if name := QuoteKey(t.element.name); t.element.name != "" {
			if t.key = slices.Index(rests[i], name); t.key < 0 {
				t.key, rests[i] = len(rests[i]), append(rests[i], name)
			}
		}
		var err error
		if t.reader, err = newReader(Form{}, rests[i], texts); err != nil {
			return nil, nil, err
		}
		t.vals = make([]Value, len(rests[i]))
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
		if v := n.found[t.from]; t.element.name != "" {
			t.find(v)
		} else if v.Type != String || len(v.Bytes) == 0 {
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

// find reads the first element whose value at the key is the text. Without one there is nothing.
func (t *insideText) find(array Value) {
	if array.Type == Composite && array.Bytes[0] == '[' {
		t.elements.begin(array.Bytes)
		if _, err := t.elements.cut(array.Bytes, 1); err != nil { // never: it is valid
			clear(t.vals)
			return
		}
		for i := range t.elements.pieces {
			t.record.Value = t.elements.event(i)
			if t.reader.Read(&t.record, t.vals) == nil && t.element.is(t.vals[t.key]) {
				return
			}
		}
	}
	clear(t.vals)
}

// compared returns the paths of the values by which the elements on a path are found.
func compared(path string) (keys []string) {
	from := 0
	if in, rest := splitPath(strings.TrimPrefix(path, OfRecord)); in != inHeader {
		from = len(path) - len(rest)
	}
	steps, _ := pathSteps(path[from:])
	for _, s := range steps {
		if s.name != "" {
			keys = append(keys, path[:from+s.end]+"."+QuoteKey(s.name))
		}
	}
	return keys
}

// is reports whether a value at the key of the step is its text.
func (s *pathStep) is(v Value) bool {
	return (v.Type == String || v.Type == Number || v.Type == Bool) && string(v.Bytes) == s.text
}
