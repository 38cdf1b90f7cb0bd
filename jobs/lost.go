package jobs

import (
	"errors"
	"fmt"

	"weir/audit"
	"weir/event"
)

// This file is about a sink that has lost what it acknowledged: it was restored from a backup,
// went back to an earlier state of its disk, or lost power before the disk had all. Counts
// would grow right again, because each flush sends the whole counts of its chunk. What a flush
// has sent of sketches is not in memory any more. So the process gives up its run, without a
// flush, and reads the open chunks again.

// errGone ends a run, because the sink may lack what it acknowledged.
type errGone struct{ why string }

func (e errGone) Error() string { return e.why }
func (errGone) Lost() bool      { return true }

// gone reports whether changes that were acknowledged may be gone, by an error of the sink or of the watch.
func gone(err error) bool {
	var e interface{ Lost() bool }
	return errors.As(err, &e) && e.Lost()
}

// missing compares a look with what the sink had acknowledged before it. It returns why changes may be
// gone; nil if they are not.
func (w *watch) missing(acknowledged map[int32]int64, c *audit.Coverage, log map[int32]event.Span) error {
	if c.Restarted {
		return errGone{"the sink was started again"}
	}
	for p, next := range acknowledged {
		b, at := w.job.status.partition(p), c.Partitions[p]
		switch s, ok := log[p]; {
		case c.Lags, b == nil, !ok, event.OtherTopic(b.topic, s.TopicID):
		case at.Next < next && (at.Epoch == b.epoch || at == audit.Covered{}):
			return errGone{fmt.Sprintf("partition %d was acknowledged up to offset %d, the ledger has it up to %d", p, next, at.Next)}
		}
	}
	return nil
}

// goBack makes the job begin anew where the ledger stood at the last look that missed nothing.
func (w *watch) goBack(why error) {
	back := map[int32]int64{}
	for p, at := range w.covered {
		back[p] = at.Next
	}
	w.job.back.CompareAndSwap(nil, &back) // of the first look that missed something
	if r := w.job.current.Load(); r != nil {
		r.fail(why)
	}
}
