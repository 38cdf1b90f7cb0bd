package jobs

import (
	"context"
	"sync/atomic"
	"time"
)

// A gate is the back-pressure by memory: at four fifths of the budget it asks
// for an early flush, at the whole of it nothing passes until a flush is
// acknowledged, or finds nothing to write. It never fails and never drops: a
// full gate stops the fetch, and the log keeps what is not fetched.
type gate struct {
	budget int64
	outbox atomic.Int64  // bytes waiting for the sink, told by the flush loop
	urgent chan struct{} // a flush is wanted now; one wish is enough
	opened atomic.Int64  // how often
}

func newGate(budget int64) *gate {
	return &gate{budget: budget, urgent: make(chan struct{}, 1)}
}

// pass returns when there is room, or with ctx's error. It waits for one
// acknowledgement and not for the bytes to fall: what a flush cannot free
// (the counts of the open chunks) must not stop the job for ever.
func (g *gate) pass(ctx context.Context, bytes func() int64) error {
	n := bytes()
	if n < g.budget/5*4 {
		return nil
	}
	g.ask()
	if n < g.budget {
		return nil
	}
	opened := g.opened.Load()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for bytes() >= g.budget && g.opened.Load() == opened {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			g.ask()
		}
	}
	return nil
}

func (g *gate) ask() {
	select {
	case g.urgent <- struct{}{}:
	default:
	}
}

// open lets everybody pass who waits: after an acknowledgement, when there is
// nothing to acknowledge, and at the end.
func (g *gate) open() { g.opened.Add(1) }
