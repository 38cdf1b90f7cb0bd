package jobs

import (
	"context"
	"time"

	"weir/flow"
	"weir/window"
)

// This file does what flow says, and tells it what came of it.

// obey does what flow says until there is only something to wait for. A write
// is begun and answered later; everything else is done at once.
func (r *run) obey() flow.Phase {
	var commit []window.Position
	for {
		rd := r.flow.Ready(r.now())
		r.phase = rd.Phase
		r.unflushed.Store(r.flow.Bytes())
		if rd.Open {
			r.admit()
		}
		if rd.Write != nil {
			r.write(rd.Write)
		}
		if rd.Reuse != nil {
			r.reuse(rd.Reuse)
		}
		if rd.Commit != nil {
			commit = rd.Commit
		}
		switch {
		case rd.Take:
			r.flow.Taken(r.take()...)
		case commit != nil: // last, for nothing else is done meanwhile
			r.commit(commit)
			commit = nil
		default:
			r.wake.Reset(time.Duration(rd.Wake - r.now()))
			return rd.Phase
		}
	}
}

// take takes what the workers gathered.
func (r *run) take() (changes []*window.Changes) {
	for _, w := range r.workers {
		r.on(w, func() {
			changes = append(changes, w.op.Take())
			w.measure()
		})
	}
	return changes
}

// reuse gives a table back to a worker, if that is not busy.
func (r *run) reuse(t *window.Table) {
	w := r.workers[0]
	select {
	case w.calls <- func() { w.op.Reuse(t) }:
	default:
	}
}

// write begins a write. Its answer comes by r.answer.
func (r *run) write(c *window.Changes) {
	r.sent, r.sentAt = c, time.Now()
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
// back: after others flow tries again.
func (r *run) settle(answer error) error {
	status, tries := &r.job.status, r.job.flushes
	if r.phase == flow.Claiming {
		tries = r.job.opens
	}
	c, took := r.sent, time.Since(r.sentAt)
	r.sent = nil
	switch {
	case answer == nil:
		tries.Worked()
		if r.phase != flow.Claiming {
			status.flushed(took, c, nil)
		}
		r.job.acknowledged(c)
		status.durable(c.Next)
		r.flow.Answered(r.now(), flow.Durable)
		return nil
	case fatal(answer):
		status.flushed(took, nil, answer)
		r.flow.Answered(r.now(), flow.Fatal)
		return answer
	default:
		status.flushed(took, nil, answer)
		tries.Failed(answer)
		r.flow.Answered(r.now(), flow.Unknown)
		return nil
	}
}

// A commit may hold up the run for so long, and a live read or a hand-over with
// it; after one that failed there is none for the pause.
const commitTimeout = 2 * time.Second

var commitPause = 3 * time.Second

// commit tells Kafka how far everything is durable. A failure changes no
// number, since the ledger knows better.
func (r *run) commit(positions []window.Position) {
	next := make(map[int32]int64, len(positions))
	for _, p := range positions {
		next[p.Partition] = p.Offset
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	err := r.gen.Commit(ctx, next)
	r.flow.Committed(r.now(), err == nil)
	if err == nil {
		r.refused = false
		r.job.commits.Worked()
		return
	}
	r.job.status.commitFailures.Add(1)
	if r.refused {
		// Once is daily life: a group that rebalances refuses commits for a
		// moment, and positions are in the ledger all the same.
		r.job.commits.Failed(err)
	}
	r.refused = true
}
