package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/outage"
)

// This file watches how much of a whole topic the ledger covers, also of
// partitions that another member reads, or no process. A flush covers
// only the owned partitions. Without the watch, no process would notice a
// partition that another deployment counts into another database.

// A Log is the part of a [Source] that a watch uses.
type Log interface {
	Spans(ctx context.Context) (map[int32]event.Span, error)
}

// A Ledger is the part of a [Sink] that a watch uses.
type Ledger interface {
	Coverage(ctx context.Context) (audit.Coverage, error)
}

// Uncounted are the partitions whose records no flush of this database covers.
type Uncounted struct {
	Partitions []int32       `json:"partitions"`
	Records    int64         `json:"records"`
	For        time.Duration `json:"for_ns"` // how long nothing of them was flushed, of the time they were watched; the longest
	// Cause says where to look for the cause. It depends on whether this process
	// has the partitions; empty if that is not known.
	Cause string `json:"cause,omitempty"`
}

func (u *Uncounted) Error() string {
	partitions := "partitions"
	if len(u.Partitions) == 1 {
		partitions = "partition"
	}
	text := fmt.Sprintf("%d records of %s %s are not counted by this database: nothing of them was flushed for %s",
		u.Records, partitions, numbers(u.Partitions), u.For.Round(time.Second))
	if u.Cause != "" {
		text += "; " + u.Cause
	}
	return text
}

// because makes Cause from the partitions that this process reads, and from the schemas that
// these wait for; empty: for none.
func (u *Uncounted) because(state func(partition int32) (reads bool, schema string)) string {
	const (
		here      = "reading or flushing makes no progress: Kafka throttles or is slow, or ClickHouse is slow (last_error, last_flush_took_ns and lag of the status)"
		elsewhere = "another process has them and makes no progress either or counts into another database, or no process has them (weir check says more)"
	)
	var mine, others []int32
	waiting := map[string][]int32{} // by schema
	for _, p := range u.Partitions {
		switch reads, schema := state(p); {
		case schema != "":
			waiting[schema] = append(waiting[schema], p)
		case reads:
			mine = append(mine, p)
		default:
			others = append(others, p)
		}
	}
	var causes []string
	for _, schema := range slices.Sorted(maps.Keys(waiting)) {
		causes = append(causes, fmt.Sprintf("reading of %s waits for %s, which cannot be had (the log says why)", numbers(waiting[schema]), schema))
	}
	switch {
	case len(mine) == len(u.Partitions):
		return "this process reads them, and " + here
	case len(others) == len(u.Partitions):
		return "this process does not read them: " + elsewhere
	}
	if mine != nil {
		causes = append(causes, fmt.Sprintf("this process reads %s, and %s", numbers(mine), here))
	}
	if others != nil {
		causes = append(causes, fmt.Sprintf("of %s, %s", numbers(others), elsewhere))
	}
	return strings.Join(causes, "; ")
}

// numbers prints ascending numbers with ranges: 0, 2-5.
func numbers(ps []int32) string {
	var b strings.Builder
	for i := 0; i < len(ps); {
		last := i
		for last+1 < len(ps) && ps[last+1] == ps[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, ps[i])
		if last > i {
			fmt.Fprintf(&b, "-%d", ps[last])
		}
		i = last + 1
	}
	return b.String()
}

// uncountedOf returns the partitions that have waited for limit; nil: none has.
func uncountedOf(waits []audit.Wait, limit time.Duration) *Uncounted {
	var u Uncounted
	for _, w := range waits {
		if stood := duration(w.Stood); stood >= limit {
			u.Partitions = append(u.Partitions, w.Partition)
			u.Records += w.Records
			u.For = max(u.For, stood)
		}
	}
	if len(u.Partitions) == 0 {
		return nil
	}
	return &u
}

func duration(ms event.Time) time.Duration    { return time.Duration(ms) * time.Millisecond }
func milliseconds(d time.Duration) event.Time { return event.Time(d.Milliseconds()) }

// missing reports whether an error of Spans says only that some partitions are missing.
func missing(err error) bool { return errors.As(err, new(interface{ Missing() []int32 })) }

// look reads the ledger, then the log. In this order, a partition whose log ends where the
// ledger's coverage does has no further records. The coverage is about the log's topic; nil:
// the ledger did not answer.
func look(ctx context.Context, log Log, ledger Ledger) (map[int32]event.Span, *audit.Coverage, error) {
	c, err := ledger.Coverage(ctx)
	if err != nil {
		return nil, nil, err
	}
	spans, err := log.Spans(ctx)
	c.Of(spans)
	return spans, &c, err
}

// FindUncounted watches every partition with records that the ledger does not cover, until a
// flush of it. It returns the partitions without a flush within limit; nil if there are none,
// with the error of Spans about missing partitions. A flush need not cover all records: a lag
// that moves is normal. If there are such partitions at the beginning, it calls wait once, if
// that is not nil.
func FindUncounted(ctx context.Context, log Log, ledger Ledger, limit time.Duration, wait func()) (*Uncounted, error) {
	var waits audit.Waits
	var began time.Time    // of the first look
	var watched event.Time // since then
	for first := true; ; first = false {
		spans, c, err := look(ctx, log, ledger)
		if err != nil && !missing(err) {
			return nil, err
		}
		if first {
			began = time.Now()
		}
		since := milliseconds(time.Since(began)) - watched
		watched += since
		// A partition that has not waited since the first look had a flush, or its
		// records are newer.
		all := slices.DeleteFunc(waits.Look(c, spans, since), func(w audit.Wait) bool { return w.Stood < watched })
		if first && wait != nil && len(all) > 0 {
			wait()
		}
		switch u := uncountedOf(all, limit); {
		case len(all) == 0:
			return nil, err
		case u != nil:
			return u, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(2*time.Second, limit)):
		}
	}
}

// A watch looks at ledger and log at intervals while the job runs.
type watch struct {
	job    *Job
	ledger *outage.Source
	misses *outage.Source
	opened *outage.Source
	cancel context.CancelFunc
	wg     sync.WaitGroup

	watermark atomic.Int64  // of the last look that found one; a complete window stays complete
	changes   atomic.Uint64 // how many looks found the ledger other than the look before
	lowest    atomic.Int32  // partition that the ledger has; 0 before a look

	// Only look uses these, and lastLook after it.
	covered    map[int32]audit.Covered // at the last look that read the ledger
	spans      map[int32]event.Span    // of the log, at that look
	last       time.Time               // time of the last look that read both; zero: none yet
	waits      audit.Waits
	watermarks audit.Watermarks
	open       map[int32]OpenTransaction // all open transactions, even short ones
}

// uncounted is the subject of log lines about partitions without a flush.
var uncounted = outage.Subject{
	Begins: "records are not counted by this database",
	GoesOn: "records are still not counted by this database",
	Ends:   "records of every partition are counted by this database again",
}

// lookTimeout bounds one look. So the status shows that the sink does not answer
// after this time plus the pause between two looks. Where it does not, the log has as
// long again.
const lookTimeout = 10 * time.Second

func (j *Job) startWatch() *watch {
	of := func(s outage.Subject, what string) *outage.Source {
		return j.cfg.Outages.Of(s, what+" of job "+j.cfg.Spec.Job)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{
		job: j, cancel: cancel,
		ledger: of(outage.ClickHouse, "looking at the ledger"), misses: of(uncounted, "log"), opened: of(openTransaction, "log"),
	}
	w.wg.Go(func() { w.loop(ctx) })
	return w
}

// A look at a job at rest finds what the look before found, and the processes of a group find the same. Each look
// costs ClickHouse a query. So after restAfter looks at rest in a row, and in a process that does not lead, the
// pause is restPause times as long.
const (
	restAfter = 20
	restPause = 4
)

func (w *watch) loop(ctx context.Context) {
	for still := 0; ; still++ {
		if !w.look(ctx) {
			still = 0
		}
		pause := w.job.cfg.Look
		if still >= restAfter || !w.leads() {
			pause *= restPause
		}
		// Looks come at the multiples of the pause, so looks of several jobs meet: see
		// Config.Zero. They come half a flush later than these, when the flush of that moment is in the ledger.
		pause -= (time.Since(w.job.cfg.Zero) + pause - w.job.cfg.Flush/2%pause) % pause
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// leads reports whether this process reads the lowest partition that the ledger has.
func (w *watch) leads() bool { return w.job.status.partition(w.lowest.Load()) != nil }

// stop ends the looks. It reports the sources of outages as gone.
func (w *watch) stop() {
	w.cancel()
	w.wg.Wait()
	w.ledger.Gone()
	w.misses.Gone()
	w.opened.Gone()
}

// look makes one look and draws the conclusions. It reports whether the job is at rest:
// ledger and log are as they were, and no records wait.
func (w *watch) look(whole context.Context) (rest bool) {
	ctx, cancel := context.WithTimeout(whole, lookTimeout)
	defer cancel()
	acknowledged := w.job.status.acknowledged()
	spans, c, err := look(ctx, w.job.cfg.Source, w.job.cfg.Sink)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return false // the job ends
	}
	if c == nil {
		w.ledger.Failed(err)
		w.job.status.sinkAnswered(err)
		spans = w.spansAlone(whole)
	} else {
		w.ledger.Worked()
		w.job.status.sinkAnswered(nil)
		if why := w.missing(acknowledged, c, spans); why != nil {
			w.goBack(why)
		}
		if rest = maps.Equal(c.Partitions, w.covered) && maps.Equal(spans, w.spans); !rest {
			w.spans = spans
		}
		if !maps.Equal(c.Partitions, w.covered) {
			w.covered = c.Partitions
			w.changes.Add(1)
			if len(c.Partitions) > 0 {
				w.lowest.Store(slices.Min(slices.Collect(maps.Keys(c.Partitions))))
			}
		}
	}
	w.reaches(spans)
	lacks := missing(err)
	if err != nil && !lacks {
		return false // the source reports its own failures
	}
	since := w.since()
	at := w.watermarks.Look(c, spans, milliseconds(since))
	if !lacks { // a missing partition may hold earlier events
		w.passed(at)
	}
	return !w.judge(since, spans, c, lacks) && rest && !lacks
}

// spansAlone asks the log after a ledger that did not answer, and may have taken all the time of the look.
func (w *watch) spansAlone(ctx context.Context) map[int32]event.Span {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	spans, _ := w.job.cfg.Source.Spans(ctx) // the source reports its own failures
	return spans
}

// reaches notes how far the logs reach, which a worker learns only while it fetches: not while memory is
// full because the sink does not answer.
func (w *watch) reaches(spans map[int32]event.Span) {
	for p, span := range spans {
		if b := w.job.status.partition(p); b != nil {
			raise(&b.logStart, span.First)
			raise(&b.end, span.Next)
			raise(&b.highWater, span.End)
		}
	}
}

// raise stores a greater value. A worker may store an earlier one at the same time, until it fetches again.
func raise(a *atomic.Int64, to int64) {
	for now := a.Load(); now < to && !a.CompareAndSwap(now, to); now = a.Load() {
	}
}

// since returns the time since the last look that read ledger and log, and begins it anew.
// It is at most what can be between two looks: time without a look does not count, because
// the ledger or the log was unreachable, or the process was suspended.
func (w *watch) since() (since time.Duration) {
	now := time.Now()
	if !w.last.IsZero() {
		since = min(now.Sub(w.last), restPause*w.job.cfg.Look+lookTimeout)
	}
	w.last = now
	return since
}

// lastLook looks once more, for the windows that the last flush completed. It
// does not retry.
func (w *watch) lastLook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if spans, c, err := look(ctx, w.job.cfg.Source, w.job.cfg.Sink); err == nil {
		w.passed(w.watermarks.Look(c, spans, milliseconds(w.since())))
	}
}

// passed notes a watermark; 0: it is not known.
func (w *watch) passed(at event.Time) {
	if at > 0 {
		w.watermark.Store(int64(at))
	}
}

// complete returns the last known watermark of the job.
func (w *watch) complete() event.Time { return event.Time(w.watermark.Load()) }

// judge draws the conclusions of a look, which lacks partitions or does not. It reports whether records wait.
func (w *watch) judge(since time.Duration, spans map[int32]event.Span, c *audit.Coverage, lacks bool) (wait bool) {
	over := (*outage.Source).Worked
	if lacks {
		over = (*outage.Source).Gone // it may go on in those
	}
	waits := w.waits.Look(c, spans, milliseconds(since))
	var longest time.Duration
	for _, p := range waits {
		longest = max(longest, duration(p.Stood))
	}
	u := uncountedOf(waits, w.job.cfg.WaitLimit)
	open := w.standingOpen(since, spans)
	if len(open) > 0 {
		w.opened.Failed(openError(open))
	} else {
		over(w.opened)
	}
	if u == nil {
		over(w.misses)
		w.job.status.watched(nil, longest, open, w.complete())
		return len(waits)+len(open) > 0
	}
	u.Cause = u.because(func(p int32) (reads bool, schema string) {
		b := w.job.status.partition(p)
		if b == nil {
			return false, ""
		}
		return true, b.schema()
	})
	w.misses.Failed(u)
	w.job.status.watched(u, longest, open, w.complete())
	return true
}
