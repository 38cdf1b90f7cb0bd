package jobs

import (
	"context"
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
