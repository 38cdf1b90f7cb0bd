package http

import (
	"context"
	"fmt"
	"time"

	"weir/serve/live"
)

// A returningReply says how many of the people of each step were there again in later
// ones.
type returningReply struct {
	about
	Step    float64  `json:"step_s"`
	Cohorts []cohort `json:"cohorts"` // oldest first
	made
}

// A cohort is the people of one step. Back[i] is how many of them were there i+1 steps
// later too.
type cohort struct {
	At time.Time `json:"at"`
	number
	Back []*uint64 `json:"back"` // null: withheld
}

// cohortsMost is how many steps back an answer goes.
const cohortsMost = 24

// askedReturning reads a question of the path returning.
func (s *Server) askedReturning(q call) (a asking, err error) {
	if a, err = s.known(q); err != nil {
		return a, err
	}
	n, err := whole(q, "n", 8, cohortsMost)
	if err != nil {
		return a, err
	}
	step := a.job.Window
	if text := q.Get("step"); text != "" {
		if step, err = duration("step", text); err != nil {
			return a, err
		}
	}
	if step%a.job.Window != 0 || time.Duration(n)*step/a.job.Window > live.SeriesMost {
		return a, fmt.Errorf("%w: step=%s; want a multiple of the window of job %s, %s, and at most %d windows in all", errQuestion, step, a.job.Job, a.job.Window, live.SeriesMost)
	}
	until := align(s.Windows.Now(), step).Add(step)
	a.span = span{until.Add(-time.Duration(n) * step), until}
	a.own.Step, a.own.Returning = step, true
	return a, nil
}

func (s *Server) returning(ctx context.Context, a asking) (any, error) {
	common, step := a.measure.Kind.Common, a.own.Step
	reply := returningReply{about: a.of(), Step: step.Seconds(), Cohorts: []cohort{}}
	points, _, err := s.Windows.Series(ctx, a.query(a.measure.Name), step)
	if err != nil {
		return nil, err
	}
	for _, p := range points {
		num, err := s.tell(ctx, &a, span{p.From, p.From.Add(step)}, p.Answer)
		if err != nil {
			return nil, err
		}
		reply.Cohorts = append(reply.Cohorts, cohort{At: p.From.UTC(), number: num, Back: []*uint64{}})
		reply.add(p.Answer, p.Found())
	}
	for i := range reply.Cohorts {
		c := &reply.Cohorts[i]
		for j := i + 1; j < len(points); j++ {
			both := common(points[i].Value, points[j].Value)
			if c.Withheld || reply.Cohorts[j].Withheld || both > 0 && s.few(both) {
				c.Back = append(c.Back, nil)
				continue
			}
			c.Back = append(c.Back, &both)
		}
	}
	return reply, nil
}
