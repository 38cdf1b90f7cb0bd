package live

import (
	"fmt"
	"slices"
	"strings"

	"weir/event"
	"weir/serve/key"
	"weir/window"
)

// Measures that every job has.
const (
	Hits    = "hits"    // the number of events: a Count
	Partial = "partial" // why answers are partial: a Reason; nothing while they are whole
)

// The measures of a job are numbered from zero. Hits are window.Counts, and this is the
// other one, which has no windows.
const partial = -2

// A plan is a key in terms of its job.
type plan struct {
	source  *source
	over    *window.Range
	measure int    // one of the job's, window.Counts or partial
	id      string // the same for equal questions about the job
}

// plan returns the plan of a key. Its errors are errors of package key.
func (w *Windows) plan(k key.Key) (*plan, error) {
	s, err := w.source(k.Job)
	if err != nil {
		return nil, err
	}
	from, until, err := k.Windows(s.now(), s.spec.Window)
	if err != nil {
		return nil, err
	}
	return s.plan(k.Measure, from, until, k.Texts(len(s.spec.By)))
}

// plan returns the plan for windows that start in [from, until). There is one text,
// or nil for any, for each group column; more texts than columns are an error.
func (s *source) plan(measure string, from, until event.Time, group [][]byte) (*plan, error) {
	m, err := s.measure(measure)
	if err != nil {
		return nil, err
	}
	if len(group) > len(s.spec.By) {
		return nil, s.tooManyGroups(len(group))
	}
	if s.byMember(m) && slices.ContainsFunc(group, func(g []byte) bool { return g != nil }) {
		return nil, fmt.Errorf("%w: positions are kept per window, not per group: leave the groups out", key.ErrQuestion)
	}
	r := &window.Range{From: from, Until: until, Group: group}
	return &plan{s, r, m, fmt.Sprintf("%d %d %d %#v", from, until, m, group)}, nil // #: no group is not the empty one
}

// byMember reports whether measure m is of members, not of groups.
func (s *source) byMember(m int) bool { return m >= 0 && s.spec.Measures[m].Kind.ByMember }

// source returns the job of a name.
func (w *Windows) source(job string) (*source, error) {
	if s, ok := w.jobs[job]; ok {
		return s, nil
	}
	return nil, key.Unknown("no job", job, w.names())
}

// measure returns the number of the measure of a name.
func (s *source) measure(name string) (int, error) {
	for m := range s.spec.Measures {
		if s.spec.Measures[m].Name == name {
			return m, nil
		}
	}
	switch name {
	case Hits:
		return window.Counts, nil
	case Partial:
		return partial, nil
	}
	var names []string
	for m := range s.spec.Measures {
		names = append(names, s.spec.Measures[m].Name)
	}
	return 0, key.Unknown("job "+s.spec.Job+" has no measure", name, append(names, Hits))
}

// Kind returns the kind of a measure. The error is a *key.UnknownError.
func (w *Windows) Kind(job, measure string) (Kind, error) {
	s, err := w.source(job)
	if err != nil {
		return Kind{}, err
	}
	m, err := s.measure(measure)
	if err != nil {
		return Kind{Name: measure}, err
	}
	switch m {
	case window.Counts:
		return hitsKind, nil
	case partial:
		return partialKind, nil
	}
	return kindOf(&s.spec.Measures[m]), nil
}

// tooManyGroups returns the error about a key with n groups.
func (s *source) tooManyGroups(n int) error {
	if len(s.spec.By) == 0 {
		return fmt.Errorf("%w: job %s counts by no column, and the key names %d groups; leave them out", key.ErrQuestion, s.spec.Job, n)
	}
	var by []string
	for _, c := range s.spec.By {
		by = append(by, c.Name)
	}
	return fmt.Errorf("%w: job %s counts by %s, and the key names %d groups; write %%3A for a colon inside a group",
		key.ErrQuestion, s.spec.Job, strings.Join(by, ", "), n)
}
