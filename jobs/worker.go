package jobs

import (
	"context"
	"errors"
	"sync/atomic"

	"weir/event"
	"weir/window"
)

// queueParts is how many parts may wait for a worker while it unpacks another. With 16, two
// workers are no busier: the fetcher has two buffers per broker, and a
// worker that is behind holds both.
const queueParts = 2

// A worker owns the partitions p with p mod workers == its number: their
// states, and one table. Only its goroutine touches them; other goroutines send
// it a closure, which it runs between two parts.
type worker struct {
	op    *window.Operator
	parts chan event.Part
	calls chan func()
	bytes atomic.Int64 // held by op…
	rows  atomic.Int64 // …and its (window, group) rows
	board *board
	fail  func(error)

	// Of records that name their schema.
	job     *Job
	waits   map[int32]bool  // the partitions that have waited for a schema: whether they do now
	changed func()          // tells the run that waits has changed
	ctx     context.Context // ends when the worker must not wait any longer
}

func newWorker(ctx context.Context, op *window.Operator, j *Job, fail func(error), changed func()) *worker {
	return &worker{
		op: op, parts: make(chan event.Part, queueParts), calls: make(chan func()), board: &j.status, fail: fail,
		job: j, waits: map[int32]bool{}, changed: changed, ctx: ctx,
	}
}

// loop runs until parts is closed.
func (w *worker) loop() {
	failed := false
	for {
		select {
		case f := <-w.calls:
			f()
		case p, ok := <-w.parts:
			if !ok {
				return
			}
			if !failed {
				if err := p.Unpack(w.observe); err != nil {
					// The changes so far stay valid: they are of a prefix of the log.
					failed = true
					w.fail(err)
				}
				w.note(&p)
			}
			p.Done()
		}
	}
}

// observe counts a batch. If a record needs a schema that cannot be had soon, the partition
// waits: the worker counts no further batch of it, and the run fetches the other
// partitions alone. When the schema has come, the partition is fetched again from the record
// on that needs it.
func (w *worker) observe(b *event.Batch) error {
	// Batches of a partition are contiguous, so one that does not follow was fetched before
	// the partition began to wait.
	waits, before := w.waits[b.Partition]
	if waits || before && b.First > w.op.Progress(b.Partition).Next {
		return nil
	}
	for {
		err := w.op.Observe(b)
		if err == nil {
			return nil
		}
		var unknown *event.UnknownSchema
		if !errors.As(err, &unknown) {
			return err
		}
		if known, err := w.learn(unknown); !known {
			return err
		}
	}
}

// note publishes the figures for the status and for the memory gate.
func (w *worker) note(p *event.Part) {
	w.measure()
	if s := w.board.partition(p.Partition); s != nil {
		at := w.op.Progress(p.Partition)
		s.next.Store(at.Next)
		s.end.Store(p.LastStable)
		s.highWater.Store(p.HighWater)
		s.logStart.Store(p.LogStart)
		s.watermark.Store(int64(at.Watermark))
		s.record.Store(int64(at.Record))
	}
}

func (w *worker) measure() {
	w.bytes.Store(int64(w.op.Bytes()))
	w.rows.Store(int64(w.op.Rows()))
}

// call runs f on the worker's goroutine and waits for it.
func (w *worker) call(f func()) {
	done := make(chan struct{})
	w.calls <- func() { f(); close(done) }
	<-done
}
