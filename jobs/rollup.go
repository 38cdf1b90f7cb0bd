package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// rollups recomputes touched windows into plain numbers while the job runs. A
// rollup may fail, run twice, or run in several processes at once: its results
// merge like all stored values, and the view reads windows that are not rolled
// up yet from the state rows.
type rollups struct {
	job    *Job
	watch  *watch
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

func (j *Job) startRollups(w *watch) *rollups {
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollups{job: j, watch: w, cancel: cancel}
	r.wg.Go(func() { r.loop(ctx) })
	return r
}

func (r *rollups) loop(ctx context.Context) {
	defer r.job.rollups.Gone()
	wait, due := pauses(), time.Now().Add(r.job.cfg.Rollup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(due)):
		}
		began := time.Now()
		// This also runs if this process has written nothing since: the sink makes
		// longer rollups less often, and other processes write too.
		err := r.job.exclusively(ctx, func(ctx context.Context) error { return r.job.cfg.Sink.Rollup(ctx, false, r.watch.complete()) })
		if ctx.Err() != nil {
			return
		}
		r.job.status.rolledUp(time.Since(began), err)
		// The next rollup does the work, after a pause that grows like that of a
		// flush.
		due = began.Add(r.job.cfg.Rollup)
		if err != nil {
			r.job.rollups.Failed(err)
			due = time.Now().Add(r.job.cfg.Rollup + time.Duration(wait.Next()))
			continue
		}
		wait.Reset()
		r.job.rollups.Worked()
	}
}

// exclusively runs f under the job's lock, if it has one. If the lock server
// cannot be reached, it runs f without the lock.
func (j *Job) exclusively(ctx context.Context, f func(context.Context) error) error {
	if j.cfg.Exclusive == nil {
		return f(ctx)
	}
	ran := false
	err := j.cfg.Exclusive(ctx, func(ctx context.Context) error {
		ran = true
		return f(ctx)
	})
	if err != nil && !ran && ctx.Err() == nil {
		j.cfg.Log.Debug("the rollup lock is out of reach; rolling up without it", "error", err)
		return f(ctx)
	}
	return err
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
