package http

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/measures/face"
	"weir/serve/key"
	"weir/serve/live"
	"weir/sinks/clickhouse/questions"
)

// Questions about ids over several windows are answered by the views of ClickHouse, and so as
// of the last flush: memory has no more than the last second.

// IDs answers these questions. Errors that wrap key.ErrQuestion say what is wrong with one.
type IDs interface {
	// Rollup returns the length of the windows of a job that these answers are made from: its
	// shortest rollup.
	Rollup(job string) time.Duration
	// Retention says who came back, by the last Periods of Unit in Zone, by start and later.
	Retention(ctx context.Context, st Statement) ([]questions.Pair, error)
	// Sessions says how many sessions begin in each Step of time, if they end after Gap. Funnel
	// says how many ids take the Steps in their order.
	Sessions(ctx context.Context, st Statement) ([]questions.Bound, error)
	Funnel(ctx context.Context, st Statement) ([]questions.Bound, error)
}

// between is a number between two bounds; both are null if it is withheld.
type between struct {
	Least    *uint64 `json:"least"`
	Most     *uint64 `json:"most"`
	Withheld bool    `json:"withheld,omitempty"` // fewer than http.k people
}

func betweenOf(b questions.Bound) between { return between{Least: &b.Least, Most: &b.Most} }

// known returns the measure that a question asks for; if it names none, the first one that knows
// who came back.
func (s *Server) known(q call) (a asking, err error) {
	if a, err = s.asked(q, face.People); err != nil {
		return a, err
	}
	if q.Get("measure") == "" {
		if i := slices.IndexFunc(a.job.Measures, func(m live.Described) bool { return m.Kind.Common != nil }); i >= 0 {
			a.measure = a.job.Measures[i]
		}
	}
	if a.measure.Kind.Common == nil {
		return a, fmt.Errorf("%w: measure %s of kind %s does not know who came back; a bitmap or a set does", errQuestion, a.measure.Name, a.measure.Kind.Name)
	}
	return a, nil
}

// ofIDs answers a question about ids with answer, or with an error if there is no ClickHouse to ask.
func (s *Server) ofIDs(answer func(context.Context, asking) (any, error)) func(context.Context, asking) (any, error) {
	return func(ctx context.Context, a asking) (any, error) {
		if s.IDs == nil {
			return nil, fmt.Errorf("%w: there is no ClickHouse to ask", errQuestion)
		}
		return answer(ctx, a)
	}
}

// rollup returns the shortest rollup of a job; 0 if nothing answers questions about ids.
func (s *Server) rollup(job string) time.Duration {
	if s.IDs == nil {
		return 0
	}
	return s.IDs.Rollup(job)
}

// A retentionReply says how many of the people of each period were there again in later
// ones.
type retentionReply struct {
	Job     string   `json:"job"`
	Measure string   `json:"measure"`
	Kind    string   `json:"kind"`
	Unit    string   `json:"unit"`
	Zone    string   `json:"zone"`
	Cohorts []period `json:"cohorts"` // oldest first, without periods that have no people
	made
}

// A period is one day, week and so on, and how many of its people were there in later ones that
// have people.
type period struct {
	At       time.Time `json:"at"`
	Value    *uint64   `json:"value"` // null: withheld
	Withheld bool      `json:"withheld,omitempty"`
	Back     []later   `json:"back"`
}

type later struct {
	At    time.Time `json:"at"`
	Value *uint64   `json:"value"` // null: withheld
}

// periodsMost is how many periods an answer has.
const periodsMost = 60

// askedRetention reads a question of the path retention.
func (s *Server) askedRetention(q call) (a asking, err error) {
	if a, err = s.known(q); err != nil {
		return a, err
	}
	a.own.Unit, a.own.Zone = q.Get("unit"), q.Get("zone")
	if a.own.Unit == "" {
		a.own.Unit = "day"
	}
	if a.own.Zone == "" {
		a.own.Zone = "UTC"
	}
	if _, known := units[a.own.Unit]; !known {
		return a, fmt.Errorf("%w: unit=%.40s; want one of day, week, month, quarter, year", errQuestion, a.own.Unit)
	}
	a.own.Periods, err = whole(q, "n", 8, periodsMost)
	now := s.Windows.Now().UTC().Truncate(time.Second)
	a.span = span{now, now}
	return a, err
}

func (s *Server) retention(ctx context.Context, a asking) (any, error) {
	st := a.statement()
	reply := retentionReply{Job: a.job.Job, Measure: a.measure.Name, Kind: a.measure.Kind.Name, Unit: st.Unit, Zone: st.Zone, Cohorts: []period{}}
	reply.AsOf = s.Windows.Now().UTC()
	pairs, err := s.IDs.Retention(ctx, st)
	if err != nil {
		return nil, err
	}
	secret := map[int64]bool{} // by the starts of the periods
	for _, p := range pairs {
		at := p.Start.Unix()
		if _, known := secret[at]; known {
			continue
		}
		if secret[at], err = s.secretPeriod(ctx, &a, p); err != nil {
			return nil, err
		}
	}
	for _, p := range pairs {
		if n := len(reply.Cohorts); n == 0 || !reply.Cohorts[n-1].At.Equal(p.Start) {
			c := period{At: p.Start.UTC(), Value: &p.Cohort, Back: []later{}, Withheld: secret[p.Start.Unix()]}
			if c.Withheld {
				c.Value = nil
			}
			reply.Cohorts = append(reply.Cohorts, c)
		}
		c := &reply.Cohorts[len(reply.Cohorts)-1]
		if p.Later.Equal(p.Start) {
			continue
		}
		back := later{p.Later.UTC(), &p.Returned}
		if c.Withheld || secret[p.Later.Unix()] || p.Returned > 0 && s.few(p.Returned) {
			back.Value = nil
		}
		c.Back = append(c.Back, back)
	}
	return reply, nil
}

// secretPeriod reports whether too few people of the chosen groups were in the period in which
// a pair starts. The measure of the question may count something else than people.
func (s *Server) secretPeriod(ctx context.Context, a *asking, p questions.Pair) (bool, error) {
	if !a.chosen || s.K == 0 || s.few(p.Cohort) {
		return a.chosen && s.few(p.Cohort), nil
	}
	zone, err := time.LoadLocation(a.own.Zone)
	if err != nil {
		return true, fmt.Errorf("%w: zone=%.40s: %w", errQuestion, a.own.Zone, err)
	}
	// The period has the windows of the shortest rollup that begin in it.
	each := max(a.job.Window, s.rollup(a.job.Job))
	over := span{align(p.Start.Add(each-1), each), align(after(p.Start.In(zone), a.own.Unit).Add(each-1), each)}
	n, err := s.peopleIn(ctx, *a, over)
	return s.few(n), err
}

// units are the periods of retention, in years, months and days.
var units = map[string][3]int{"day": {0, 0, 1}, "week": {0, 0, 7}, "month": {0, 1, 0}, "quarter": {0, 3, 0}, "year": {1, 0, 0}}

// after returns the start of the next period, for one that starts at a time.
func after(t time.Time, unit string) time.Time {
	year, month, day := t.Date()
	more := units[unit]
	return time.Date(year+more[0], month+time.Month(more[1]), day+more[2], 0, 0, 0, 0, t.Location())
}

// A sessionsReply says how many sessions begin.
type sessionsReply struct {
	about
	Gap    float64 `json:"gap_s"`
	Step   float64 `json:"step_s"`
	Total  between `json:"total"`
	Points []begun `json:"points"` // oldest first, without steps in which none can begin
	made
}

type begun struct {
	At time.Time `json:"at"` // start of the step
	between
}

// askedSessions reads a question of the path sessions. Its steps begin at multiples of their
// length since 1970.
func (s *Server) askedSessions(q call) (a asking, err error) {
	if a, err = s.known(q); err != nil {
		return a, err
	}
	a.own.Gap = 30 * time.Minute
	if text := q.Get("gap"); text != "" {
		if a.own.Gap, err = duration("gap", text); err != nil {
			return a, err
		}
	}
	shortest := max(a.job.Window, s.rollup(a.job.Job))
	a.own.Step = stepOf(a.span, shortest)
	if text := q.Get("step"); text != "" {
		if a.own.Step, err = duration("step", text); err != nil {
			return a, err
		}
		if a.own.Step%shortest != 0 {
			return a, fmt.Errorf("%w: step=%s; want a multiple of %s, the shortest rollup of job %s", errQuestion, a.own.Step, shortest, a.job.Job)
		}
	}
	a.span = span{align(a.From, a.own.Step), align(a.Until.Add(a.own.Step-1), a.own.Step)}
	return a, nil
}

func (s *Server) sessions(ctx context.Context, a asking) (any, error) {
	st := a.statement()
	reply := sessionsReply{about: a.of(), Gap: st.Gap.Seconds(), Step: st.Step.Seconds(), Points: []begun{}}
	reply.AsOf = s.Windows.Now().UTC()
	bounds, err := s.IDs.Sessions(ctx, st)
	if err != nil {
		return nil, err
	}
	var total questions.Bound
	for _, b := range bounds {
		total.Least, total.Most = total.Least+b.Least, b.Total
		p := begun{b.At.UTC(), betweenOf(b)}
		if err := s.withhold(ctx, &a, span{b.At, b.At.Add(st.Step)}, &p.between); err != nil {
			return nil, err
		}
		reply.Points = append(reply.Points, p)
	}
	reply.Total = betweenOf(total)
	return reply, s.withhold(ctx, &a, a.span, &reply.Total)
}

// withhold removes the bounds of a number over some windows if too few people of the chosen
// groups were in them.
func (s *Server) withhold(ctx context.Context, a *asking, over span, b *between) error {
	if !a.chosen || s.K == 0 {
		return nil
	}
	n, err := s.peopleIn(ctx, *a, over)
	if err != nil || s.few(n) {
		*b = between{Withheld: true}
	}
	return err
}

// A funnelReply says how many people take steps in their order.
type funnelReply struct {
	Job string `json:"job"`
	span
	Steps []taken `json:"steps"`
	made
}

type taken struct {
	Step string `json:"step"`
	between
}

// askedFunnel reads a question of the path funnel. Its range is one of whole windows of the
// shortest rollup, because the answer has all of each window that begins in it.
func (s *Server) askedFunnel(q call) (a asking, err error) {
	a.call = q
	if a.job, err = s.job(q); err != nil {
		return a, err
	}
	if a.span, err = s.over(q, a.job); err != nil {
		return a, err
	}
	a.widen(max(a.job.Window, s.rollup(a.job.Job)))
	if q.Get("steps") == "" {
		return a, fmt.Errorf("%w: no steps; want some such as steps=people:/cart,people:/paid", errQuestion)
	}
	a.own.Steps = strings.Split(q.Get("steps"), ",")
	for i, step := range a.own.Steps {
		name, _, _ := strings.Cut(step, ":")
		if name == "" {
			return a, fmt.Errorf("%w: steps=%.64s; step %d has no measure, such as people:/cart has", errQuestion, q.Get("steps"), i+1)
		}
		m, err := measure(call{q.path, url.Values{"measure": {name}}}, a.job, face.People)
		if err != nil {
			return a, err
		}
		if m.Kind.Common == nil {
			return a, fmt.Errorf("%w: measure %s of kind %s does not know who came back; a bitmap or a set does", errQuestion, m.Name, m.Kind.Name)
		}
		if i == 0 {
			a.measure = m
		}
	}
	return a, nil
}

func (s *Server) funnel(ctx context.Context, a asking) (any, error) {
	st := a.statement()
	reply := funnelReply{Job: a.job.Job, span: a.span, Steps: []taken{}}
	reply.AsOf = s.Windows.Now().UTC()
	bounds, err := s.IDs.Funnel(ctx, st)
	if err != nil {
		return nil, err
	}
	secret := false // once a step is, those behind it tell of the same people
	for _, b := range bounds {
		if b.Step < 1 || b.Step > len(st.Steps) {
			return nil, fmt.Errorf("%w: no step %d", key.ErrQuestion, b.Step)
		}
		step := taken{st.Steps[b.Step-1], betweenOf(b)}
		if !secret {
			if secret, err = s.secretStep(ctx, a, step.Step, b.Most); err != nil {
				return nil, err
			}
		}
		if secret || b.Most > 0 && s.few(b.Least) {
			step.between = between{Withheld: true}
		}
		reply.Steps = append(reply.Steps, step)
	}
	return reply, nil
}

// secretStep reports whether the groups of a step of a funnel have too few people. It is no
// secret that they have none, if none can have taken the step either.
func (s *Server) secretStep(ctx context.Context, a asking, step string, most uint64) (bool, error) {
	if s.K == 0 {
		return false, nil
	}
	a.group, a.chosen = make([][]byte, len(a.job.By)), false
	for i, text := range strings.Split(step, ":")[1:] {
		if text == "*" || i == len(a.group) {
			continue
		}
		value, err := url.PathUnescape(text)
		if err != nil {
			return true, fmt.Errorf("%w: step %.64q: %w", errQuestion, step, err)
		}
		a.group[i], a.chosen = []byte(value), true
	}
	if !a.chosen {
		return false, nil
	}
	n, err := s.peopleIn(ctx, a, a.span)
	return s.few(n) && n+most > 0, err
}
