package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many problems one [Error] lists; more are only counted.
const MaxProblems = 20

// An Error is everything that is wrong with a configuration. Its text has one
// line per problem, in the order of the file.
type Error struct {
	Problems []Problem // 1 to MaxProblems
	More     int       // further problems that are not listed
}

// A Problem is one mistake and what to do about it.
type Problem struct {
	Origin Origin // where the value was written
	Path   string // which key: jobs[0].window; empty for a file as a whole
	Text   string // what is wrong; after a semicolon, the remedy
}

// String is the line: place: path: text.
func (p Problem) String() string {
	parts := []string{p.Origin.Where(), p.Path, p.Text}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", e.More)
	}
	return b.String()
}

// ExitCode is 78, EX_CONFIG of sysexits.h.
func (e *Error) ExitCode() int { return 78 }

// problems collects while loading; err sorts them and cuts the list.
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
	ps = slices.Compact(ps)
	e := &Error{Problems: ps}
	if len(ps) > MaxProblems {
		e.Problems, e.More = ps[:MaxProblems], len(ps)-MaxProblems
	}
	return e
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

// nearest returns the candidate that word was most likely meant to be, or "".
// The distance is Damerau's (insert, delete, replace, swap neighbours), and a
// third of the letters may differ.
func nearest(word string, candidates []string) string {
	const longest = 64 // a key is short; a pasted megabyte is no misspelling
	if len(word) > longest {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if d := distance(strings.ToLower(word), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance of two short words.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// either joins words as in "a, b or c".
func either(words []string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
