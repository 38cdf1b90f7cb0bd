package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir/event"
)

// rollups makes the numbers of complete windows while the job runs. A
// rollup may fail, run twice, or run in several processes at once: its results
// merge like all stored values, and the view reads windows that are not rolled
// up yet from the state rows. So a [cadence] decides nothing but the cost.
type rollups struct {
	job    *Job
	watch  *watch
	run    context.Context // of Job.Run
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

func (j *Job) startRollups(run context.Context, w *watch) *rollups {
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollups{job: j, watch: w, run: run, cancel: cancel}
	r.wg.Go(func() { r.loop(ctx) })
	return r
}

func (r *rollups) loop(ctx context.Context) {
	defer r.job.rollups.Gone()
	interval := r.job.cfg.Rollup
	wait, due := pauses[time.Duration](), time.Now().Add(interval)
	when := cadence{interval: interval, last: time.Now()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(due)):
		}
		began := time.Now()
		due = began.Add(interval)
		before := seen{r.watch.changes.Load(), r.watch.complete()}
		roll, all := when.due(began, r.watch.leads(), before)
		if !roll {
			continue
		}
		whole := ctx
		if r.job.cfg.UntilEnd { // a rollup that is broken off is made again at the end
			whole = r.run
		}
		ran, err := r.job.exclusively(whole, func(ctx context.Context) error { return r.job.cfg.Sink.Rollup(ctx, all, before.watermark) })
		if ctx.Err() != nil {
			return
		}
		r.job.status.rolledUp(err)
		// The next rollup does the work, after a pause that grows as a flush's does.
		if err != nil {
			r.job.rollups.Failed(err)
			due = time.Now().Add(interval + wait.Next())
			continue
		}
		if ran {
			when.made(began, all, before)
		}
		wait.Reset()
		r.job.rollups.Worked()
	}
}

// A cadence says when a process rolls a job up: at every interval while the ledger changes, by
// whatever process, and all windows, open ones too, once it has come to rest. In a group, the
// process that reads the lowest partition of the ledger leads: it rolls up, and the others
// stand in for it now and then.
type cadence struct {
	interval time.Duration
	last     time.Time // when the last rollup began, or the process
	rolled   bool      // whether there was one
	all      bool      // whether it was of all windows
	seen     seen      // when it began
}

// seen is what was known of the job when a rollup began.
type seen struct {
	changes   uint64     // of the ledger
	watermark event.Time // of the job
}

const (
	// calm is the number of intervals without a change of the ledger after which
	// open windows are rolled up, too.
	calm = 5

	// standIn is the number of intervals to one of a process that does not lead: the leading
	// partition may be without an owner.
	standIn = 15

	// atRest is the pause between two rollups while the ledger does not change. They
	// find what a replica that lagged has got since.
	atRest = 5 * time.Minute
)

// due reports whether to roll up now, and whether all windows.
func (c *cadence) due(now time.Time, leads bool, s seen) (roll, all bool) {
	pause := c.interval
	if !leads {
		pause *= standIn
	}
	since := now.Sub(c.last)
	switch {
	case !c.rolled || s != c.seen:
		return since >= pause, false
	case !c.all:
		return since >= calm*pause, true
	}
	return since >= max(pause, atRest), true
}

// made notes a rollup that has succeeded.
func (c *cadence) made(began time.Time, all bool, s seen) {
	c.last, c.rolled, c.all, c.seen = began, true, all, s
}

// exclusively runs f under the job's lock, if it has one, and reports whether f ran:
// it does not while another process holds the lock. If the lock server cannot be
// reached, f runs without the lock.
func (j *Job) exclusively(ctx context.Context, f func(context.Context) error) (ran bool, err error) {
	if j.cfg.Exclusive == nil {
		return true, f(ctx)
	}
	err = j.cfg.Exclusive(ctx, func(ctx context.Context) error {
		ran = true
		return f(ctx)
	})
	if err != nil && !ran && ctx.Err() == nil {
		j.cfg.Log.Debug("the rollup lock is out of reach; rolling up without it", "error", err)
		return true, f(ctx)
	}
	return ran, err
}

func (r *rollups) stop() {
	r.once.Do(func() { r.cancel(); r.wg.Wait() })
}

// lastRollup completes the rollups when a job ends.
func (j *Job) lastRollup(ctx context.Context, w *watch) error {
	limit := j.cfg.Stop
	if j.cfg.UntilEnd {
		limit = 10 * time.Minute // a backfill may have touched every window
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	w.lastLook(ctx)
	if err := j.cfg.Sink.Rollup(ctx, true, w.complete()); err != nil {
		if j.cfg.UntilEnd {
			return fmt.Errorf("job %s: last rollup: %w", j.cfg.Spec.Job, err)
		}
		j.cfg.Log.Warn("last rollup failed; the next start makes it", "error", err)
	}
	return nil
}
