package jobs

import (
	"time"

	"weir/flow"
)

// flushRows is how many rows of (window, group) are flushed at once, whatever the interval:
// as many as the sink inserts with two statements. Half as many cost the engine a sixth more,
// because it merges more parts.
const flushRows = 1 << 17

// behind returns the interval between two flushes while the process is behind, given the
// one that is configured.
func behind(flush time.Duration) time.Duration {
	return max(flush, min(5*flush, 5*time.Second))
}

// ledger returns the time between two flushes that make everything durable, while the process keeps up.
// A job that is to end does not let the last records wait for it.
func (j *Job) ledger() time.Duration {
	flush := j.cfg.Flush
	if j.cfg.UntilEnd {
		return flush
	}
	return max(flush, min(3*flush, 3*time.Second))
}

// A pace is how far a run had read its partitions at a moment.
type pace struct {
	at   time.Time
	next []int64 // by plan
}

// left returns how long it takes, at the pace since the last call, until one of the
// partitions is read to the end. 0 if one is, or if nothing of one was read meanwhile, so
// that its pace is not known.
func (r *run) left(now time.Time) flow.Time {
	took, before := now.Sub(r.pace.at), r.pace.next
	r.pace = pace{now, make([]int64, len(r.plans))}
	least := float64(flow.Never / 2)
	for i, p := range r.plans {
		s := r.job.status.partition(p.Partition)
		if s == nil {
			return 0
		}
		next, end := s.next.Load(), s.end.Load()
		if r.ends != nil {
			end = min(end, r.stop(p.Partition))
		}
		r.pace.next[i] = next
		if before == nil || next <= before[i] {
			least = 0
			continue
		}
		least = min(least, float64(max(0, end-next))*float64(took)/float64(next-before[i]))
	}
	if len(r.plans) == 0 {
		return 0
	}
	return flow.Time(least)
}
