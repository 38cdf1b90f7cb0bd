package clickhouse

import (
	"context"
	"sync"
	"time"

	"weir/flow/rounds"
	"weir/sinks/clickhouse/wire"
)

// This file is the group commit of a process. Its jobs flush at the same moments (package flow), and
// a statement costs the server hardly more for several jobs than for one. So a batcher makes one
// statement of what several jobs ask of the tables that all jobs share.

// A statement answers the requests of several jobs. It may outlive a request that was given up.
type statement[R any] interface {
	run(ctx context.Context, all []R) error
}

// batchWait is how long a request waits at most: as long as an insert takes on a busy machine.
const batchWait = 50 * time.Millisecond

// A batcher gathers requests of jobs. A request waits until each announced writer has asked, for
// batchWait at most, and then one statement answers all that are there. The statement begins after the
// last of its requests came, so each request may rely on what was there before it.
type batcher[R any] struct {
	statement statement[R]
	unasked   bool // nobody announces: each request waits for batchWait
	wait      time.Duration

	mu        sync.Mutex
	announced map[*rounds.Writer]bool // the writers that will ask, and have not yet
	next      *batch[R]               // gathers; nil: no request waits
}

// A batch is the requests of one statement.
type batch[R any] struct {
	all    []R
	wanted int // requests that were not given up
	cancel context.CancelFunc
	timer  *time.Timer
	done   chan struct{} // closed when err is set
	err    error
}

func newBatcher[R any](s statement[R]) *batcher[R] {
	return &batcher[R]{statement: s, wait: batchWait, announced: map[*rounds.Writer]bool{}}
}

// announce makes others wait for the next request of a writer, until it leaves.
func (b *batcher[R]) announce(w *rounds.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.announced[w] = true
}

// leave says that a writer will not ask. It may have asked, or left already.
func (b *batcher[R]) leave(w *rounds.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.announced, w)
	b.begin(b.next, false)
}

// do makes a request of a writer. Others may read the request even after do has returned an error.
func (b *batcher[R]) do(ctx context.Context, w *rounds.Writer, request R) error {
	b.mu.Lock()
	p := b.next
	if p == nil {
		p = &batch[R]{done: make(chan struct{})}
		p.timer = time.AfterFunc(b.wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.begin(p, true)
		})
		b.next = p
	}
	delete(b.announced, w)
	p.all = append(p.all, request)
	p.wanted++
	b.begin(p, false)
	b.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		b.giveUp(p)
		return wire.Explain("wait for a statement that jobs share", context.Cause(ctx))
	}
}

// begin runs the statement of a batch that gathers, if each announced writer has asked or the wait is over.
// Nobody waits again for a writer that was waited for in vain.
func (b *batcher[R]) begin(p *batch[R], over bool) {
	if p == nil || p != b.next || !over && (b.unasked || len(b.announced) > 0) {
		return
	}
	b.next = nil
	clear(b.announced)
	p.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if p.wanted == 0 {
		cancel()
	}
	go func() {
		defer cancel()
		p.err = b.statement.run(ctx, p.all)
		close(p.done)
	}()
}

// giveUp takes a request back. A statement that nothing waits for is cancelled.
func (b *batcher[R]) giveUp(p *batch[R]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.wanted--; p.wanted == 0 && p.cancel != nil {
		p.cancel()
	}
}
