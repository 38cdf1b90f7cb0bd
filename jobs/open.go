package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/internal/outage"
)

// An OpenTransaction is a transaction that was open for long. Readers of
// committed records cannot read a partition beyond the beginning of an open
// transaction, although the log grows. The transaction may just be long, or its
// producer may be dead; then the broker aborts it after the producer's
// transaction.timeout.ms, or never (KIP-664).
type OpenTransaction struct {
	Partition int32         `json:"partition"`
	Offset    int64         `json:"offset"`  // the last stable offset: its first record
	Records   int64         `json:"records"` // from there to the end of the log
	For       time.Duration `json:"for_ns"`  // how long reading has been stopped there, not counting time without a look
}

func (o OpenTransaction) String() string {
	return fmt.Sprintf("partition %d cannot be read beyond offset %d for %s: %d records are in or behind a transaction that is open", o.Partition, o.Offset, o.For.Round(time.Second), o.Records)
}

type openError []OpenTransaction

func (e openError) Error() string {
	var parts []string
	for _, o := range e {
		parts = append(parts, o.String())
	}
	return strings.Join(parts, "; ")
}

// ErrUnread says that a job with UntilEnd did not read to the end. A transaction stayed open, a
// schema could not be had (ErrSchema), or a partition has no leader (ErrLeader).
var ErrUnread = errors.New("not all was read")

// ErrSchema says that records were not read because their schema cannot be had.
var ErrSchema = errors.New("a schema cannot be had")

// ErrLeader says that partitions were not read because they have no leader.
var ErrLeader = errors.New("a leader is away")

// openTransaction is the subject of log lines about partitions that are not
// readable to their end.
var openTransaction = outage.Subject{
	Begins: "kafka: a transaction stays open, and records in it or behind it are not counted until it ends; is its producer dead? weir check names it",
	GoesOn: "kafka: records are still not counted because of a transaction that stays open; weir check names its producer",
	Ends:   "kafka: no transaction stays open any more; what was behind it is counted",
}

// standingOpen notes the present spans of the log and returns the transactions
// that have stopped the reading of a partition for longer than Config.Open.
func (w *watch) standingOpen(since time.Duration, spans map[int32]event.Span) (long []OpenTransaction) {
	before := w.open
	w.open = make(map[int32]OpenTransaction)
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		s := spans[p]
		if s.End <= s.Next {
			continue
		}
		o := OpenTransaction{Partition: p, Offset: s.Next, Records: s.End - s.Next}
		if old, ok := before[p]; ok && old.Offset == o.Offset {
			o.For = old.For + since
		}
		w.open[p] = o
		if o.For >= w.job.cfg.Open {
			long = append(long, o)
		}
	}
	return long
}

// reached reports whether every owned partition is durable up to the end that its log had when
// the job began. It is also true if only open transactions, missing schemas and missing leaders
// have prevented this for Config.Open: then it sets job.unread.
func (r *run) reached(now time.Time) bool {
	if r.ends == nil {
		return false
	}
	var open openError
	var waiting []string // partitions that wait for a schema
	var ends int64       // the sum of the readable ends of those partitions; it grows when a transaction ends or a schema comes
	for _, p := range r.plans {
		end := r.stop(p.Partition)
		s := r.job.status.partition(p.Partition)
		if s == nil {
			return false
		}
		at := max(s.durable.Load(), p.Durable)
		switch stable := s.end.Load(); {
		case at >= end:
		case at >= stable:
			open = append(open, OpenTransaction{Partition: p.Partition, Offset: stable, Records: end - stable})
			ends += stable
		case s.schema() != "" && at >= s.next.Load():
			waiting = append(waiting, fmt.Sprintf("partition %d waits at offset %d for %s", p.Partition, at, s.schema()))
			ends += at
		default:
			r.stood = time.Time{}
			return false
		}
	}
	missing := r.gen.Missing()
	if len(open)+len(waiting) == 0 && missing == nil {
		return true
	}
	if r.stood.IsZero() || r.stoodAt != ends {
		r.stood, r.stoodAt = now, ends
	}
	stood := now.Sub(r.stood)
	if stood < r.job.cfg.Open {
		return false
	}
	for i := range open {
		open[i].For = stood
	}
	why := ErrUnread
	if waiting != nil {
		why = fmt.Errorf("%w: %w: %s", why, ErrSchema, strings.Join(waiting, "; "))
	}
	if missing != nil {
		why = fmt.Errorf("%w: %w: %w", why, ErrLeader, missing)
	}
	if open != nil {
		why = fmt.Errorf("%w: %w", why, open)
	}
	r.job.unread = fmt.Errorf("job %s: topic %s: %w", r.job.cfg.Spec.Job, r.job.cfg.Topic, why)
	return true
}

// stop returns the offset before which the reading of a partition stops, for UntilEnd.
func (r *run) stop(partition int32) int64 {
	return max(r.ends[partition].Next, r.ends[partition].End)
}
