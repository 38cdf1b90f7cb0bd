package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"weir/event"
	"weir/flow"
	"weir/window"
)

// A run is one generation of one job: its workers, its reader, and the flow machine that says
// what to do. The goroutine of [Job.Run] drives it.
type run struct {
	job   *Job
	gen   Generation
	plans []window.Plan

	// UntilEnd: see reached.
	ends    map[int32]event.Span // where to stop; nil otherwise
	stood   time.Time            // since when only open transactions prevent the end; zero: they do not
	stoodAt int64                // the sum of the offsets where they begin

	flow  *flow.Machine
	phase flow.Phase
	wake  *time.Timer // flow's Wake
	pace  pace

	reader  *reader
	refetch chan struct{} // other partitions wait for a schema than before

	workers   []*worker
	stopWaits func() // ends the wait of workers for schemas
	working   bool   // the workers' goroutines run
	wg        sync.WaitGroup
	failed    chan error // the first error of a worker

	// The write in flight.
	sent    *window.Changes // nil: there is none
	sentAt  time.Time
	inserts bool   // it is of rows alone…
	round   uint64 // …and has written them in this round, once it is answered
	answer  chan error
	cancel  func()

	// The memory gate: see deliver.
	spare      []*window.Table // empty tables, for the next take
	spareBytes atomic.Int64
	near       chan struct{}      // memory is nearly used up; one message is enough
	full       chan chan struct{} // parts that wait, each until its channel is closed
	waiting    []chan struct{}
	unflushed  atomic.Int64 // bytes of changes that wait for the sink

	reads chan func(*run) // live reads, served between two turns of the loop
	ended chan struct{}   // closed when live reads are not served any more

	refusal      error // of the first write that the sink refuses for good; nil: none
	commitFailed bool  // the last commit failed
}

// newRun plans the generation's partitions and makes the workers that read them.
func (j *Job) newRun(ctx context.Context, gen Generation, ends map[int32]event.Span) (*run, error) {
	plans, err := j.plans(ctx, gen)
	if err != nil {
		return nil, err
	}
	for _, a := range gen.Partitions() {
		if _, ok := ends[a.Partition]; ends != nil && !ok { // it had no leader when the job began
			ends[a.Partition] = event.Span{Next: a.LogEnd, End: a.LogEnd}
		}
	}
	r := &run{
		job: j, gen: gen, ends: ends, plans: plans,
		wake: time.NewTimer(0), failed: make(chan error, 1), answer: make(chan error, 1), cancel: func() {},
		near: make(chan struct{}, 1), full: make(chan chan struct{}),
		reads: make(chan func(*run)), ended: make(chan struct{}), refetch: make(chan struct{}, 1),
	}
	var waits context.Context
	waits, r.stopWaits = context.WithCancel(ctx)
	j.status.assign(plans, gen.Partitions())
	for range j.cfg.Workers {
		op, err := window.NewOperator(j.cfg.Spec)
		if err != nil {
			r.stopWaits()
			return nil, err
		}
		r.workers = append(r.workers, newWorker(waits, op, j, r.fail, r.waitsChanged))
	}
	for i, p := range plans {
		r.owner(p.Partition).op.Start(p)
		plans[i].Saved = "" // it may be large
	}
	r.flow = flow.New(flow.Config{
		Flush: flow.Time(j.cfg.Flush), Behind: flow.Time(behind(j.cfg.Flush)), Ledger: flow.Time(j.ledger()), Memory: flow.Budget(j.cfg.Memory), Rows: flushRows, Retry: pauses[flow.Time](), Commit: flow.Time(commitPause),
	}, plans, r.now())
	return r, nil
}

func (r *run) owner(partition int32) *worker {
	return r.workers[int(partition)%len(r.workers)]
}

// now is flow's time.
func (r *run) now() flow.Time { return flow.Time(time.Since(r.job.cfg.Zero)) }

// fail notes the first error that ends the run.
func (r *run) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}

// claim waits until the ledger knows the epochs that the plans open.
func (r *run) claim(ctx context.Context) error {
	defer r.job.opens.Gone()
	for r.drive() == flow.Claiming {
		select {
		case answer := <-r.answer:
			if err := r.settle(answer); err != nil {
				return err
			}
		case <-r.wake.C:
		case <-ctx.Done():
			return r.unclaimed(ctx.Err())
		case <-r.gen.Done():
			return r.unclaimed(errEnded)
		}
	}
	return nil
}

// unclaimed ends a claim early. No record has been read yet.
func (r *run) unclaimed(why error) error {
	if r.sent != nil {
		r.cancel()
		if answer := <-r.answer; fatal(answer) {
			return r.refuse(answer)
		}
	}
	r.flow.Leave(r.now(), 0)
	return why
}

// loop fetches, counts and flushes until the generation, the context or the
// job ends, then drains.
func (r *run) loop(ctx context.Context) (done bool, err error) {
	r.job.status.beat()
	r.job.status.state("running")
	r.begin()
	defer r.end()
	r.working = true
	for _, w := range r.workers {
		r.wg.Go(w.loop)
	}
	r.reader = r.startReader(ctx)
	done, reassigned, err := r.read(ctx)
	if e := r.reader.stop(); err == nil {
		err = e
	}
	r.stopWaits()
	for _, w := range r.workers {
		close(w.parts)
	}
	r.wg.Wait()
	r.working = false

	log := r.job.cfg.Log
	r.job.status.state("draining")
	within := r.job.cfg.HandOver
	switch {
	case ctx.Err() != nil: // checked first, because a stop also ends the generation and the fetch
		log.Info("stopping: last flush")
		within = r.job.cfg.Stop
	case reassigned:
		log.Info("partitions are being reassigned: flushing before they go")
	case done:
		within = r.job.cfg.Stop
	}
	if gone(err) {
		log.Warn("ClickHouse may have lost what it had acknowledged; the open chunks are read again, and nothing is counted twice", "error", err)
		within, err = 0, nil // a flush would hide the missing events
	}
	if lost := new(outOfRange); errors.As(err, lost) {
		// A new generation decides, by on_data_loss, where to continue.
		log.Warn("the log no longer has the next offset to read; kafka.on_data_loss decides what happens now", "error", err)
		err = nil
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil {
		within = min(within, r.job.cfg.HandOver)
	}
	return done, r.drain(ctx, within, err)
}

// outOfRange is the error of a source if a position is not in the log.
type outOfRange interface {
	error
	OutOfRange() (partition int32, offset, logStart, logEnd int64)
}

// read handles events one after the other, tells flow, and does what flow says,
// until there is a reason to stop reading.
func (r *run) read(ctx context.Context) (done, reassigned bool, err error) {
	pulse := time.NewTicker(time.Second) // for the status: the next flush or part may be more than a minute away
	defer pulse.Stop()
	r.left(time.Now()) // so that the first pulse knows the pace
	for look := false; ; {
		r.drive()
		if len(r.waiting) > 0 { // the workers' memory may have fallen
			r.flow.Held(r.held(), r.rows())
			r.drive()
		}
		if look && r.flow.Empty() && r.reached(time.Now()) {
			return true, false, nil
		}
		look = false
		select {
		case <-ctx.Done():
			return false, false, nil
		case <-r.gen.Done():
			return false, true, nil
		case err := <-r.failed:
			return false, false, err
		case <-r.refetch:
			if err := r.reader.stop(); err != nil && !errors.Is(err, context.Canceled) {
				return false, false, nil
			}
			r.reader = r.startReader(ctx)
		case <-r.reader.ended: // the fetch may notice the end of the generation before this loop does
			return false, false, nil
		case answer := <-r.answer:
			if err := r.settle(answer); err != nil {
				return false, false, err
			}
			look = true
		case live := <-r.reads:
			live(r)
		case <-r.near:
			r.flow.Held(r.held(), r.rows())
		case opened := <-r.full:
			r.waiting = append(r.waiting, opened)
			r.flow.Held(r.held(), r.rows()) // closes the gate if memory is still full
		case <-pulse.C:
			r.job.status.beat()
			r.bytes()
			if len(r.waiting) == 0 { // at a closed gate there is no pace
				r.flow.Behind(r.left(time.Now()), r.held())
			}
		case <-r.wake.C:
			look = true
		}
	}
}

// drain flushes the changes of the stopped workers, within the given time. It
// returns cause, the error that ended the run, or nil.
func (r *run) drain(ctx context.Context, within time.Duration, cause error) error {
	defer r.job.commits.Gone()
	defer r.job.flushes.Gone()
	r.flow.Leave(r.now(), flow.Time(within))
	for {
		switch r.drive() {
		case flow.Drained:
			return cause
		case flow.GaveUp:
			r.cancel()
			if within > 0 {
				r.job.cfg.Log.Warn("the last flush was not answered in time; its records will be read again", "after", within)
			}
			return r.gaveUp(ctx, cause)
		}
		select {
		case answer := <-r.answer:
			switch err := r.settle(answer); {
			case gone(err):
				return r.gaveUp(ctx, cause)
			case err == nil:
			case errors.Is(cause, err): // the sink had refused a flush before, which ended the run
				return cause
			default:
				return errors.Join(cause, err)
			}
		case live := <-r.reads:
			live(r)
		case <-r.wake.C:
		}
	}
}

// gaveUp returns the error of a drain that left changes unwritten: the next owner of the partitions
// reads the chunk again.
func (r *run) gaveUp(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return errors.Join(cause, ErrUnflushed)
	}
	return cause
}
