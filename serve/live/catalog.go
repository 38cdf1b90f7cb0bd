package live

import (
	"time"

	"weir/event"
)

// A Description says what a job can be asked.
type Description struct {
	Job      string
	Window   time.Duration
	By       []string // its group columns
	Measures []Described
}

// A Described is a measure of a job; the first one is Hits.
type Described struct {
	Name  string
	Kind  Kind
	Error float64 // as the job is configured: of a distribution, the greatest relative error
}

// Jobs describes the jobs, by name.
func (w *Windows) Jobs() []Description {
	var all []Description
	for _, name := range w.names() {
		s := w.jobs[name].spec
		d := Description{Job: name, Window: milliseconds(s.Window), Measures: []Described{{Name: Hits, Kind: hitsKind}}}
		for _, c := range s.By {
			d.By = append(d.By, c.Name)
		}
		for i := range s.Measures {
			d.Measures = append(d.Measures, Described{s.Measures[i].Name, kindOf(&s.Measures[i]), s.Measures[i].Error})
		}
		all = append(all, d)
	}
	return all
}

func milliseconds(t event.Time) time.Duration { return time.Duration(t) * time.Millisecond }

// A Query asks for a measure over the windows of a job that start in [From, Until).
type Query struct {
	Job, Measure string
	From, Until  time.Time
	// Group has a text, or nil for any, for each group column; fewer than the job has
	// leave out the last ones.
	Group [][]byte
}

// Now returns the time that the clock of all answers shows.
func (w *Windows) Now() time.Time { return w.cfg.Now() }

// ask returns the plan of a query. Its errors are errors of package key.
func (w *Windows) ask(q Query) (*plan, error) {
	s, err := w.source(q.Job)
	if err != nil {
		return nil, err
	}
	group := q.Group
	for len(group) < len(s.spec.By) {
		group = append(group[:len(group):len(group)], nil)
	}
	return s.plan(q.Measure, event.Time(q.From.UnixMilli()), event.Time(q.Until.UnixMilli()), group)
}
