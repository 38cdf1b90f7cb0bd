package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/event"
	"weir/window"
)

// A run is one generation of one job: its workers, its fetch, its outbox.
type run struct {
	job  *Job
	gen  Generation
	ends map[int32]event.Span // UntilEnd: where to stop; nil otherwise

	stood   time.Time // UntilEnd: since when only open transactions are in the way; zero: they are not
	stoodAt int64     // where they begin, added up
	plans   []window.Plan

	workers []*worker
	wg      sync.WaitGroup
	gate    *gate
	failed  chan error

	outbox window.Outbox
	answer chan error // of the write in flight
	cancel func()     // gives it up
	began  time.Time  // of the write in flight
	wait   backoff
	retry  time.Time // no flush before

	peeks   chan func(*run) // live reads, served between two turns of the loop
	over    chan struct{}   // closed when nobody serves them any more
	stopped bool            // the workers' goroutines have ended

	untold  map[int32]int64 // durable positions that Kafka has not acknowledged
	tell    time.Time       // no commit before
	refused bool            // the last commit failed
}

// A commit may hold up the flush loop for so long, and a live read or a
// hand-over with it; one that failed is left alone for the pause.
const commitTimeout = 2 * time.Second

var commitPause = 3 * time.Second

// outOfRange is what a source says when a position is not in the log.
type outOfRange interface {
	error
	OutOfRange() (partition int32, offset, logStart, logEnd int64)
}

func (j *Job) newRun(ctx context.Context, gen Generation, ends map[int32]event.Span) (*run, error) {
	plans, err := j.plans(ctx, gen)
	if err != nil {
		return nil, err
	}
	r := &run{
		job: j, gen: gen, ends: ends, plans: plans,
		gate: newGate(j.cfg.Memory), failed: make(chan error, 1), answer: make(chan error, 1),
		peeks: make(chan func(*run)), over: make(chan struct{}),
		untold: map[int32]int64{},
	}
	j.status.assign(plans, gen.Partitions())
	for range j.cfg.Workers {
		op, err := window.NewOperator(j.cfg.Spec)
		if err != nil {
			return nil, err
		}
		r.workers = append(r.workers, newWorker(op, &j.status, r.fail))
	}
	for _, p := range plans {
		r.owner(p.Partition).op.Start(p)
	}
	return r, r.claim(ctx)
}

// claim makes the epochs that the plans open known to the ledger, before
// anything is read under them: see [window.Plan.Opens]. That is one insert when
// a job, a partition or a topic is new, and nothing at other times.
func (r *run) claim(ctx context.Context) error {
	if !slices.ContainsFunc(r.plans, func(p window.Plan) bool { return p.Opens }) {
		return nil
	}
	for _, w := range r.workers {
		r.outbox.Add(w.op.Take())
	}
	c := r.outbox.Begin()
	_, err := retry(ctx, r.gen.Done(), r.job.opens, func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, r.job.cfg.InsertTimeout)
		defer cancel()
		began := time.Now()
		err := r.job.write(ctx, c)
		if err != nil {
			r.job.status.flushed(time.Since(began), nil, err)
		}
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	r.job.acknowledged(c)
	positions, _ := r.outbox.Acknowledge()
	r.job.status.durable(positions)
	r.commit(positions)
	return nil
}

func (r *run) owner(partition int32) *worker {
	return r.workers[int(partition)%len(r.workers)]
}

// fail notes the first error that ends the run.
func (r *run) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}

// loop fetches, counts and flushes until the generation, the context or the
// job ends, then drains.
func (r *run) loop(ctx context.Context) (done bool, err error) {
	log := r.job.cfg.Log
	r.job.status.beat()
	r.job.status.state("running")
	r.begin()
	defer r.end()
	for _, w := range r.workers {
		r.wg.Go(w.loop)
	}
	fetching, stopFetch := context.WithCancel(ctx)
	fetched := make(chan error, 1)
	go func() {
		from := make(map[int32]int64, len(r.plans))
		for _, p := range r.plans {
			from[p.Partition] = p.Warm
		}
		fetched <- r.gen.Fetch(fetching, from, func(p event.Part) error { return r.deliver(fetching, p) })
	}()
	tick := time.NewTicker(r.job.cfg.Flush)
	defer tick.Stop()
	pulse := time.NewTicker(time.Second) // for the status: a flush may be a minute away, a part longer
	defer pulse.Stop()

	budget, reassigned := r.job.cfg.Stop, false
	for fetchDone := false; ; {
		select {
		case <-ctx.Done():
		case <-r.gen.Done():
			reassigned = true
			budget = r.job.cfg.HandOver
		case err = <-r.failed:
		case err = <-fetched:
			// The fetch may be the first to see the generation end.
			fetchDone = true
			budget = r.job.cfg.HandOver
		case answer := <-r.answer:
			if err = r.settle(answer); err == nil {
				if r.outbox.Empty() && r.reached(time.Now()) {
					done = true
					break
				}
				continue
			}
		case f := <-r.peeks:
			f(r)
			continue
		case <-r.gate.urgent:
			r.flush()
			continue
		case <-pulse.C:
			r.job.status.beat()
			r.bytes()
			continue
		case <-tick.C:
			r.flush()
			if r.outbox.Empty() && r.reached(time.Now()) {
				done = true
				break
			}
			continue
		}
		// Every way out of the select but continue is the end of the run.
		stopFetch()
		r.gate.open()
		if !fetchDone {
			if e := <-fetched; err == nil {
				err = e
			}
		}
		break
	}
	r.job.status.state("draining")
	switch {
	case ctx.Err() != nil: // a stop ends the generation and the fetch, too, and each may be seen first
		log.Info("stopping: last flush")
		budget = r.job.cfg.Stop
	case reassigned:
		log.Info("partitions are being reassigned: flushing before they go")
	}
	if lost := new(outOfRange); errors.As(err, lost) {
		// A new generation decides, by the policy, where to go on.
		log.Warn("the log no longer holds what was to be read", "error", err)
		err = nil
	}
	for _, w := range r.workers {
		close(w.parts)
	}
	r.wg.Wait()
	r.stopped = true
	return done, r.drain(ctx, budget, err)
}

// deliver gives a part to the worker that owns its partition. It blocks while
// the worker is behind or the job is over its memory: that is what stops the
// fetch, and nothing else does.
func (r *run) deliver(ctx context.Context, p event.Part) error {
	if err := r.gate.pass(ctx, r.bytes); err != nil {
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

// bytes is about what the run holds in memory.
func (r *run) bytes() int64 {
	n, rows := r.gate.outbox.Load(), int64(0)
	for _, w := range r.workers {
		n += w.bytes.Load()
		rows += w.rows.Load()
	}
	r.job.status.memory.Store(n)
	r.job.status.rows.Store(rows)
	return n
}

// flush sends what is owed, unless an answer is still awaited or the last
// failure is too recent. While one is in flight, changes gather in the
// workers, where they cost least.
func (r *run) flush() {
	if !r.began.IsZero() || time.Now().Before(r.retry) {
		return
	}
	for _, w := range r.workers {
		var c *window.Changes
		w.call(func() {
			c = w.op.Take()
			w.measure()
		})
		r.outbox.Add(c)
	}
	r.send()
}

// send begins a write, if anything is owed.
func (r *run) send() {
	c := r.outbox.Begin()
	r.gate.outbox.Store(int64(r.outbox.Bytes()))
	if c == nil {
		// There will be no acknowledgement to wait for. Nobody gets here
		// while one is awaited.
		r.gate.open()
		r.commit(nil)
		return
	}
	r.began = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), r.job.cfg.InsertTimeout)
	r.cancel = cancel
	go func() {
		defer cancel()
		r.answer <- r.job.write(ctx, c)
	}()
}

// write waits for a write that an earlier run left behind, then writes.
func (j *Job) write(ctx context.Context, c *window.Changes) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := ctx.Err(); err != nil { // the one before took all the time
		return err
	}
	return j.cfg.Sink.Write(ctx, c)
}

// settle takes the answer of the write in flight. Only a fatal error comes
// back: the others are tried again, joined into what has come since.
func (r *run) settle(answer error) error {
	took := time.Since(r.began)
	r.began = time.Time{}
	if answer != nil {
		r.outbox.Fail()
		r.gate.outbox.Store(int64(r.outbox.Bytes()))
		r.job.status.flushed(took, nil, answer)
		if fatal(answer) {
			return fmt.Errorf("job %s: flush: %w", r.job.cfg.Spec.Job, answer)
		}
		r.retry = time.Now().Add(r.wait.next())
		r.job.flushes.Failed(answer)
		return nil
	}
	r.wait.reset()
	r.job.flushes.Worked()
	r.job.status.flushed(took, r.outbox.InFlight(), nil)
	r.job.acknowledged(r.outbox.InFlight())
	positions, table := r.outbox.Acknowledge()
	r.job.status.durable(positions)
	r.gate.outbox.Store(int64(r.outbox.Bytes()))
	r.gate.open()
	r.commit(positions)
	w := r.workers[0]
	select { // give the memory back, if that worker is not busy
	case w.calls <- func() { w.op.Reuse(table) }:
	default:
	}
	return nil
}

// commit tells Kafka how far everything is durable. A failure changes no
// number, since the ledger knows better, but whoever watches the group's lag
// would look at a position that is too low: what was not acknowledged is told
// again with the next positions, or when there is nothing to flush.
func (r *run) commit(positions []window.Position) {
	for _, p := range positions {
		r.untold[p.Partition] = p.Offset
	}
	if len(r.untold) == 0 || time.Now().Before(r.tell) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := r.gen.Commit(ctx, r.untold); err != nil {
		r.tell = time.Now().Add(commitPause)
		r.job.status.commitFailures.Add(1)
		if r.refused {
			// Once is daily life: a group that rebalances refuses commits for a
			// moment, and positions are in the ledger all the same.
			r.job.commits.Failed(err)
		}
		r.refused = true
		return
	}
	r.refused = false
	r.job.commits.Worked()
	clear(r.untold)
}

// drain flushes what the stopped workers hold, within the budget. cause is
// what ended the run; it comes back unless it was only the end.
func (r *run) drain(ctx context.Context, budget time.Duration, cause error) error {
	defer r.job.commits.Gone()
	defer r.job.flushes.Gone()
	if cause != nil && !errors.Is(cause, context.Canceled) {
		budget = min(budget, r.job.cfg.HandOver)
	} else {
		cause = nil
	}
	deadline := time.NewTimer(budget)
	defer deadline.Stop()
	for _, w := range r.workers {
		r.outbox.Add(w.op.Take())
	}
	r.wait.reset() // time is short now: begin with short pauses again
	r.retry, r.tell = time.Time{}, time.Time{}
	for {
		var again <-chan time.Time // after a failure
		switch wait := time.Until(r.retry); {
		case !r.began.IsZero():
		case r.outbox.Empty():
			return cause
		case wait > 0:
			again = time.After(wait)
		default:
			r.send()
		}
		select {
		case answer := <-r.answer:
			if err := r.settle(answer); err != nil {
				return errors.Join(cause, err)
			}
		case f := <-r.peeks:
			f(r)
		case <-again:
		case <-deadline.C:
			if r.cancel != nil {
				r.cancel()
			}
			r.job.cfg.Log.Warn("the last flush was not answered in time; what it held will be read again", "after", budget)
			if ctx.Err() != nil {
				return errors.Join(cause, ErrUnflushed)
			}
			return cause // partitions are going; their next owner reads the chunk again
		}
	}
}
