package jobs

import (
	"context"
	"fmt"
	"time"

	"weir/flow"
	"weir/window"
)

// This file does what flow says, and tells flow the results.

// drive does what flow says, until flow waits for an input. It starts a write,
// whose answer comes later; everything else it does at once.
func (r *run) drive() flow.Phase {
	var commit []window.Position
	for {
		rd := r.flow.Ready(r.now())
		r.phase = rd.Phase
		r.unflushed.Store(r.flow.Bytes())
		if rd.Open {
			r.admit()
		}
		if rd.Insert != nil {
			r.write(rd.Insert, true)
		}
		if rd.Write != nil {
			r.write(rd.Write, false)
		}
		for _, t := range rd.Reuse {
			r.reuse(t)
		}
		if rd.Commit != nil {
			commit = rd.Commit
		}
		switch {
		case rd.Take:
			r.flow.Taken(r.take())
		case commit != nil: // last, because a commit blocks the loop
			r.commit(commit)
			commit = nil
		default:
			r.wake.Reset(time.Duration(rd.Wake - r.now()))
			return rd.Phase
		}
	}
}

// take takes the workers' changes and merges them. Each worker goes on with a spare table
// meanwhile, because a worker that waits holds up the others: parts come in the order of a
// response. So a job has two more tables than workers that grow to the size of a flush.
func (r *run) take() (changes *window.Changes) {
	for _, w := range r.workers {
		var taken *window.Changes
		r.on(w, func() {
			if last := len(r.spare) - 1; last >= 0 {
				w.op.Reuse(r.spare[last])
				r.setSpare(r.spare[:last])
			}
			taken = w.op.Take()
			w.measure()
		})
		r.unflushed.Add(int64(taken.Bytes()))
		if changes == nil {
			changes = taken
			continue
		}
		changes.Merge(taken)
		r.reuse(taken.Table)
	}
	return changes
}

// reuse keeps a table for the next take. It empties it now, so that the memory of its sketches
// goes to the tables that grow meanwhile.
func (r *run) reuse(t *window.Table) {
	t.Reset()
	r.setSpare(append(r.spare, t))
}

// setSpare also counts the bytes of the tables, for the memory gate.
func (r *run) setSpare(tables []*window.Table) {
	bytes := 0
	for _, t := range tables {
		bytes += t.Bytes()
	}
	r.spare = tables
	r.spareBytes.Store(int64(bytes))
}

// write starts a write, or one of rows alone. Its answer comes on r.answer. The sink has a deadline for each of its
// statements. Nothing bounds all of them, because a flush may have any size.
func (r *run) write(c *window.Changes, rows bool) {
	r.sent, r.sentAt, r.inserts = c, time.Now(), rows
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer cancel()
		r.answer <- r.job.write(ctx, c, rows, &r.round)
	}()
}

// write waits for an unfinished write of an earlier run, then writes.
func (j *Job) write(ctx context.Context, c *window.Changes, rows bool, round *uint64) (err error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := ctx.Err(); err != nil { // the run has ended meanwhile
		return err
	}
	if rows {
		*round, err = j.cfg.Sink.Insert(ctx, c)
		return err
	}
	return j.cfg.Sink.Write(ctx, c)
}

// settle handles the answer of the write in flight. It returns only fatal errors, and each time
// the first of them; after other errors, flow writes again.
func (r *run) settle(answer error) error {
	status, tries := &r.job.status, r.job.flushes
	if r.phase == flow.Claiming {
		tries = r.job.opens
	}
	c, took := r.sent, time.Since(r.sentAt)
	r.sent = nil
	switch {
	case answer == nil && r.inserts:
		tries.Worked()
		status.flushed(took, c, nil)
		r.flow.Inserted(r.round)
		return nil
	case answer == nil:
		tries.Worked()
		if r.phase != flow.Claiming {
			status.flushed(took, c, nil)
			status.counted(c)
		}
		r.job.acknowledged(c)
		status.durable(c.Next)
		r.flow.Answered(r.now(), flow.Durable)
		return nil
	case fatal(answer):
		status.flushed(took, nil, answer)
		r.flow.Answered(r.now(), flow.Fatal)
		return r.refuse(answer)
	case gone(answer):
		status.flushed(took, nil, answer)
		r.flow.Answered(r.now(), flow.Unknown)
		return answer
	default:
		status.flushed(took, nil, answer)
		tries.Failed(answer)
		r.flow.Answered(r.now(), flow.Unknown)
		return nil
	}
}

// refuse notes a fatal error of a write. It returns the first one with the job's name.
func (r *run) refuse(answer error) error {
	if r.refusal == nil {
		what := "flush"
		if r.phase == flow.Claiming {
			what = "opening the ledger"
		}
		r.refusal = fmt.Errorf("job %s: %s: %w", r.job.cfg.Spec.Job, what, answer)
	}
	return r.refusal
}

// commitTimeout bounds how long a commit may delay the run, and with it live
// reads and hand-overs. After a commit that failed, there is a pause before the
// next.
const commitTimeout = 2 * time.Second

var commitPause = 3 * time.Second

// commit tells Kafka up to which offsets everything is durable. A failure
// changes no count, because the ledger has the positions.
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
		r.commitFailed = false
		r.job.commits.Worked()
		return
	}
	r.job.status.commitFailures.Add(1)
	if r.commitFailed {
		// A single failure is normal: a group that rebalances refuses commits for a
		// moment, and the ledger has the positions.
		r.job.commits.Failed(err)
	}
	r.commitFailed = true
}
