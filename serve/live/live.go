// Package live answers questions about windows that are filling now: it merges
// what the sink holds (from all processes, up to their last flush) with what this
// process has in memory. The two may overlap, because merging a value twice
// changes nothing. An answer is never less than what either of them has.
//
//	l := live.New(live.Config{Now: time.Now, Memory: 1 << 30})
//	l.Add(job, sink)
//	v, found, err := l.Lookup(ctx, live.Query{Job: "clicks", Measure: "users", From: from, Until: until})
//
// # What an answer holds
//
// An answer holds all that this process had counted, and all that any process had
// flushed (its ledger line was in the sink), for windows of any age. If there are
// no other questions, that is as of the question.
//
// Questions must not take much of the pipeline's time. Therefore a snapshot of
// memory is used again for a thousand times as long as making it took, and so is
// the answer made from it. An answer is at most two seconds old, or five if making
// it, snapshot included, takes more than 5 ms (collecting and sorting the
// positions of a hundred thousand people may). Its age is that of the oldest thing
// it is made from. If the sink takes longer than that, as for the first question
// about many thousands of windows, the answer is as old as that took.
//
// # Without the sink
//
// While the sink does not answer, this process answers from what it has itself,
// marked as partial, if it has something of each window of the question: see
// alone.go.
//
// Three things are kept to answer quickly: answers (reuse.go), snapshots of one
// measure in memory (memory.go), and what the sink holds of a window, until a
// process writes to that window (stored.go; for positions, places.go). The last
// of these takes much memory: it may use what the windows leave of the process's
// memory budget.
package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weir/event"
	"weir/internal/outage"
	"weir/jobs"
	"weir/sketches/geo"
	"weir/window"
)

// A Sink reads back what was written; sinks/clickhouse is one.
type Sink interface {
	// Total returns the number of events counted in the range, and Totals that of
	// each window of the range that has any.
	Total(ctx context.Context, r *window.Range) (uint64, error)
	Totals(ctx context.Context, r *window.Range, yield func(start event.Time, total uint64)) error
	// Counts merges the hits by slot of the range's rows into a table.
	Counts(ctx context.Context, r *window.Range, into *window.Table) error
	// State is measure m merged over the range, nil if there is no row, and
	// States the same by window. A yielded state is valid during the call.
	State(ctx context.Context, r *window.Range, m int) ([]byte, error)
	States(ctx context.Context, r *window.Range, m int, yield func(start event.Time, state []byte) error) error
	// Places merges the last position of each member over the range's windows,
	// of geo measure m, into last: under window 0.
	Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error
	// Windows lists the rows of the range, up to limit.
	Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error
	// Progress is how far the ledger says that all processes' flushes have come,
	// and the current round. What is read after it has all of their rows.
	Progress(ctx context.Context) (next map[window.Origin]int64, round uint64, err error)
	// Touched lists at least the windows with rows that were not there yet when
	// a Progress, or a Touched that followed one, was called that said since.
	Touched(ctx context.Context, since uint64) ([]event.Time, error)
}

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
	// Memory is the memory budget of the process in bytes. Kept windows take up to a
	// quarter of it, and no more than the jobs leave of four fifths, where the jobs
	// begin to flush early. With zero no windows of the sink are kept.
	Memory int64
	// Outages reports a sink that does not answer; nil: no reports.
	Outages *outage.Reporter
}

// Windows answers for all jobs of a process. It is safe for concurrent use
// once every job is added.
type Windows struct {
	cfg  Config
	jobs map[string]*source

	answers   reuse[answer]
	snapshots reuse[snapshot]
	looks     reuse[struct{}]
	lists     reuse[[]Name]

	mu     sync.Mutex // guards what follows and every piece
	stored stored
}

// A source is one job: its memory, and the sink it shares with the same job
// in other processes.
type source struct {
	job  Job
	spec *window.Spec
	sink Sink
	// reads are what is asked of the sink, as the log knows them.
	reads *outage.Source

	// Guarded by Windows.mu.
	series  map[string]*series
	written map[event.Time]time.Time // when this process last wrote to which window
	sent    event.Time               // the latest window that the sink may have rows of
	seen    progress
	away    away
}

type answer struct {
	value Value
	found bool
}

// New makes Windows without jobs.
func New(cfg Config) *Windows {
	if cfg.Outages == nil {
		cfg.Outages = outage.New(nil)
	}
	w := &Windows{cfg: cfg, jobs: map[string]*source{}, looks: reuse[struct{}]{most: lookAge}}
	w.stored.init()
	return w
}

// Add adds a job. It must be called before the job runs, because it asks the job
// to report flushes.
func (w *Windows) Add(job Job, sink Sink) {
	s := &source{job: job, spec: job.Spec(), sink: sink, reads: w.cfg.Outages.Of(outage.ClickHouse, "live reads of job "+job.Spec().Job), series: map[string]*series{}, written: map[event.Time]time.Time{}}
	s.seen.own = map[window.Origin]stretch{}
	s.sent = s.floor(w.now())
	w.jobs[s.spec.Job] = s
	job.OnFlush(func(c *window.Changes) { w.flushed(s, c) })
}

// Measures that every job has.
const (
	Hits    = "hits"    // the number of events
	Partial = "partial" // why answers are partial: Value.Partial; not found while they are whole
)

// A Query selects windows that start in [From, Until) of one measure, and per
// dimension one text or (nil) any; dimensions left out at the end are any.
type Query struct {
	Job, Measure string
	From, Until  event.Time
	Group        [][]byte
}

// A Value has one of these fields set. Other callers get the same value: it must
// not be changed.
type Value struct {
	Hits uint64
	// Measured is what a measure comes to, in the type that its Kind names.
	Measured any

	// Partial says why the value may lack what the sink holds; "" if it is whole.
	Partial string
}

// Start is the start of the window that lies ago windows before the one of
// now, for the job of that name. The error is an *UnknownError.
func (w *Windows) Start(job string, ago int64) (event.Time, error) {
	s, err := w.source(job)
	if err != nil {
		return 0, err
	}
	return s.floor(w.now()) - event.Time(ago)*s.spec.Window, nil
}

func (w *Windows) now() event.Time { return event.Time(w.cfg.Now().UnixMilli()) }

// Align is the start of the window that a time falls into.
func (w *Windows) Align(job string, t event.Time) event.Time { return w.jobs[job].floor(t) }

func (s *source) floor(t event.Time) event.Time { return t - t%s.spec.Window }

// ceil is the first start of a window at a time or after it.
func (s *source) ceil(t event.Time) event.Time {
	if off := t % s.spec.Window; off > 0 {
		t += s.spec.Window - off
	}
	return t
}

// Size is the length of a job's windows.
func (w *Windows) Size(job string) event.Time { return w.jobs[job].spec.Window }

// ErrQuery is a query that cannot be answered as it was asked.
var ErrQuery = errors.New("not a question for this job")

// Lookup answers a query. found is false if nothing was counted. The error is an
// *UnknownError if there is no such job or measure.
func (w *Windows) Lookup(ctx context.Context, q Query) (v Value, found bool, err error) {
	p, err := w.plan(q)
	if err != nil {
		return v, false, err
	}
	if p.measure == partial {
		v.Partial, err = w.partial(ctx, p.source)
		return v, v.Partial != "", err
	}
	a, _, err := w.answers.get(ctx, p.key, func(took *work) (answer, error) {
		a, err := w.answer(ctx, took, p.source, p.over, p.measure)
		took.bytes = a.value.bytes()
		return a, err
	})
	return a.value, a.found, err
}

// Recent is Lookup if that need not do anything: known is false if it must.
func (w *Windows) Recent(q Query) (v Value, found, known bool) {
	p, err := w.plan(q)
	if err != nil || p.measure == partial {
		return v, false, false
	}
	a, known := w.answers.recent(p.key)
	return a.value, a.found, known
}

// A plan is what a query asks for, in terms of its job.
type plan struct {
	source  *source
	over    *window.Range
	measure int    // one of the job's, totalHits or partial
	key     string // equal queries have the same
}

// plan makes one.
func (w *Windows) plan(q Query) (*plan, error) {
	s, err := w.source(q.Job)
	if err != nil {
		return nil, err
	}
	m, err := s.measure(q.Measure)
	if err != nil {
		return nil, err
	}
	if len(q.Group) > len(s.spec.By) {
		return nil, s.tooManyGroups(len(q.Group))
	}
	if s.byMember(m) && slices.ContainsFunc(q.Group, func(g []byte) bool { return g != nil }) {
		return nil, fmt.Errorf("%w: positions are kept per window, not per group: leave the groups out", ErrQuery)
	}
	r := &window.Range{From: q.From, Until: q.Until, Group: append(slices.Clone(q.Group), make([][]byte, len(s.spec.By)-len(q.Group))...)}
	key := binary.AppendVarint(binary.AppendVarint(appendText(nil, []byte(q.Job)), int64(r.From)), int64(r.Until))
	return &plan{s, r, m, string(appendChoice(key, m, r.Group))}, nil
}

// byMember reports whether measure m is of members, not of groups.
func (s *source) byMember(m int) bool { return m >= 0 && s.spec.Measures[m].Kind.ByMember() }

// answer makes an answer, from the sink as well if that can be asked.
func (w *Windows) answer(ctx context.Context, took *work, s *source, r *window.Range, m int) (answer, error) {
	for turn := 1; ; turn++ {
		// Memory first, the sink then: what is flushed in between is in both.
		mem, err := ingredient(took, func() (snapshot, origin, error) { return w.memory(ctx, s, m) })
		if err != nil {
			return answer{}, err
		}
		a, err := w.mergedOrAlone(ctx, took, s, r, m, mem)
		if err != nil || turn == 2 || !w.byPieces(s, r) || !time.Now().After(took.origin().end()) {
			return a, err
		}
		// Memory has moved on while the sink was read. What was read is kept, and
		// told of flushes, so that the second turn is a quick one.
		*took = *newWork()
	}
}

// byPieces reports whether a range is answered window by window.
func (w *Windows) byPieces(s *source, r *window.Range) bool {
	return w.cfg.Memory > 0 && (r.Until-r.From)/s.spec.Window <= piecesMax
}

// mergedOrAlone is the answer of memory and sink, or of memory if the sink cannot
// be asked.
func (w *Windows) mergedOrAlone(ctx context.Context, took *work, s *source, r *window.Range, m int, mem snapshot) (answer, error) {
	asking := ctx
	if w.canAlone(s, r, m) {
		var cancel func()
		asking, cancel = context.WithTimeoutCause(ctx, patience, errPatience)
		defer cancel()
	}
	a, err := w.merged(asking, took, s, r, m, mem)
	if err != nil && asking.Err() != nil && !w.canAlone(s, r, m) { // a window has ended or been written meanwhile
		a, err = w.merged(ctx, took, s, r, m, mem)
	}
	if err == nil || ctx.Err() != nil {
		return a, err
	}
	return w.alone(s, r, m, mem, err)
}

// merged is the answer of memory and sink.
func (w *Windows) merged(ctx context.Context, took *work, s *source, r *window.Range, m int, mem snapshot) (a answer, err error) {
	if _, err := ingredient(took, func() (struct{}, origin, error) { return w.look(ctx, s) }); err != nil {
		return a, err
	}
	if !w.byPieces(s, r) {
		return s.whole(ctx, r, m, mem)
	}
	switch {
	case m < 0:
		return w.hits(ctx, took, s, r, mem)
	case s.byMember(m):
		return w.places(ctx, took, s, r, m, mem)
	}
	pieces, err := w.pieces(ctx, took, s, r, m, r.From, r.Until)
	if err != nil {
		return a, err
	}
	v := begin(&s.spec.Measures[m])
	w.mu.Lock()
	found := mergePieces(v, pieces)
	w.mu.Unlock()
	found = mem.merge(v, r, m) || found
	return answerOf(v, found), nil
}

// hits sums counts. Where memory has rows, or had some lately, they are merged
// slot by slot with the sink's; of the windows besides, the sink's totals will
// do, if they are of many groups.
func (w *Windows) hits(ctx context.Context, took *work, s *source, r *window.Range, mem snapshot) (a answer, err error) {
	if oneGroup(r.Group) {
		a.value.Hits, err = w.bySlot(ctx, took, s, r, mem, r.From, r.Until)
		return answer{a.value, a.value.Hits > 0}, err
	}
	held := mem.held(r)
	w.mu.Lock()
	for start, at := range s.written {
		if start >= r.From && start < r.Until && time.Since(at) < rewritten {
			held = append(held, start)
		}
	}
	w.mu.Unlock()
	slices.Sort(held)
	held = slices.Compact(held)
	for from := r.From; from < r.Until; { // stretches of the latter, between those of the former
		until := r.Until
		if len(held) > 0 {
			until = held[0]
		}
		totals, err := w.pieces(ctx, took, s, r, totalHits, from, until)
		if err != nil {
			return a, err
		}
		w.mu.Lock()
		for _, p := range totals {
			a.value.Hits += p.total
		}
		w.mu.Unlock()
		if len(held) == 0 {
			break
		}
		n := 1 // neighbours are asked for together
		for n < len(held) && held[n] == held[n-1]+s.spec.Window {
			n++
		}
		from = held[n-1] + s.spec.Window
		counted, err := w.bySlot(ctx, took, s, r, mem, held[0], from)
		if err != nil {
			return a, err
		}
		a.value.Hits += counted
		held = held[n:]
	}
	a.found = a.value.Hits > 0
	return a, nil
}

// bySlot merges the counts of the windows in [from, until) with those in memory.
func (w *Windows) bySlot(ctx context.Context, took *work, s *source, r *window.Range, mem snapshot, from, until event.Time) (n uint64, err error) {
	slots, err := w.pieces(ctx, took, s, r, slotHits, from, until)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range slots {
		n += p.total + p.lacks(mem, r)
	}
	return n, err
}

// whole answers without looking at windows one by one: for ranges of too many.
func (s *source) whole(ctx context.Context, r *window.Range, m int, mem snapshot) (answer, error) {
	if m < 0 {
		// Both sides are merged slot by slot from the first window in memory on;
		// what lies before is summed by the sink.
		before, recent := *r, *r
		if held := mem.held(r); len(held) > 0 {
			before.Until, recent.From = held[0], held[0]
		} else {
			recent.From = r.Until
		}
		total, err := s.sink.Total(ctx, &before)
		if err == nil && recent.From < r.Until {
			t := window.NewTable(s.spec)
			recent.Only = []int{window.Counts}
			mem[0].table.Copy(t, &recent)
			err = s.sink.Counts(ctx, &recent, t)
			t.Seal()
			total += sum(t)
		}
		return answer{Value{Hits: total}, total > 0}, err
	}
	if s.byMember(m) {
		last := new(geo.Last)
		if err := s.sink.Places(ctx, r, m, last); err != nil {
			return answer{}, err
		}
		mem.mergePlaces(last, r, m)
		return located(last.Set(0)), nil
	}
	v := begin(&s.spec.Measures[m])
	state, err := s.sink.State(ctx, r, m)
	if err != nil {
		return answer{}, err
	}
	found := state != nil
	if found {
		if err := v.mergeState(state); err != nil {
			return answer{}, fmt.Errorf("measure %s: %w", s.spec.Measures[m].Name, err)
		}
	}
	if mem.merge(v, r, m) {
		found = true
	}
	return answerOf(v, found), nil
}

// names are those of the jobs, in order.
func (w *Windows) names() []string { return slices.Sorted(maps.Keys(w.jobs)) }
