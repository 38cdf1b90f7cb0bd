package live

import (
	"fmt"
	"strings"

	"weir/internal/spelling"
)

// An UnknownError is a question about a job or a measure that does not exist. It
// names the one that was likely meant, or what there is.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// unknown makes one.
func unknown(none, name string, there []string) *UnknownError {
	if near := spelling.Nearest(name, there); near != "" {
		return &UnknownError{fmt.Sprintf("%s %s; is it %s?", none, shown(name), near)}
	}
	const most = 10
	if len(there) > most {
		there = append(there[:most:most], "…")
	}
	return &UnknownError{fmt.Sprintf("%s %s; there is %s", none, shown(name), strings.Join(there, ", "))}
}

// shown is a name as a line can show it, whatever was sent.
func shown(name string) string {
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

// source is the job of a name.
func (w *Windows) source(job string) (*source, error) {
	if s, ok := w.jobs[job]; ok {
		return s, nil
	}
	return nil, unknown("no job", job, w.names())
}

// measure is the one of a name: by its place in the job, totalHits or partial.
func (s *source) measure(name string) (int, error) {
	for m := range s.spec.Measures {
		if s.spec.Measures[m].Name == name {
			return m, nil
		}
	}
	switch name {
	case Hits:
		return totalHits, nil
	case Partial:
		return partial, nil
	}
	var names []string
	for m := range s.spec.Measures {
		names = append(names, s.spec.Measures[m].Name)
	}
	return 0, unknown("job "+s.spec.Job+" has no measure", name, append(names, Hits))
}

// Kind is what a measure is, if there is one; of those that every job has, only its
// name is given. The error is an *UnknownError.
func (w *Windows) Kind(job, measure string) (Kind, error) {
	s, err := w.source(job)
	if err != nil {
		return Kind{}, err
	}
	m, err := s.measure(measure)
	if err != nil || m < 0 {
		return Kind{Name: measure}, err
	}
	return *kinds[s.spec.Measures[m].Kind], nil
}

// tooManyGroups is the error of a question with n groups.
func (s *source) tooManyGroups(n int) error {
	if len(s.spec.By) == 0 {
		return fmt.Errorf("%w: job %s counts by no column, and the key names %d groups; leave them out", ErrQuery, s.spec.Job, n)
	}
	var by []string
	for _, c := range s.spec.By {
		by = append(by, c.Name)
	}
	return fmt.Errorf("%w: job %s counts by %s, and the key names %d groups; write %%3A for a colon inside a group",
		ErrQuery, s.spec.Job, strings.Join(by, ", "), n)
}
