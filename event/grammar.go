package event

import (
	"bytes"
	"slices"
)

// The grammar of JSON, strictly. Each function takes the index where it begins,
// and returns the index after the part that it read, or -1 after noting the
// fault; s.doc is the document.

// A name is a key of an object, escapes resolved, and where it stands.
type name struct {
	key []byte
	at  int
}

func (s *Scanner) document() bool {
	i := space(s.doc, 0)
	if i == len(s.doc) {
		s.fail(i, ErrEmpty)
		return false
	}
	switch c := s.doc[i]; {
	case c == '{':
	case c == '[', c == '"', c == '-', c-'0' < 10, c == 't', c == 'f', c == 'n':
		s.fail(i, ErrNotObject)
		return false
	default:
		s.fail(i, ErrSyntax)
		return false
	}
	if i = s.object(i+1, 1, s.root, true); i < 0 {
		return false
	}
	if i = space(s.doc, i); i != len(s.doc) {
		s.fail(i, ErrTrailing)
		return false
	}
	return true
}

// object reads an object from after its brace. If the object is the branch b,
// it stores the wanted values; b is nil inside values that no path names. depth
// counts the containers open, this one included.
func (s *Scanner) object(i, depth int, b *branch, wanted bool) int {
	if depth > MaxDepth {
		return s.fail(i-1, ErrDepth)
	}
	doc, first := s.doc, len(s.names)
	if i = space(doc, i); i < len(doc) && doc[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(doc) {
			return s.fail(i, ErrTruncated)
		}
		if doc[i] != '"' {
			return s.fail(i, ErrSyntax)
		}
		end, escaped := s.str(i + 1)
		if end < 0 {
			return -1
		}
		key := doc[i+1 : end]
		if escaped {
			key = s.unescape(key)
		}
		s.names = append(s.names, name{key, i})
		i = space(doc, end+1)
		if i >= len(doc) {
			return s.fail(i, ErrTruncated)
		}
		if doc[i] != ':' {
			return s.fail(i, ErrSyntax)
		}
		i = space(doc, i+1)
		if wanted {
			i = s.member(i, depth, b.find(key))
		} else {
			i, _, _ = s.value(i, depth)
		}
		if i < 0 {
			return -1
		}
		i = space(doc, i)
		if i >= len(doc) {
			return s.fail(i, ErrTruncated)
		}
		if doc[i] == '}' {
			break
		}
		if doc[i] != ',' {
			return s.fail(i, ErrSyntax)
		}
		i = space(doc, i+1)
	}
	if at := repeated(s.names[first:]); at >= 0 {
		return s.fail(at, ErrDuplicate)
	}
	s.names = s.names[:first]
	return i + 1
}

// member reads the value of a key or an element of a branch: f is its field, nil
// if it is not wanted.
func (s *Scanner) member(i, depth int, f *field) int {
	if f != nil && f.sub != nil && i < len(s.doc) {
		switch c := s.doc[i]; {
		case c == '{' && f.sub.keys != nil:
			return s.object(i+1, depth+1, f.sub, true)
		case c == '[' && f.sub.items != nil:
			return s.elements(i+1, depth+1, f.sub)
		}
	}
	slot := unwanted
	switch {
	case f == nil:
	case f.sub != nil:
		slot = f.sub.blocked()
	default:
		slot = f.slot
	}
	end, typ, escaped := s.slotted(i, depth, slot)
	if end < 0 {
		return -1
	}
	s.known.mark(i, end, slot, depth)
	if slot >= 0 {
		s.store(slot, i, end, typ, escaped)
	}
	return end
}

// store sets a wanted value from its text in the document.
func (s *Scanner) store(slot, i, end int, typ Type, escaped bool) {
	v := &s.vals[slot]
	v.Type = typ
	switch {
	case typ == Null:
		v.Bytes = nil
	case typ != String:
		v.Bytes = s.doc[i:end]
	case escaped:
		v.Bytes = s.unescape(s.doc[i+1 : end-1])
	default:
		v.Bytes = s.doc[i+1 : end-1]
	}
}

// slotted reads the value of a slot.
func (s *Scanner) slotted(i, depth, slot int) (end int, typ Type, escaped bool) {
	if s.each == nil || slot != 0 || i >= len(s.doc) || s.doc[i] != '[' {
		return s.value(i, depth)
	}
	end, err := s.each.cut(s.doc, i+1)
	if err != nil {
		s.fail(i, err)
		return -1, Missing, false
	}
	return end, Composite, false
}

// value reads any value; depth counts the containers around it. escaped is
// true for a string with a backslash in it.
func (s *Scanner) value(i, depth int) (end int, typ Type, escaped bool) {
	if i >= len(s.doc) {
		return s.fail(i, ErrTruncated), Missing, false
	}
	switch c := s.doc[i]; {
	case c == '"':
		if end, escaped = s.str(i + 1); end < 0 {
			return -1, Missing, false
		}
		return end + 1, String, escaped
	case c == '-', c-'0' < 10:
		if end = number(s.doc, i); end < 0 {
			s.fail(^end, numberFault(s.doc, ^end))
			return -1, Missing, false
		}
		return end, Number, false
	case c == '{':
		return s.object(i+1, depth+1, nil, false), Composite, false
	case c == '[':
		return s.array(i+1, depth+1), Composite, false
	case c == 't':
		return s.word(i, "true"), Bool, false
	case c == 'f':
		return s.word(i, "false"), Bool, false
	case c == 'n':
		return s.word(i, "null"), Null, false
	}
	return s.fail(i, ErrSyntax), Missing, false
}

// array reads an array from after its bracket.
func (s *Scanner) array(i, depth int) int {
	if depth > MaxDepth {
		return s.fail(i-1, ErrDepth)
	}
	if i = space(s.doc, i); i < len(s.doc) && s.doc[i] == ']' {
		return i + 1
	}
	if i, _, _ = s.value(i, depth); i < 0 {
		return -1
	}
	if i = s.rest(i, depth); i < 0 {
		return -1
	}
	return i + 1
}

// elements reads an array that is the branch b, from after its bracket, and
// stores the wanted values.
func (s *Scanner) elements(i, depth int, b *branch) int {
	if depth > MaxDepth {
		return s.fail(i-1, ErrDepth)
	}
	doc := s.doc
	if i = space(doc, i); i < len(doc) && doc[i] == ']' {
		return i + 1
	}
	for n := 0; ; n++ {
		if i = s.member(i, depth, b.item(n)); i < 0 {
			return -1
		}
		if n == b.last {
			break
		}
		if i = space(doc, i); i >= len(doc) {
			return s.fail(i, ErrTruncated)
		}
		if doc[i] == ']' {
			return i + 1
		}
		if doc[i] != ',' {
			return s.fail(i, ErrSyntax)
		}
		i = space(doc, i+1)
	}
	end := s.rest(i, depth)
	if end < 0 {
		return -1
	}
	s.known.mark(i, end, rest, depth)
	return end + 1
}

// rest reads what follows an element of an array, and returns the index of the
// array's closing bracket.
func (s *Scanner) rest(i, depth int) int {
	doc := s.doc
	for {
		if i = space(doc, i); i >= len(doc) {
			return s.fail(i, ErrTruncated)
		}
		if doc[i] == ']' {
			return i
		}
		if doc[i] != ',' {
			return s.fail(i, ErrSyntax)
		}
		if i, _, _ = s.value(space(doc, i+1), depth); i < 0 {
			return -1
		}
	}
}

func (s *Scanner) word(i int, w string) int {
	for k := range len(w) {
		if i+k >= len(s.doc) {
			return s.fail(i+k, ErrTruncated)
		}
		if s.doc[i+k] != w[k] {
			return s.fail(i+k, ErrSyntax)
		}
	}
	return i + len(w)
}

// space skips white space. Most documents have none between tokens, so the
// function must be small enough to inline.
func space(doc []byte, i int) int {
	if i < len(doc) && doc[i] <= ' ' {
		return spaces(doc, i)
	}
	return i
}

func spaces(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// repeated returns where the first name stands that equals an earlier one, or
// -1. It compares few names pair by pair, and sorts many, so that a hostile
// object of a hundred thousand keys costs n log n. It may reorder names.
func repeated(names []name) int {
	if len(names) > 16 {
		return repeatedSorted(names)
	}
	for i := 1; i < len(names); i++ {
		key := names[i].key
		for j := range i {
			if string(names[j].key) == string(key) {
				return names[i].at
			}
		}
	}
	return -1
}

func repeatedSorted(names []name) int {
	slices.SortFunc(names, func(a, b name) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		return a.at - b.at
	})
	at := -1
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1].key, names[i].key) && (at < 0 || names[i].at < at) {
			at = names[i].at
		}
	}
	return at
}
