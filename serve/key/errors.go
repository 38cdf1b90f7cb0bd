package key

import (
	"errors"
	"fmt"
	"strings"

	"weir/internal/spelling"
)

// A SyntaxError says why a text is no key, and what a key looks like.
type SyntaxError struct{ text string }

func (e *SyntaxError) Error() string { return e.text }

func malformed(format string, args ...any) *SyntaxError {
	return &SyntaxError{fmt.Sprintf(format, args...)}
}

// ErrQuestion is wrapped by the errors about keys that do not fit their job: a start
// where no window starts, groups that the job does not have.
var ErrQuestion = errors.New("not a question for this job")

// An UnknownError is about a job or a measure that does not exist. It suggests the
// nearest name, or lists the names that exist.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// Unknown returns the error for a name that is none of those that exist. It begins
// with what, such as "no job".
func Unknown(what, name string, exist []string) *UnknownError {
	if near := spelling.Nearest(name, exist); near != "" {
		return &UnknownError{fmt.Sprintf("%s %s; is it %s?", what, printable(name), near)}
	}
	const most = 10
	if len(exist) > most {
		exist = append(exist[:most:most], "…")
	}
	return &UnknownError{fmt.Sprintf("%s %s; there is %s", what, printable(name), strings.Join(exist, ", "))}
}

// printable returns a name in a form that fits into one line, whatever the client
// sent.
func printable(name string) string {
	const longest = 64
	more := ""
	if len(name) > longest {
		name, more = name[:longest], "…"
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Sprintf("%q%s", name, more)
		}
	}
	return name + more
}
