package http

import (
	"context"
	"fmt"
	"time"

	"weir/measures/face"
	"weir/serve/live"
)

// A seriesReply is a measure over time, and of the whole range.
type seriesReply struct {
	about
	Step   float64 `json:"step_s"`
	Total  number  `json:"total"`
	Points []point `json:"points"`
	made
}

type point struct {
	At time.Time `json:"at"` // start of the step
	number
}

// pointsMost is how many steps a series has unless its step is given.
const pointsMost = 120

// steps are the lengths that a step may have, if it is not given.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// askedSeries reads a question of the path series.
func (s *Server) askedSeries(q call) (a asking, err error) {
	if a, err = s.asked(q, face.Events, face.People, face.Quantity); err != nil {
		return a, err
	}
	if text := q.Get("step"); text != "" {
		if a.own.Step, err = duration("step", text); err != nil {
			return a, err
		}
	}
	if rollups := s.long(&a, live.SeriesMost); rollups != nil {
		return a, s.lengthen(&a, rollups)
	}
	if a.own.Step == 0 {
		a.own.Step = stepOf(a.span, a.job.Window)
	}
	return a, nil
}

func (s *Server) series(ctx context.Context, a asking) (any, error) {
	if a.own.Long {
		return s.longSeries(ctx, a)
	}
	step := a.own.Step
	points, total, err := s.Windows.Series(ctx, a.query(a.measure.Name), step)
	if err != nil {
		return nil, err
	}
	if len(points) > live.SeriesMost {
		return nil, fmt.Errorf("%w: more than %d steps", errQuestion, live.SeriesMost)
	}
	reply := seriesReply{about: a.of(), Step: step.Seconds(), Points: []point{}}
	if reply.Total, err = s.tell(ctx, &a, a.span, total); err != nil {
		return nil, err
	}
	reply.add(total, total.Found())
	for _, p := range points {
		over := span{p.From, p.From.Add(step)}
		n, err := s.tell(ctx, &a, over, p.Answer)
		if err != nil {
			return nil, err
		}
		reply.Points = append(reply.Points, point{p.From.UTC(), n})
		reply.add(p.Answer, p.Found())
	}
	return reply, nil
}

// tell returns the number of an answer over some windows of a question, or nothing if
// too few people of the chosen groups were in them. That nothing was counted tells of people
// too, if the measure has conditions.
func (s *Server) tell(ctx context.Context, a *asking, over span, answer live.Answer) (number, error) {
	if a.chosen && s.K > 0 && (answer.Found() || a.measure.Name != "hits") {
		n, err := s.peopleIn(ctx, *a, over)
		if err != nil || s.few(n) && (n > 0 || answer.Found()) {
			return number{Withheld: true}, err
		}
	}
	return a.number(answer.Value), nil
}

// stepOf returns the shortest usual step that is a multiple of the window and divides the
// range into at most pointsMost.
func stepOf(over span, window time.Duration) time.Duration {
	for _, d := range steps {
		if d >= window && d%window == 0 && over.Until.Sub(over.From)/d <= pointsMost {
			return d
		}
	}
	n := over.Until.Sub(over.From)/window/pointsMost + 1
	return n * window
}

// A PeopleReply is how many people there are now, over several times back.
type PeopleReply struct {
	Job     string   `json:"job"`
	Measure string   `json:"measure"`
	Kind    string   `json:"kind"`
	Now     []recent `json:"now"`
	made
}

type recent struct {
	Last string `json:"last"`
	span
	number
}

// lasts are the times back that people are counted over.
var lasts = [...]string{"60s", "5m", "30m", "today"}

// askedPeople reads a question of the path people. Its windows are one of the lasts.
func (s *Server) askedPeople(q call) (a asking, err error) {
	if a, err = s.asked(q, face.People); err == nil {
		a.span, err = lately("30m", s.Windows.Now().UTC(), a.job.Window)
	}
	return a, err
}

func (s *Server) people(ctx context.Context, a asking) (any, error) {
	reply := PeopleReply{Job: a.job.Job, Measure: a.measure.Name, Kind: a.measure.Kind.Name}
	for _, last := range lasts {
		var err error
		if a.span, err = lately(last, s.Windows.Now().UTC(), a.job.Window); err != nil {
			return nil, err
		}
		answer, err := s.Windows.Ask(ctx, a.query(a.measure.Name))
		if err != nil {
			return nil, err
		}
		n, err := s.tell(ctx, &a, a.span, answer)
		if err != nil {
			return nil, err
		}
		reply.Now = append(reply.Now, recent{last, a.span, n})
		reply.add(answer, answer.Found())
	}
	nest(reply.Now)
	return reply, nil
}

// nest lets no time back have fewer people than a shorter one within it. The answers were made
// at different times (see package live): an older one of a longer time may lack people of a
// newer one of a shorter time.
func nest(all []recent) {
	for i := range all {
		n := &all[i]
		for _, shorter := range all[:i] {
			has, _ := shorter.Value.(uint64)
			if of, ok := n.Value.(uint64); ok && of < has && !n.From.After(shorter.From) {
				n.number = shorter.number
			}
		}
	}
}

// A CatalogReply says what there is to ask.
type CatalogReply struct {
	Build Build        `json:"build"`
	K     int          `json:"k"`     // groups of fewer people are withheld; 0: none
	Kill  bool         `json:"kill"`  // POST /api/v1/kill is there
	Token bool         `json:"token"` // requests need it
	Now   time.Time    `json:"now"`
	Jobs  []CatalogJob `json:"jobs"`
}

// CatalogJob describes a job to a page.
type CatalogJob struct {
	Job      string           `json:"job"`
	Window   float64          `json:"window_s"`
	Rollup   float64          `json:"rollup_s"`
	Keep     float64          `json:"keep_s"`
	Rollups  []catalogRollup  `json:"rollups"`
	By       []string         `json:"by"`
	Measures []catalogMeasure `json:"measures"`
}

type catalogRollup struct {
	Window float64 `json:"window_s"`
	Keep   float64 `json:"keep_s"` // 0: for ever
}

type catalogMeasure struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Shows     face.Shows `json:"shows"`
	Returning bool       `json:"returning"` // whether it can say who came back
}

func (s *Server) catalog(context.Context, asking) (any, error) {
	reply := CatalogReply{Build: s.Build, K: s.K, Kill: s.Process != nil, Token: s.Token != "", Now: s.Windows.Now().UTC(), Jobs: []CatalogJob{}}
	for _, d := range s.Windows.Jobs() {
		j := CatalogJob{Job: d.Job, Window: d.Window.Seconds(), Rollup: s.rollup(d.Job).Seconds(), Rollups: []catalogRollup{}, By: append([]string{}, d.By...)}
		if s.Rollups != nil {
			all, rows := s.Rollups.Kept(d.Job)
			j.Keep = rows.Seconds()
			for _, r := range all {
				j.Rollups = append(j.Rollups, catalogRollup{r.Window.Seconds(), r.Keep.Seconds()})
			}
		}
		for _, m := range d.Measures {
			j.Measures = append(j.Measures, catalogMeasure{m.Name, m.Kind.Name, m.Kind.Shows, m.Kind.Common != nil})
		}
		reply.Jobs = append(reply.Jobs, j)
	}
	return reply, nil
}
