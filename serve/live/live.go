// Package live answers questions about windows that are filling now: it joins
// what the sink holds (all processes, up to their last flush) with what this
// process has in memory. Every value is a join-semilattice element, so the
// two may overlap, and an answer is never less than what either knows.
//
//	l := live.New(time.Now)
//	l.Add(job, sink)
//	v, found, err := l.Lookup(ctx, live.Query{Job: "clicks", Measure: "users", From: from, Until: until})
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/event"
	"weir/jobs"
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
	"weir/window"
)

// A Sink reads back what was written; sinks/clickhouse is one.
type Sink interface {
	// Total is the number of events counted in the range.
	Total(ctx context.Context, r *window.Range) (uint64, error)
	// Counts joins the hits by slot of the range's rows into a table.
	Counts(ctx context.Context, r *window.Range, into *window.Table) error
	// State is measure m joined over the range, nil if there is no row.
	State(ctx context.Context, r *window.Range, m int) ([]byte, error)
	// Places joins the last positions of geo measure m into a table.
	Places(ctx context.Context, r *window.Range, m int, into *window.Table) error
	// Windows lists the rows of the range, up to limit.
	Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error
}

// A Job is the memory of one job; *jobs.Job is one.
type Job interface {
	Spec() *window.Spec
	Status() jobs.Status
	Live(ctx context.Context, r *window.Range) (*window.Table, error)
}

// Windows answers for all jobs of a process. It is safe for concurrent use
// once every job is added.
type Windows struct {
	now  func() time.Time
	jobs map[string]source
}

type source struct {
	job  Job
	sink Sink
}

// New makes an empty one; now is the clock that `now` means.
func New(now func() time.Time) *Windows {
	return &Windows{now: now, jobs: map[string]source{}}
}

// Add makes a job answer.
func (w *Windows) Add(job Job, sink Sink) { w.jobs[job.Spec().Job] = source{job, sink} }

// Hits is the measure that every job has: the number of events.
const Hits = "hits"

// A Query selects windows that start in [From, Until) of one measure, and per
// dimension one text or (nil) any; dimensions left out at the end are any.
type Query struct {
	Job, Measure string
	From, Until  event.Time
	Group        [][]byte
}

// A Value is one of these.
type Value struct {
	Hits   uint64
	HLL    *hll.Sketch
	Bitmap *bitmap.Activity
	Bloom  *bloom.Filter
	Geo    *geo.Set // last position of each member over the windows
}

// Start is the start of the window that lies ago windows before the one of
// now, for the job of that name.
func (w *Windows) Start(job string, ago int64) (event.Time, bool) {
	s, ok := w.jobs[job]
	if !ok {
		return 0, false
	}
	size := s.job.Spec().Window
	return w.Align(job, event.Time(w.now().UnixMilli())) - event.Time(ago)*size, true
}

// Align is the start of the window that a time falls into.
func (w *Windows) Align(job string, t event.Time) event.Time {
	size := w.jobs[job].job.Spec().Window
	return t - t%size
}

// Size is the length of a job's windows.
func (w *Windows) Size(job string) event.Time { return w.jobs[job].job.Spec().Window }

// ErrQuery is a query that cannot be answered as it was asked.
var ErrQuery = errors.New("not a question for this job")

// Lookup answers a query. found is false if there is no such job or measure,
// or nothing was counted.
func (w *Windows) Lookup(ctx context.Context, q Query) (v Value, found bool, err error) {
	s, ok := w.jobs[q.Job]
	if !ok {
		return v, false, nil
	}
	spec := s.job.Spec()
	if len(q.Group) > len(spec.By) {
		return v, false, fmt.Errorf("%w: job %s has %d group columns, not %d", ErrQuery, q.Job, len(spec.By), len(q.Group))
	}
	r := &window.Range{From: q.From, Until: q.Until, Group: append(slices.Clone(q.Group), make([][]byte, len(spec.By)-len(q.Group))...)}
	m := slices.IndexFunc(spec.Measures, func(m window.Measure) bool { return m.Name == q.Measure })
	if m < 0 && q.Measure != Hits {
		return v, false, nil
	}
	// Memory first, the sink then: what is flushed in between is in both.
	mem, err := s.memory(ctx, r)
	if err != nil {
		return v, false, err
	}
	if m < 0 {
		v.Hits, err = s.hits(ctx, r, mem)
		return v, v.Hits > 0, err
	}
	if spec.Measures[m].Kind == window.Geo {
		v.Geo, err = s.places(ctx, r, m, mem)
		return v, err == nil && v.Geo.Len() > 0, err
	}
	return s.sketch(ctx, r, m, mem)
}

// memory is what the process holds; nothing while it has no partitions.
func (s source) memory(ctx context.Context, r *window.Range) (*window.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	t, err := s.job.Live(ctx, r)
	if errors.Is(err, context.DeadlineExceeded) && s.job.Status().State != "running" {
		// Between two generations nothing is held that was not flushed or
		// will not be read again.
		t, err = window.NewTable(s.job.Spec()), nil
		t.Seal()
	}
	return t, err
}

// hits sums counts. Where memory has rows, both sides are joined slot by slot
// first; what lies before them is summed by the server.
func (s source) hits(ctx context.Context, r *window.Range, mem *window.Table) (uint64, error) {
	from := r.Until
	for row := range mem.Rows {
		from = min(from, row.Window())
	}
	before := *r
	before.Until = from
	total, err := s.sink.Total(ctx, &before)
	if err != nil || from >= r.Until {
		return total, err
	}
	recent := *r
	recent.From = from
	if err := s.sink.Counts(ctx, &recent, mem); err != nil {
		return 0, err
	}
	mem.Seal()
	for row := range mem.Rows {
		for _, n := range row.Hits {
			total += n
		}
	}
	return total, nil
}

// sketch joins one state of the sink's with the states of the rows in memory.
func (s source) sketch(ctx context.Context, r *window.Range, m int, mem *window.Table) (v Value, found bool, err error) {
	measure := &s.job.Spec().Measures[m]
	var join func(state []byte) error
	switch measure.Kind {
	case window.HLL:
		v.HLL = new(hll.Sketch)
		join = func(state []byte) error { _, err := v.HLL.MergeClickHouse(state); return err }
	case window.Bitmap:
		v.Bitmap = new(bitmap.Activity)
		join = func(state []byte) error {
			a, err := bitmap.FromClickHouse(state)
			if err == nil {
				v.Bitmap.Merge(a)
			}
			return err
		}
	default:
		v.Bloom = bloom.New(measure.Capacity, measure.Error)
		join = v.Bloom.MergeClickHouse
	}
	state, err := s.sink.State(ctx, r, m)
	if err != nil {
		return v, false, err
	}
	if state != nil {
		found = true
		if err := join(state); err != nil {
			return v, false, fmt.Errorf("measure %s: %w", measure.Name, err)
		}
	}
	var buffer []byte
	for row := range mem.Rows {
		found = true
		buffer = row.AppendState(buffer[:0], m)
		if err := join(buffer); err != nil {
			return v, false, fmt.Errorf("measure %s: %w", measure.Name, err)
		}
	}
	return v, found, nil
}

// places is the last position of each member, over all windows of the range.
func (s source) places(ctx context.Context, r *window.Range, m int, mem *window.Table) (*geo.Set, error) {
	for _, g := range r.Group {
		if g != nil {
			return nil, fmt.Errorf("%w: positions are kept per window, not per group: leave the groups out", ErrQuery)
		}
	}
	if err := s.sink.Places(ctx, r, m, mem); err != nil {
		return nil, err
	}
	var last geo.Last // over windows: all under one
	mem.Places(m).All(func(_ int64, member []byte, st geo.Stamp, score uint64) bool {
		last.Put(0, member, st, score)
		return true
	})
	set := new(geo.Set)
	last.All(func(_ int64, member []byte, _ geo.Stamp, score uint64) bool {
		set.Put(member, float64(score))
		return true
	})
	return set, nil
}

// A Name is one row that can be asked for.
type Name struct {
	Job, Measure string
	Start        event.Time
	Group        []string
}

const (
	listWindows = 60   // how many windows back a listing goes
	listRows    = 5000 // how many rows of a job it names at most
)

// Names lists the rows of each job's last windows, once per measure: for
// people who look around. It is not complete for busy jobs.
func (w *Windows) Names(ctx context.Context, yield func(Name) bool) error {
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range w.jobs {
			if !yield(n) {
				return
			}
		}
	}) {
		s := w.jobs[name]
		spec := s.job.Spec()
		start, _ := w.Start(name, listWindows)
		r := &window.Range{From: start, Until: event.Time(w.now().UnixMilli()) + spec.Skew + spec.Window, Group: make([][]byte, len(spec.By))}
		seen := map[string]bool{}
		more := true
		one := func(start event.Time, group []string) bool {
			key := fmt.Sprint(start, group)
			if seen[key] {
				return more
			}
			seen[key] = true
			more = more && yield(Name{name, Hits, start, group})
			for _, m := range spec.Measures {
				if m.Kind != window.Geo {
					more = more && yield(Name{name, m.Name, start, group})
				}
			}
			return more
		}
		mem, err := s.memory(ctx, r)
		if err != nil {
			return err
		}
		for row := range mem.Rows {
			var group []string
			for _, g := range row.Group(nil) {
				group = append(group, string(g))
			}
			if !one(row.Window(), group) {
				return nil
			}
		}
		if err := s.sink.Windows(ctx, r, listRows, one); err != nil || !more {
			return err
		}
	}
	return nil
}
