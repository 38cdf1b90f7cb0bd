package event

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Field says which value of an event is meant: the first of those at Paths that
// is there and not null nor, of several, an empty text, with the functions of Apply applied to it, in order.
type Field struct {
	Paths []string
	Apply []Function
	Time  bool // of several, a 0 is passed over too: producers write it where they know no time

	// Joined makes one text of a date and a time of day: that at the first path, a T, and that at the second.
	Joined bool
}

// String returns the field as one text. A single path is its own text; otherwise each
// path has brackets, and the functions follow:
//
//	geo.country
//	[userId][anonymousId]
//	[url] host
//	[date]T[time]
//
// Stored meanings contain these texts, so a text never changes.
func (f Field) String() string {
	if len(f.Paths) == 1 && len(f.Apply) == 0 {
		return f.Paths[0]
	}
	var b strings.Builder
	for i, path := range f.Paths {
		if f.Joined && i > 0 {
			b.WriteByte('T')
		}
		b.WriteString("[" + path + "]")
	}
	for _, fn := range f.Apply {
		b.WriteString(" " + fn.String())
	}
	return b.String()
}

// Words returns the field in words for a message: "host of url", "userId or anonymousId".
func (f Field) Words() string {
	words := Words(f.Paths)
	if f.Joined {
		words = PathText(f.Paths[0]) + " and " + PathText(f.Paths[1])
	}
	for _, fn := range f.Apply {
		words = fn.String() + " of " + words
	}
	return words
}

// Words returns paths in words for a message, as a configuration has them.
func Words(paths []string) string {
	texts := make([]string, len(paths))
	for i, path := range paths {
		texts[i] = PathText(path)
	}
	return strings.Join(texts, " or ")
}

// ParseField returns the inverse of Field.String. It checks the paths too.
func ParseField(text string) (Field, error) {
	var f Field
	if !strings.HasPrefix(text, "[") {
		f.Paths = []string{text}
		return f, CheckPath(text)
	}
	rest := text
	for strings.HasPrefix(rest, "[") {
		end, open := -1, 0
		for i := 0; end < 0 && i < len(rest); i++ {
			switch rest[i] {
			case '"':
				if _, n := unquoteKey(rest[i:]); n > 0 {
					i += n - 1
				}
			case '[':
				open++
			case ']':
				if open--; open == 0 {
					end = i
				}
			}
		}
		if end < 0 {
			return f, fmt.Errorf("event: field %q has a bracket that is not closed", text)
		}
		path := rest[1:end]
		if err := CheckPath(path); err != nil {
			return f, err
		}
		f.Paths, rest = append(f.Paths, path), rest[end+1:]
		if !f.Joined && len(f.Paths) == 1 {
			rest, f.Joined = strings.CutPrefix(rest, "T")
		}
	}
	for rest != "" {
		name, after, _ := strings.Cut(strings.TrimPrefix(rest, " "), " ")
		fn, err := ParseFunction(name)
		if err != nil {
			return f, err
		}
		f.Apply, rest = append(f.Apply, fn), after
	}
	if f.String() != text {
		return f, errors.New("event: field " + text + " is not as Field.String writes it")
	}
	return f, nil
}

// First returns the value of the field among those that a scanner found: at has the index
// in vals of each of f.Paths. A result that is neither a view of vals nor null is
// appended to text. Views of earlier results stay valid when text grows.
func (f *Field) First(vals []Value, at []int, text []byte) (Value, []byte) {
	if f.Joined {
		return join(vals, at, text)
	}
	i := slices.IndexFunc(at, func(i int) bool {
		v := &vals[i]
		return v.Type > Null && !(len(at) > 1 && (v.Type == String && len(v.Bytes) == 0 || f.Time && v.Zero()))
	})
	if i < 0 {
		return Value{}, text
	}
	v := vals[at[i]]
	for _, fn := range f.Apply {
		v, text = fn.apply(v, text)
	}
	return v, text
}

// join makes a text of those at the first and the second index. If one of them is none, the value is missing.
func join(vals []Value, at []int, text []byte) (Value, []byte) {
	date, clock := &vals[at[0]], &vals[at[1]]
	if date.Type <= Null || clock.Type <= Null {
		return Value{}, text
	}
	from := len(text)
	text = append(append(append(text, date.Bytes...), 'T'), clock.Bytes...)
	return Value{Type: String, Bytes: text[from:len(text):len(text)]}, text
}
