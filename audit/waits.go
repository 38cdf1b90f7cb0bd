package audit

import (
	"maps"
	"slices"

	"weir/event"
)

// Waits measures how long partitions with records that the ledger does not cover have had
// no flush. Its zero value is ready to use.
type Waits struct {
	waiting stills
}

// A Wait is a partition with records that the ledger does not cover.
type Wait struct {
	Partition int32
	Records   int64
	Stood     event.Time // ms without a flush: the sum of the times between the calls of Look
}

// Look compares the ledger with the log. since is the time since the last Look, in ms.
// It returns the partitions with records that wait, in ascending order. After a flush
// of a partition, its time begins at 0 again, because a lag that moves is no fault.
func (w *Waits) Look(c *Coverage, log map[int32]event.Span, since event.Time) (all []Wait) {
	before := w.waiting
	w.waiting = stills{}
	for _, p := range slices.Sorted(maps.Keys(log)) {
		n := c.Waiting(p, log[p])
		if n == 0 {
			continue
		}
		s := before.look(p, c.Partitions[p], since)
		w.waiting[p] = s
		all = append(all, Wait{p, n, s.stood})
	}
	return all
}

// still says where the ledger stood in a partition at a look, and for how long it has stood
// there: the sum of the times between the looks that found it there, in ms.
type still struct {
	at    Covered
	stood event.Time
}

// stills are the partitions of one look.
type stills map[int32]still

// look returns the state of a partition at the next look, since ms later.
func (before stills) look(partition int32, at Covered, since event.Time) still {
	s := still{at: at}
	if old, ok := before[partition]; ok && !moved(old.at, at) {
		s.stood = old.stood + since
	}
	return s
}

// moved reports whether there was a flush. It looks at the time of the flush too,
// because a flush of a chunk that is counted again does not change the position.
func moved(was, is Covered) bool {
	if was.Epoch != is.Epoch || was.Next != is.Next || was.Flushed != is.Flushed {
		return true
	}
	return was.Earlier != nil && is.Earlier != nil && moved(*was.Earlier, *is.Earlier)
}

// Moved reports whether there was a flush of any partition since an earlier look.
func (c *Coverage) Moved(before Coverage) bool {
	for p, at := range c.Partitions {
		if was, ok := before.Partitions[p]; !ok || moved(was, at) {
			return true
		}
	}
	return false
}
