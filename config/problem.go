package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Error is everything that is wrong with a configuration. Its text has one
// line per problem, in the order of the file.
type Error struct{ Problems []Problem }

// A Problem is one mistake and what to do about it.
type Problem struct {
	Origin Origin // where the value was written
	Path   string // which key: jobs[0].window; empty for a file as a whole
	Text   string // what is wrong; after a semicolon, the remedy
}

// String returns the line: place: path: text.
func (p Problem) String() string {
	parts := []string{p.Origin.Where(), p.Path, p.Text}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// problems collects while loading; err sorts them.
type problems []Problem

func (ps *problems) add(at Origin, path, format string, args ...any) {
	*ps = append(*ps, Problem{at, path, oneLine(fmt.Sprintf(format, args...))})
}

func (ps problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Origin.Source, b.Origin.Source),
			cmp.Compare(a.Origin.order, b.Origin.order),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column),
		)
	})
	return &Error{slices.Compact(ps)}
}

// oneLine keeps a message on its line, whatever the values in it contain,
// and short enough to read.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	const longest = 400
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return s
}

// either joins words as in "a, b or c".
func either(words []string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
