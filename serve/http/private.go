package http

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir/measures/face"
	"weir/serve/key"
	"weir/serve/live"
	"weir/sinks/clickhouse/questions"
)

// With Server.K a group or a cell of the map that has fewer than K people is not answered
// (k-anonymity). The people of a group are counted by the job's first measure that counts
// different ids, over the windows of the question. Positions of single members, members of
// a group, keys of top lists, texts of single events and payloads of dead letters are not
// answered at all.

// peopleMeasure returns the job's first measure that counts people.
func peopleMeasure(job live.Description) (live.Described, bool) {
	for _, m := range job.Measures {
		if m.Kind.Shows == face.People {
			return m, true
		}
	}
	return live.Described{}, false
}

// few reports whether so many people are too few to tell of.
func (s *Server) few(people uint64) bool { return s.K > 0 && people < uint64(s.K) }

// peopleIn returns how many people of the chosen groups are in the windows of a span.
func (s *Server) peopleIn(ctx context.Context, a asking, over span) (uint64, error) {
	m, ok := peopleMeasure(a.job)
	if !ok {
		return 0, nil
	}
	a.span = over
	rollups := s.long(&a, live.SeriesMost)
	if rollups == nil {
		answer, err := s.Windows.Ask(ctx, a.query(m.Name))
		return people(m.Kind, answer.Value), err
	}
	a.narrow(rollups[0].Window)
	if !a.From.Before(a.Until) {
		return 0, nil
	}
	st := Statement{Question: questions.Question{Long: true}}
	st.about(a.query(m.Name))
	rows, err := s.Rollups.Long(ctx, st)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	n, err := strconv.ParseUint(rows[0].Number, 10, 64)
	if err != nil {
		return 0, nil // the ids are no longer kept
	}
	return n, nil
}

// narrow makes a range one of whole windows, or of whole steps if it has more than stepsMost of
// them: without what begins before it or ends behind it, which may have other people.
func (a *asking) narrow(window time.Duration) {
	step := window
	for _, d := range steps {
		if a.Until.Sub(a.From)/step > stepsMost && d%window == 0 {
			step = max(step, d)
		}
	}
	a.span = span{align(a.From.Add(step-1), step), align(a.Until, step)}
}

// people returns the number of an answer that counts people.
func people(kind live.Kind, value any) uint64 {
	n, _ := kind.Number(value).(uint64)
	return n
}

// private returns the error about an answer that Server.K forbids.
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
	case kind.Shows == face.List:
		return s.private("keys of top lists")
	case kind.Shows == face.Texts:
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
