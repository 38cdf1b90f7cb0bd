package jobs

import (
	"context"

	"weir/window"
)

// Live returns the selected rows of what this process has counted and the
// sink does not hold for certain yet: what the workers gathered and what
// waits for its acknowledgement. Joined with the sink's rows it is the answer
// as of now. The table is sealed and the caller's.
//
// The read runs between two turns of the flush loop and, on each worker,
// between two parts: it waits for neither Kafka nor ClickHouse.
func (j *Job) Live(ctx context.Context, r *window.Range) (*window.Table, error) {
	t := window.NewTable(j.cfg.Spec)
	done := make(chan struct{})
	read := func(run *run) {
		defer close(done)
		for _, w := range run.workers {
			w.call(func() { w.op.Snapshot(t, r) })
		}
		run.outbox.Copy(t, r)
		t.Seal()
	}
	select {
	case j.peeks <- read:
		<-done
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Spec is what the job means.
func (j *Job) Spec() *window.Spec { return j.cfg.Spec }
