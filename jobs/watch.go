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

	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

// This file watches what a ledger covers of a whole topic: the partitions of
// other members too, and those that no process reads. A flush speaks only of
// the partitions in hand, so without the watch a partition that another
// deployment counts into another database would be missed by nothing here.

// A Log is what a watch asks of a [Source].
type Log interface {
	Spans(ctx context.Context) (map[int32]event.Span, error)
}

// A Ledger is what a watch asks of a [Sink].
type Ledger interface {
	Coverage(ctx context.Context) (window.Coverage, error)
}

// Uncounted are the partitions whose records no flush of this database covers.
type Uncounted struct {
	Partitions []int32       `json:"partitions"`
	Records    int64         `json:"records"`
	For        time.Duration `json:"for_ns"` // how long nothing of them was flushed, of the time they were watched; the longest
	// Cause is where to look for why, by what this process has to do with the
	// partitions; empty: that is not known.
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

// because is the Cause, given which of the partitions this process reads.
func (u *Uncounted) because(reads func(partition int32) bool) string {
	const (
		here      = "reading or flushing does not get on: Kafka throttles or is slow, or ClickHouse is (last_error, last_flush_took_ns and lag of the status)"
		elsewhere = "another member of the group has them and does not get on either or counts into another database, or no member has them (weir check names the members)"
	)
	var mine, others []int32
	for _, p := range u.Partitions {
		if reads(p) {
			mine = append(mine, p)
		} else {
			others = append(others, p)
		}
	}
	switch {
	case len(others) == 0:
		return "this process reads them, and " + here
	case len(mine) == 0:
		return "this process does not read them: " + elsewhere
	}
	return fmt.Sprintf("this process reads %s, and %s; of %s, %s", numbers(mine), here, numbers(others), elsewhere)
}

// numbers writes ascending numbers with ranges: 0, 2-5.
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

func (u *Uncounted) add(partition int32, records int64, stood time.Duration) {
	u.Partitions = append(u.Partitions, partition)
	u.Records += records
	u.For = max(u.For, stood)
}

// look reads the ledger, then the log. In this order what the ledger covers to
// the end was covered when the log was asked: a partition that is taken for
// idle held nothing more. The coverage is nil if the ledger did not answer.
func look(ctx context.Context, log Log, ledger Ledger) (map[int32]event.Span, *window.Coverage, error) {
	c, err := ledger.Coverage(ctx)
	if err != nil {
		return nil, nil, err
	}
	spans, err := log.Spans(ctx)
	return spans, &c, err
}

// FindUncounted watches every partition that has records which the ledger does
// not cover, until something of it was flushed. It returns those of which
// nothing was within patience; nil if there are none. What is flushed meanwhile
// need not be all: a lag that moves is no fault. wait, if not nil, is told once
// that there is something to wait for.
func FindUncounted(ctx context.Context, log Log, ledger Ledger, patience time.Duration, wait func()) (*Uncounted, error) {
	began := time.Now()
	var standing map[int32]window.Covered
	for {
		spans, c, err := look(ctx, log, ledger)
		if err != nil {
			return nil, err
		}
		if standing == nil {
			standing = map[int32]window.Covered{}
			for p, s := range spans {
				if c.Waiting(p, s) > 0 {
					standing[p] = c.Partitions[p]
				}
			}
			if wait != nil && len(standing) > 0 {
				wait()
			}
		}
		var u Uncounted
		for _, p := range slices.Sorted(maps.Keys(standing)) {
			n := c.Waiting(p, spans[p])
			if n == 0 || moved(standing[p], c.Partitions[p]) {
				delete(standing, p)
				continue
			}
			u.add(p, n, time.Since(began))
		}
		switch {
		case len(standing) == 0:
			return nil, nil
		case u.For >= patience:
			return &u, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(time.Second, patience)):
		}
	}
}

// moved reports whether something was flushed. A flush that counts again what
// the ledger covers already leaves the position as it was.
func moved(was, is window.Covered) bool {
	return was.Epoch != is.Epoch || was.Next != is.Next || was.Flushed != is.Flushed
}

// A watch looks again and again while the job runs.
type watch struct {
	job    *Job
	ledger *outage.Source
	misses *outage.Source
	opened *outage.Source
	cancel context.CancelFunc
	wg     sync.WaitGroup

	watermark atomic.Int64 // of the last look that told one; what was complete stays so

	// Owned by look.
	last    time.Time // of the look before; zero: there was none
	waiting map[int32]standing
	open    map[int32]OpenTransaction // that records wait behind, however briefly
}

// standing is a partition with records that the ledger does not cover.
type standing struct {
	at    window.Covered
	stood time.Duration // since something was flushed, of the time that was watched
}

// uncounted is what the log says of partitions that nothing is flushed of.
var uncounted = outage.Subject{
	Begins: "records are not counted by this database",
	GoesOn: "records are still not counted by this database",
	Ends:   "records of every partition are counted by this database again",
}

// lookTimeout bounds one look, and so how late the status knows that the sink
// does not answer: by that and the pause between two looks.
const lookTimeout = 10 * time.Second

func (j *Job) startWatch() *watch {
	of := func(s outage.Subject, what string) *outage.Source {
		return j.cfg.Outages.Of(s, what+" of job "+j.cfg.Spec.Job)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{
		job: j, cancel: cancel, waiting: map[int32]standing{},
		ledger: of(outage.ClickHouse, "looking at the ledger"), misses: of(uncounted, "log"), opened: of(openTransaction, "log"),
	}
	w.wg.Go(func() { w.loop(ctx) })
	return w
}

func (w *watch) loop(ctx context.Context) {
	tick := time.NewTicker(w.job.cfg.Look)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// stop ends the looks. What failed last is not tried again.
func (w *watch) stop() {
	w.cancel()
	w.wg.Wait()
	w.ledger.Gone()
	w.misses.Gone()
	w.opened.Gone()
}

// look is one look, and what follows from it.
func (w *watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	spans, c, err := look(ctx, w.job.cfg.Source, w.job.cfg.Sink)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // the job ends
	}
	if c == nil {
		w.ledger.Failed(err)
		w.job.status.sinkAnswered(err)
	} else {
		w.ledger.Worked()
		w.job.status.sinkAnswered(nil)
	}
	if err != nil {
		return // of the log's it is the source that speaks
	}
	w.passed(c.Watermark(spans))
	w.judge(time.Now(), spans, c)
}

// lastLook takes in what the last flush completed, if it can be had at once.
func (w *watch) lastLook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if spans, c, err := look(ctx, w.job.cfg.Source, w.job.cfg.Sink); err == nil {
		w.passed(c.Watermark(spans))
	}
}

// passed notes a watermark; 0: none could be told.
func (w *watch) passed(at event.Time) {
	if at > 0 {
		w.watermark.Store(int64(at))
	}
}

// complete is the watermark of the job, as far as it was ever known.
func (w *watch) complete() event.Time { return event.Time(w.watermark.Load()) }

// judge takes a look in.
func (w *watch) judge(now time.Time, spans map[int32]event.Span, c *window.Coverage) {
	var since time.Duration
	if !w.last.IsZero() {
		// Time that was not watched is held against nothing: the ledger or the
		// log was away, or the process was stopped.
		since = min(now.Sub(w.last), w.job.cfg.Look+lookTimeout)
	}
	w.last = now
	before := w.waiting
	w.waiting = map[int32]standing{}
	var u Uncounted
	var longest time.Duration
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		n := c.Waiting(p, spans[p])
		if n == 0 {
			continue
		}
		s := standing{at: c.Partitions[p]}
		if old, ok := before[p]; ok && !moved(old.at, s.at) {
			s.stood = old.stood + since
		}
		w.waiting[p] = s
		longest = max(longest, s.stood)
		if s.stood >= w.job.cfg.Patience {
			u.add(p, n, s.stood)
		}
	}
	open := w.standingOpen(since, spans)
	if len(open) > 0 {
		w.opened.Failed(openError(open))
	} else {
		w.opened.Worked()
	}
	if len(u.Partitions) == 0 {
		w.misses.Worked()
		w.job.status.watched(nil, longest, open, w.complete())
		return
	}
	u.Cause = u.because(func(p int32) bool { return w.job.status.partition(p) != nil })
	w.misses.Failed(&u)
	w.job.status.watched(&u, longest, open, w.complete())
}
