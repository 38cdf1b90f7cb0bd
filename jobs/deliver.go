package jobs

import (
	"context"

	"weir/event"
	"weir/flow"
)

// This file brings what is fetched to the workers, as far as memory allows.

// A fetch reads the run's partitions in a goroutine of its own.
type fetch struct {
	cancel func()
	ended  chan struct{}
	err    error // after ended
}

func (r *run) startFetch(ctx context.Context) *fetch {
	ctx, cancel := context.WithCancel(ctx)
	f := &fetch{cancel: cancel, ended: make(chan struct{})}
	from := make(map[int32]int64, len(r.plans))
	for _, p := range r.plans {
		from[p.Partition] = p.Warm
	}
	go func() {
		defer close(f.ended)
		f.err = r.gen.Fetch(ctx, from, func(p event.Part) error { return r.deliver(ctx, p) })
	}()
	return f
}

// stop ends the fetch, and returns the error that it ended with.
func (f *fetch) stop() error {
	f.cancel()
	<-f.ended
	return f.err
}

// deliver gives a part to the worker that owns its partition. It blocks while
// the worker is behind or the gate is closed: that is what stops the fetch, and
// nothing else does.
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

// pass returns when memory allows for one more part, or with ctx's error. While
// there is room it asks nothing; what waits at the gate is the flow's to decide.
func (r *run) pass(ctx context.Context) error {
	bytes, memory := r.bytes(), flow.Budget(r.job.cfg.Memory)
	if !memory.Near(bytes) {
		return nil
	}
	if !memory.Full(bytes) {
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

// admit lets through what waits at the gate.
func (r *run) admit() {
	for _, opened := range r.waiting {
		close(opened)
	}
	r.waiting = r.waiting[:0]
}

// held is about what the workers hold, in bytes.
func (r *run) held() (bytes int64) {
	for _, w := range r.workers {
		bytes += w.bytes.Load()
	}
	return bytes
}

// bytes is about what the run holds in memory. The status says so, too.
func (r *run) bytes() int64 {
	n, rows := r.unflushed.Load()+r.held(), int64(0)
	for _, w := range r.workers {
		rows += w.rows.Load()
	}
	r.job.status.memory.Store(n)
	r.job.status.rows.Store(rows)
	return n
}
