package jobs

import (
	"context"

	"weir/window"
)

// Live returns the selected rows of what this process has counted and the
// sink does not hold for certain yet: what the workers gathered and what
// waits for its acknowledgement. Joined with the sink's rows it is the answer
// as of now. There is a table for each worker and each thing that waits, since to
// merge them would take the worker's time: the same row may be in several. They
// are sealed and the caller's.
//
// The read runs between two turns of the flush loop and, on each worker,
// between two parts: it waits for neither Kafka nor ClickHouse. While the
// process has no partitions there is nothing, and nothing to wait for: what it
// had before is flushed, or will be read again by the next owner.
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
		if t := run.flow.Table(); t != nil {
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
			// Between two runs, or in the next one by now.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// on runs f on a worker's goroutine, or here while there is none.
func (r *run) on(w *worker, f func()) {
	if !r.working {
		f()
		return
	}
	w.call(f)
}

// begin and end are the time in which a run answers live reads.
func (r *run) begin() { r.job.current.Store(r) }

func (r *run) end() {
	r.job.current.Store(nil)
	close(r.ended)
}

// OnFlush has f called with all that the sink has acknowledged, before memory
// lets go of it: a copy of what the sink holds can take it in and never knows less
// than before. f runs in the flush loop, which waits for it; the changes are f's
// to read until it returns. Call it before Run.
func (j *Job) OnFlush(f func(*window.Changes)) { j.onFlush = f }

func (j *Job) acknowledged(c *window.Changes) {
	if j.onFlush != nil {
		j.onFlush(c)
	}
}

// Spec is what the job means.
func (j *Job) Spec() *window.Spec { return j.cfg.Spec }
