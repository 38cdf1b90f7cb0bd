package jobs

import (
	"context"

	"weir/window"
)

// Live returns the selected rows that the sink may not have yet: the workers' changes, and the
// changes that wait for an acknowledgement. Merged with the sink's rows they are the answer as
// of now. There is one table for each worker and up to two for the waiting changes, because a merge
// would take the workers' time; so several tables may have the same row. The tables are sealed,
// and the caller owns them.
//
// The read runs between two turns of the flush loop and, on each worker, between
// two parts, so it waits for neither Kafka nor ClickHouse. While the process has
// no partitions the result is empty: everything that it counted before is flushed,
// or the next owner will read it again.
func (j *Job) Live(ctx context.Context, r *window.Range) (tables []*window.Table, err error) {
	next := func() *window.Table {
		t := window.NewTable(j.cfg.Spec)
		tables = append(tables, t)
		return t
	}
	done := make(chan struct{})
	read := func(run *run) {
		defer close(done)
		for _, w := range run.workers {
			run.on(w, func() { w.op.Snapshot(next(), r) })
		}
		for _, t := range run.flow.Tables() {
			t.Copy(next(), r)
		}
	}
	for {
		run := j.current.Load()
		if run == nil {
			return nil, nil
		}
		select {
		case run.reads <- read:
			<-done
			for _, t := range tables {
				t.Seal()
			}
			return tables, nil
		case <-run.ended:
			// There is no run at the moment, or already the next one.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// on runs f on a worker's goroutine, or on this one while the workers do not run.
func (r *run) on(w *worker, f func()) {
	if !r.working {
		f()
		return
	}
	w.call(f)
}

// begin and end bound the time in which a run answers live reads.
func (r *run) begin() { r.job.current.Store(r) }

func (r *run) end() {
	r.job.current.Store(nil)
	close(r.ended)
}

// OnFlush makes the job call f with the changes that the sink has acknowledged,
// before it drops them from memory. f runs in the flush loop, which waits for it; f may
// read the changes until it returns. Call OnFlush before Run.
func (j *Job) OnFlush(f func(*window.Changes)) { j.onFlush = f }

func (j *Job) acknowledged(c *window.Changes) {
	if j.onFlush != nil {
		j.onFlush(c)
	}
}

// Spec says what the job counts.
func (j *Job) Spec() *window.Spec { return j.cfg.Spec }
