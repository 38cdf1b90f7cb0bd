// Package live answers questions about windows that are being filled: it merges
// what the sink holds (from all processes, up to their last flush) with what this
// process has in memory. The two may overlap, because merging a value twice
// changes nothing. An answer is never less than what either of them has.
//
//	l := live.New(live.Config{Now: time.Now, Memory: 1 << 30})
//	l.Add(job, sink)
//	k, err := key.Parse("w:clicks:users:-60..now")
//	a, err := l.Lookup(ctx, k)
//
// # What an answer holds
//
// An answer holds all that this process had counted, and all that any process had
// flushed (its ledger line was in the sink), for windows of any age. If there are
// no other questions, that is as of the question.
//
// Questions must not take much of the pipeline's time. Therefore a snapshot of memory
// serves for two hundred times as long as making it took, and so does the answer made from
// it: a slow sink gets fewer questions. An answer that takes up to 5 ms to make is at most two
// seconds old, and any answer is at most thirty. An answer is as old as the oldest of its parts.
//
// # Without the sink
//
// While the sink does not answer, this process answers from what it has itself,
// marked as partial, if it has something of each window of the question: see
// alone.go.
//
// # The way of a question
//
// Files:
//
//	live.go     the jobs, and the way of a question
//	keys.go     the list of window keys
//	series.go   a question step by step
//	groups.go   a question for each group
//	catalog.go  what there is to ask, and questions of programs, which have no key
//	read.go     answers made from memory and sink
//	memory.go   snapshots of the process's memory
//	sink.go     what is needed of a sink
//	answer.go   an answer, and the values that it may have
//	alone.go    whether the sink answers, and answers while it is away
//	positions.go
//	            maps and lists of the members of an answer of positions
//	plan.go     a key in terms of its job: measure, windows, groups
//	kind.go     what live knows of the kinds of measures
//	reuse.go    how long a value made for one question serves others
package live

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir/event"
	"weir/internal/outage"
	"weir/jobs"
	"weir/serve/key"
	"weir/window"
)

// A Job is the memory of one job; *jobs.Job is one.
type Job interface {
	Spec() *window.Spec
	Status() jobs.Status
	Live(ctx context.Context, r *window.Range) ([]*window.Table, error)
	OnFlush(f func(*window.Changes))
}

// Config has the settings of Windows.
type Config struct {
	Now func() time.Time // the clock that `now` means
	// Memory is the memory budget of the process in bytes, of which the groups of one
	// question may take an eighth; zero: the budget of a process with 1 GiB.
	Memory int64
	// Outages reports a sink that does not answer; nil: no reports.
	Outages *outage.Reporter
}

// Windows answers for all jobs of a process. It is safe for concurrent use
// once every job is added.
type Windows struct {
	cfg  Config
	jobs map[string]*source
}

// A source is one job: its memory, and the sink it shares with the same job
// in other processes.
type source struct {
	job    Job
	spec   *window.Spec
	sink   Sink
	clock  func() time.Time
	budget int64 // Config.Memory

	state sinkState

	answers   reuse[Answer]
	series    reuse[series]
	snapshots reuse[snapshot]
	looks     reuse[uint64]
	lists     reuse[[]key.Key]
	groupings reuse[Grouping]
}

// New returns Windows without jobs.
func New(cfg Config) *Windows {
	if cfg.Outages == nil {
		cfg.Outages = outage.New(nil)
	}
	return &Windows{cfg: cfg, jobs: map[string]*source{}}
}

// Add adds a job. It must be called before the job runs, because it asks the job
// to report flushes.
func (w *Windows) Add(job Job, sink Sink) {
	spec := job.Spec()
	s := &source{job: job, spec: spec, sink: sink, clock: w.cfg.Now, budget: w.cfg.Memory}
	s.state.reads = w.cfg.Outages.Of(outage.ClickHouse, "live reads of job "+spec.Job)
	now := s.now()
	s.state.flushed = now - now%spec.Window
	w.jobs[spec.Job] = s
	job.OnFlush(s.state.onFlush)
}

// now returns the time that `now` means.
func (s *source) now() event.Time { return event.Time(s.clock().UnixMilli()) }

// names returns the names of the jobs, in order.
func (w *Windows) names() []string { return slices.Sorted(maps.Keys(w.jobs)) }

// Lookup answers a question. If there is no such job or measure, or if the key does
// not fit its job, the error is one of package key; other errors are the sink's.
func (w *Windows) Lookup(ctx context.Context, k key.Key) (Answer, error) {
	p, err := w.plan(k)
	if err != nil {
		return Answer{}, err
	}
	return p.answer(ctx)
}

// Fixed returns a key that always asks for the windows that a key asks for now. Its errors are
// the errors of Lookup.
func (w *Windows) Fixed(k key.Key) (key.Key, error) {
	s, err := w.source(k.Job)
	if err != nil {
		return k, err
	}
	from, until, err := k.Windows(s.now(), s.spec.Window)
	if err != nil {
		return k, err
	}
	k.From = key.Point{Start: time.UnixMilli(int64(from)).UTC()}
	k.To = key.Point{Start: time.UnixMilli(int64(until - s.spec.Window)).UTC()}
	return k, nil
}

// answer returns the answer that was made a moment ago, or makes one.
func (p *plan) answer(ctx context.Context) (Answer, error) {
	s := p.source
	if p.measure == partial {
		return s.reason(ctx)
	}
	a, _, err := s.answers.get(ctx, p.id, func(took *work) (Answer, error) {
		all, err := s.read(ctx, took, p.over, p.measure, 0)
		took.bytes = all.whole.bytes()
		return all.whole, err
	})
	return a, err
}

// Stats has figures about live answers, for metrics.
type Stats struct {
	Partial uint64 // answers made without the sink
	Bytes   int64  // about what answers and snapshots take
}

// Stats returns the figures as of now.
func (w *Windows) Stats() (all Stats) {
	for _, s := range w.jobs {
		s.state.mu.Lock()
		all.Partial += s.state.partial
		s.state.mu.Unlock()
		all.Bytes += s.answers.held() + s.series.held() + s.snapshots.held() + s.groupings.held()
	}
	return all
}
