package jobs

import (
	"context"

	"weir/event"
	"weir/flow"
)

// This file passes fetched records to the workers while memory allows.

// A reader fetches the run's partitions in a goroutine of its own.
type reader struct {
	cancel func()
	ended  chan struct{}
	err    error // after ended
}

// startReader fetches the partitions that do not wait for a schema, each from where it stands.
// Parts of an earlier reader may still wait for their worker. Records of both are counted once,
// because an operator skips what it has decided.
func (r *run) startReader(ctx context.Context) *reader {
	ctx, cancel := context.WithCancel(ctx)
	f := &reader{cancel: cancel, ended: make(chan struct{})}
	from := make(map[int32]int64, len(r.plans))
	for _, p := range r.plans {
		w := r.owner(p.Partition)
		w.call(func() {
			if !w.waits[p.Partition] {
				from[p.Partition] = w.op.Progress(p.Partition).Next
			}
		})
	}
	go func() {
		defer close(f.ended)
		f.err = r.gen.Fetch(ctx, from, func(p event.Part) error { return r.deliver(ctx, p) })
	}()
	return f
}

// waitsChanged makes the run fetch other partitions than before.
func (r *run) waitsChanged() {
	select {
	case r.refetch <- struct{}{}:
	default:
	}
}

// stop stops the reader, and returns its error.
func (f *reader) stop() error {
	f.cancel()
	<-f.ended
	return f.err
}

// deliver gives a part to the worker that owns its partition. It blocks while
// the worker's queue is full or the gate is closed. That is the only thing that
// slows the reader down.
func (r *run) deliver(ctx context.Context, p event.Part) error {
	if err := r.pass(ctx); err != nil {
		p.Done()
		return err
	}
	select {
	case r.owner(p.Partition).parts <- p:
		return nil
	case <-ctx.Done():
		p.Done()
		return ctx.Err()
	}
}

// pass returns when memory and the number of rows allow one more part, or with ctx's error.
// While there is room it returns at once; otherwise flow decides when the gate opens.
func (r *run) pass(ctx context.Context) error {
	bytes, memory := r.bytes(), flow.Budget(r.job.cfg.Memory)
	rows := r.rows()
	if !memory.Near(bytes) && rows < flushRows {
		return nil
	}
	if !memory.Full(bytes) && rows < flushRows {
		select {
		case r.near <- struct{}{}:
		default:
		}
		return nil
	}
	opened := make(chan struct{})
	select {
	case r.full <- opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admit lets the waiting parts through the gate.
func (r *run) admit() {
	for _, opened := range r.waiting {
		close(opened)
	}
	r.waiting = r.waiting[:0]
}

// held is about how many bytes the workers hold, with the tables that are spare.
func (r *run) held() (bytes int64) {
	bytes = r.spareBytes.Load()
	for _, w := range r.workers {
		bytes += w.bytes.Load()
	}
	return bytes
}

// rows is how many rows of (window, group) the workers hold.
func (r *run) rows() (n int64) {
	for _, w := range r.workers {
		n += w.rows.Load()
	}
	return n
}

// bytes is about how many bytes the run holds. It also writes the number to the
// status.
func (r *run) bytes() int64 {
	n := r.unflushed.Load() + r.held()
	r.job.status.memory.Store(n)
	r.job.status.rows.Store(r.rows())
	return n
}
