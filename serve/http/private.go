package http

import (
	"context"
	"fmt"
	"slices"

	"weir/serve/key"
	"weir/serve/live"
)

// With Server.K a group or a cell of the map that has fewer than K people is not answered
// (k-anonymity). The people of a group are counted by the job's first measure that counts
// different ids, over the windows of the question. Positions of single members, members of
// a group, keys of top lists, texts of single events and payloads of dead letters are not
// answered at all.

// peopleMeasure returns the job's first measure that counts people.
func peopleMeasure(job live.Description) (live.Described, bool) {
	for _, m := range job.Measures {
		if m.Kind.Shows == live.People {
			return m, true
		}
	}
	return live.Described{}, false
}

// few reports whether so many people are too few to tell of.
func (s *Server) few(people uint64) bool { return s.K > 0 && people < uint64(s.K) }

// secret reports whether the chosen groups of a question have too few people to answer.
func (s *Server) secret(ctx context.Context, q live.Question, job live.Description) (bool, error) {
	m, ok := peopleMeasure(job)
	if !ok {
		return true, nil
	}
	q.Measure = m.Name
	a, err := s.Windows.Ask(ctx, q)
	if err != nil {
		return true, err
	}
	return s.few(people(m.Kind, a.Value)), nil
}

// people returns the number of an answer that counts people.
func people(kind live.Kind, value any) uint64 {
	n, _ := kind.Number(value).(uint64)
	return n
}

// private returns the error about what is not answered with Server.K.
func (s *Server) private(what string) error {
	if s.K == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s are not answered where groups of fewer than %d people are withheld", errPrivate, what, s.K)
}

// revealing returns an error if the answer to a window key would tell of too few people.
func (s *Server) revealing(ctx context.Context, k key.Key, kind live.Kind, member string) error {
	switch {
	case s.K == 0:
		return nil
	case member != "":
		return s.private("members")
	case kind.Shows == live.List:
		return s.private("keys of top lists")
	case kind.Shows == live.Texts:
		return s.private("texts of single events")
	case !slices.ContainsFunc(k.Groups, func(g key.Group) bool { return !g.All }):
		return nil
	}
	few := fmt.Errorf("%w: a group of fewer than %d people is withheld", errPrivate, s.K)
	for _, d := range s.Windows.Jobs() {
		m, ok := peopleMeasure(d)
		if d.Job != k.Job || !ok {
			continue
		}
		k.Measure = m.Name
		if a, err := s.Windows.Lookup(ctx, k); err != nil || !s.few(people(m.Kind, a.Value)) {
			return err
		}
	}
	return few
}
