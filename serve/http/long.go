package http

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir/measures/face"
	"weir/sinks/clickhouse/questions"
)

// Package live answers from windows, so a question may have only so many of them, and only of
// windows whose rows are kept. The views of ClickHouse answer a question about a longer range,
// or about older windows, from the rollups, as of the last flush.

// Rollups answers these questions. Errors that wrap key.ErrQuestion say what is wrong with one.
type Rollups interface {
	// Kept returns the rollups of a job that can be asked, shortest first. It also returns how
	// long the rows for package live are kept.
	Kept(job string) (all []Rollup, rows time.Duration)
	// Long answers a statement with Long: by steps that have events, or by groups, the greatest
	// first.
	Long(ctx context.Context, st Statement) ([]questions.Told, error)
	// Groups returns how many groups such a statement has, and how many of them have at least
	// st.Least people.
	Groups(ctx context.Context, st Statement) (all, enough uint64, err error)
}

// A Rollup is windows that are kept for some time; zero: for ever.
type Rollup struct{ Window, Keep time.Duration }

// stepsMost is how many steps a long range may have.
const stepsMost = 1500

// long returns the rollups that answer a question, shortest first; nil if package live answers
// it, because its range has at most so many windows and their rows are kept.
func (s *Server) long(a *asking, most int) []Rollup {
	if s.Rollups == nil {
		return nil
	}
	all, rows := s.Rollups.Kept(a.job.Job)
	since := s.Windows.Now().Sub(a.From)
	if len(all) == 0 || a.Until.Sub(a.From) <= time.Duration(most)*a.job.Window && since <= rows {
		return nil
	}
	return s.kept(a)
}

// kept returns the rollups that are kept for the range of a question, shortest first, or the longest one
// if none is; nothing if there is none.
func (s *Server) kept(a *asking) []Rollup {
	if s.Rollups == nil {
		return nil
	}
	all, _ := s.Rollups.Kept(a.job.Job)
	if len(all) == 0 {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(r Rollup) bool { return s.gone(r, a.From) })
	if len(kept) == 0 {
		return all[len(all)-1:] // the longest one keeps its windows longest
	}
	return kept
}

// gone reports whether windows of a rollup that start at a time have expired, or may have before
// the question is answered.
func (s *Server) gone(r Rollup, from time.Time) bool {
	return r.Keep > 0 && s.Windows.Now().Sub(from) > r.left()
}

// left is how old a window of a rollup may be for a question, which takes less than a minute.
func (r Rollup) left() time.Duration { return r.Keep - time.Minute }

// askedRows reads a question that the rollups do not answer. Its range begins where the rows begin
// that are kept, if it begins before.
func (s *Server) askedRows(q call, wanted face.Shows) (asking, error) {
	a, err := s.asked(q, wanted)
	if err != nil || s.Rollups == nil {
		return a, err
	}
	if all, rows := s.Rollups.Kept(a.job.Job); len(all) > 0 {
		kept := align(s.Windows.Now().Add(-rows), a.job.Window)
		if a.From.Before(kept) {
			a.From = kept
		}
		if !a.From.Before(a.Until) {
			return a, fmt.Errorf("%w: job %s keeps %s only for %s, and the range ends before that", errQuestion, a.job.Job, a.measure.Name, rows)
		}
	}
	return a, nil
}

// widen makes the range of a question one of whole steps.
func (a *asking) widen(step time.Duration) {
	a.span = span{align(a.From, step), align(a.Until.Add(step-1), step)}
}

// widenKept is widen, without the steps that are not kept: a view leaves out a window if a part
// of it has expired, and the whole range may be one window. The windows of a rollup need not be
// kept where a step is made of longer ones.
func (s *Server) widenKept(a *asking, step time.Duration) error {
	a.widen(step)
	all, _ := s.Rollups.Kept(a.job.Job)
	for i, r := range all {
		if i+1 < len(all) && step%all[i+1].Window == 0 || !s.gone(r, a.From) {
			continue
		}
		if a.From = align(s.Windows.Now().Add(step-1-r.left()), step); !a.From.Before(a.Until) {
			return fmt.Errorf("%w: job %s keeps windows of %s only for %s, and the range ends before that", errQuestion, a.job.Job, r.Window, r.Keep)
		}
	}
	return nil
}

// lengthen makes a question of the path series one of rollups.
func (s *Server) lengthen(a *asking, rollups []Rollup) (err error) {
	if a.own.Step, err = s.gather(a, rollups); err != nil {
		return err
	}
	if a.Until.Sub(a.From)/a.own.Step > stepsMost {
		return fmt.Errorf("%w: more than %d steps of %s; make the range shorter or the steps longer", errQuestion, stepsMost, a.own.Step)
	}
	return nil
}

// gather puts a question to the shortest rollup that is kept for its range. The range becomes
// one of whole steps: fewer and longer pieces of it cost less. The first window of the range,
// which begins with a step, has to be kept too.
func (s *Server) gather(a *asking, rollups []Rollup) (step time.Duration, err error) {
	shortest := rollups[0].Window
	if step = a.own.Step; step == 0 {
		step = stepOf(a.span, shortest)
	}
	if len(rollups) > 1 && s.gone(rollups[0], align(a.From, step)) {
		return s.gather(a, rollups[1:])
	}
	if step%shortest != 0 {
		return 0, fmt.Errorf("%w: step=%s; want a multiple of %s, the shortest windows of job %s that are kept for so long a range", errQuestion, step, shortest, a.job.Job)
	}
	a.own.Long, a.own.Level = true, a.level
	return step, s.widenKept(a, step)
}

// gatherGroups makes a question of the path top one of rollups.
func (s *Server) gatherGroups(a *asking, rollups []Rollup) error {
	if m, ok := peopleMeasure(a.job); ok && s.K > 0 {
		a.own.People, a.own.Least = m.Name, uint64(s.K)
	}
	_, err := s.gather(a, rollups)
	return err
}

func (s *Server) longSeries(ctx context.Context, a asking) (any, error) {
	st := a.statement()
	reply := seriesReply{about: a.of(), Step: st.Step.Seconds(), Points: []point{}}
	reply.AsOf = s.Windows.Now().UTC()
	known, err := s.told(ctx, &a, st)
	if err != nil {
		return nil, err
	}
	of := func(all map[int64]number, at time.Time) number {
		if n, ok := all[at.Unix()]; ok {
			return n
		}
		return a.number(nil)
	}
	for at := a.From; at.Before(a.Until); at = at.Add(st.Step) {
		reply.Points = append(reply.Points, point{at, of(known, at)})
	}
	st.Step = 0
	if known, err = s.told(ctx, &a, st); err != nil {
		return nil, err
	}
	reply.Total = of(known, time.Time{})
	return reply, nil
}

// told returns the numbers of a statement by the starts of its steps. It
// withholds numbers of chosen groups where too few people were in them.
func (s *Server) told(ctx context.Context, a *asking, st Statement) (map[int64]number, error) {
	rows, err := s.Rollups.Long(ctx, st)
	if err != nil {
		return nil, err
	}
	all := map[int64]number{}
	for _, r := range rows {
		all[r.At.Unix()] = a.stored(r.Number)
	}
	if !a.chosen || s.K == 0 {
		return all, nil
	}
	var people []questions.Told
	if m, ok := peopleMeasure(a.job); ok {
		st.Measure = m.Name
		if people, err = s.Rollups.Long(ctx, st); err != nil {
			return nil, err
		}
	}
	enough := map[int64]bool{}
	for _, r := range people {
		n, err := strconv.ParseUint(r.Number, 10, 64)
		enough[r.At.Unix()] = err == nil && !s.few(n)
	}
	for at := range all {
		if !enough[at] {
			all[at] = number{Withheld: true}
		}
	}
	return all, nil
}

// longTop answers a question of the path top from the rollups.
func (s *Server) longTop(ctx context.Context, a asking) (any, error) {
	st := a.statement()
	reply := TopReply{about: a.of(), Columns: st.Columns, Groups: []group{}}
	reply.AsOf = s.Windows.Now().UTC()
	of, enough, err := s.Rollups.Groups(ctx, st)
	if err != nil {
		return nil, err
	}
	reply.Of = int(of)
	if s.K > 0 {
		if reply.Withheld = int(of - enough); st.Least == 0 { // nothing counts people
			reply.Withheld = reply.Of
			return reply, nil
		}
	}
	rows, err := s.Rollups.Long(ctx, st)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		reply.Groups = append(reply.Groups, group{r.Group, a.stored(r.Number)})
	}
	slices.SortStableFunc(reply.Groups, greater)
	return reply, nil
}

// stored returns the number of a Told.
func (a *asking) stored(text string) number {
	if !json.Valid([]byte(text)) { // empty, or not a number
		return number{}
	}
	n := number{Value: json.Number(text)}
	n.Error = a.margin(n.Value)
	return n
}
