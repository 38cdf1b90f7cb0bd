package clickhouse

import (
	"context"
	"sync"
	"time"
)

// This file makes one statement of what several jobs of a process ask of the tables that all
// jobs share. The jobs flush at the same moments (package flow), and what a statement
// costs the server hardly depends on how many jobs it is about.

// patience is that of the joints of a client: as long as an insert takes on a busy machine.
const patience = 50 * time.Millisecond

// A joint gathers requests of jobs. A request waits for those that are expected, for patience
// at most, and then one statement answers all that are there. The statement begins after the
// last of its requests came, so each request may rely on what was there before it.
type joint[R any] struct {
	what     string                                   // it does, for errors
	run      func(ctx context.Context, all []R) error // the statement; it may outlive a request that was given up
	patience time.Duration

	mu     sync.Mutex
	coming int       // requests that are expected
	next   *party[R] // gathers; nil: no request waits
}

// A party is the requests of one statement.
type party[R any] struct {
	all    []R
	wanted int // requests that were not given up
	cancel context.CancelFunc
	timer  *time.Timer
	done   chan struct{} // closed when err is set
	err    error
}

// A ticket announces a request. It is used up when the request comes, or by leave.
type ticket struct{ used bool }

// expect announces a request.
func (j *joint[R]) expect() *ticket {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.coming++
	return new(ticket)
}

// leave takes an announcement back, if it is not used up.
func (j *joint[R]) leave(t *ticket) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.use(t)
	j.begin(j.next, false)
}

func (j *joint[R]) use(t *ticket) {
	if t != nil && !t.used {
		t.used = true
		j.coming--
	}
}

// do makes a request, which t has announced if it is not nil. Others may read the request
// even after do has returned an error.
func (j *joint[R]) do(ctx context.Context, t *ticket, request R) error {
	j.mu.Lock()
	j.use(t)
	p := j.next
	if p == nil {
		p = &party[R]{done: make(chan struct{})}
		p.timer = time.AfterFunc(j.patience, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.begin(p, true)
		})
		j.next = p
	}
	p.all = append(p.all, request)
	p.wanted++
	j.begin(p, false)
	j.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		j.giveUp(p)
		return explain(j.what, context.Cause(ctx))
	}
}

// begin runs the statement of a party that gathers, if no other request is expected or its
// patience is over.
func (j *joint[R]) begin(p *party[R], over bool) {
	if p == nil || p != j.next || j.coming > 0 && !over {
		return
	}
	j.next = nil
	p.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if p.wanted == 0 {
		cancel()
	}
	go func() {
		defer cancel()
		p.err = j.run(ctx, p.all)
		close(p.done)
	}()
}

// giveUp takes a request back. A statement that nothing waits for is cancelled.
func (j *joint[R]) giveUp(p *party[R]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.wanted--; p.wanted == 0 && p.cancel != nil {
		p.cancel()
	}
}
