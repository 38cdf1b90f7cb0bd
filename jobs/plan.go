package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/backoff"
	"weir/internal/outage"
	"weir/window"
)

// plans decides from which offset each partition is read.
func (j *Job) plans(ctx context.Context, gen Generation) ([]window.Plan, error) {
	known, err := retry(ctx, gen.Done(), j.reads, func() (map[int32]window.Known, error) {
		return j.cfg.Sink.Known(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("job %s: reading the ledger: %w", j.cfg.Spec.Job, err)
	}
	var plans []window.Plan
	for _, a := range gen.Partitions() {
		if back := j.back.Load(); back != nil {
			if at, ok := (*back)[a.Partition]; ok && (a.Committed < 0 || at < a.Committed) {
				a.Committed = at
			}
		}
		latest, has := known[a.Partition] // of any topic
		k := latest.Of(a.TopicID)
		if !has {
			k = nil
		}
		if k != nil && k.Next > a.LogEnd {
			// The previous owner may have flushed after the generation read the log's
			// ends and before this process read the ledger. That would look like a
			// truncated log, which stops the job or counts all of it under a new epoch.
			// So the ends are read again after the ledger.
			spans, err := j.cfg.Source.Spans(ctx)
			switch span, ok := spans[a.Partition]; {
			case ok:
				a.LogEnd = max(a.LogEnd, span.Next)
			case missing(err):
				return nil, errEnded // its leader went away: the next generation begins without it
			case err != nil:
				return nil, fmt.Errorf("job %s: where the log ends: %w", j.cfg.Spec.Job, err)
			}
		}
		p, err := j.cfg.Spec.Resume(a, known, j.cfg.Policy)
		if err != nil {
			return nil, err
		}
		switch {
		case p.Lost < p.Start:
			j.cfg.Log.Warn("Kafka deleted records before they were read; the ledger has the gap; let the topic keep records for longer (retention.ms)",
				"partition", p.Partition, "from", p.Lost, "to", p.Start)
		case !has && a.Committed > a.LogStart:
			j.cfg.Log.Warn("counting everything that is still in the log: the consumer group has a committed offset, but the ledger has no line of the partition, as after tables were dropped or restored",
				"partition", p.Partition, "committed", a.Committed, "from", p.Start)
		}
		if !has && len(known) > 0 && p.Start > 0 {
			j.cfg.Log.Warn("records of the partition may have been deleted before they were counted: the log does not begin at 0, and the ledger has other partitions of the job and not this one",
				"partition", p.Partition, "from", 0, "to", p.Start)
		}
		if k != nil && p.Epoch == k.Epoch && k.First > a.LogStart && p.Start > a.LogStart {
			// A log only loses records where it begins, so the ledger had lines of these offsets.
			j.cfg.Log.Warn("lines of the ledger are gone, perhaps with their rows: the log holds offsets below the first line; weir verify says how to count these records again",
				"partition", p.Partition, "from", a.LogStart, "to", k.First)
		}
		if p.Twice > 0 {
			j.cfg.Log.Warn("the log was truncated, and a new epoch counts what is left of it a second time; to count it once, raise the job's version instead",
				"partition", p.Partition, "epoch", p.Epoch, "from", p.Start, "to", a.LogEnd, "twice_at_most", p.Twice)
		}
		if has && k == nil {
			j.cfg.Log.Warn("the topic was deleted and created again, and a new epoch counts it beside what was counted of the old one; leave out --new-epoch from now on",
				"partition", p.Partition, "epoch", p.Epoch, "from", p.Start, "counted_of_old", latest.Next)
		}
		if p.Cut < p.Lost {
			j.cfg.Log.Warn("Kafka deleted the beginning of the open chunk after it was counted; the chunk is read again without it, and windows with events from both sides of the cut keep the greater count of the two readings: see weir verify",
				"partition", p.Partition, "chunk", p.Start/j.cfg.Spec.Chunk, "from", p.Cut, "to", p.Lost, "counted_to", k.Next, "missing_at_most", p.Lost-p.Cut)
		}
		j.cfg.Log.Info("partition assigned", "partition", p.Partition, "from", p.Start, "replays", p.Replays, "end", a.LogEnd)
		plans = append(plans, p)
	}
	j.back.Store(nil)
	return plans, nil
}

// fatal reports whether an error of the sink will not go away by itself.
func fatal(err error) bool {
	var f interface{ Fatal() bool }
	return errors.As(err, &f) && f.Fatal()
}

// errEnded says that the generation ended before its run could begin.
var errEnded = errors.New("the generation ended")

// retry calls f until it succeeds or its error is fatal. It stops when ctx
// ends, with ctx's error, or when done is closed, with errEnded. done may be
// nil.
func retry[T any](ctx context.Context, done <-chan struct{}, tries *outage.Source, f func() (T, error)) (T, error) {
	defer tries.Gone()
	wait := pauses[time.Duration]()
	for {
		v, err := f()
		if err == nil {
			tries.Worked()
			return v, nil
		}
		if fatal(err) || ctx.Err() != nil {
			return v, err
		}
		tries.Failed(err)
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-done:
			return v, errEnded
		case <-time.After(wait.Next()):
		}
	}
}

// pauses returns the pauses after failures of the sink: 100 ms, then twice as long
// each time, at most 5 s.
func pauses[D ~int64]() backoff.Backoff[D] {
	return backoff.Backoff[D]{First: D(100 * time.Millisecond), Most: D(5 * time.Second)}
}
