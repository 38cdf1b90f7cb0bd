package audit

import (
	"maps"
	"slices"

	"weir/event"
)

// Log compares the latest epoch of each partition with what the log holds now. It
// returns the differences, and the lag: the number of records in the log that have no
// outcome yet, which is no fault.
func (a *Audit) Log(log []event.Assignment) (found []Finding, lag int64) {
	latest := map[int32]Reached{}
	for _, r := range a.reached {
		if old, ok := latest[r.Partition]; !ok || r.Epoch > old.Epoch {
			latest[r.Partition] = r
		}
	}
	report := func(k Kind, r Reached, end int64, o Offsets) {
		f := a.of(k)
		f.Partition, f.Epoch, f.Offsets = r.Partition, r.Epoch, o
		f.Expected, f.Found = uint64(r.Next), uint64(end)
		found = append(found, f)
	}
	for _, p := range log {
		r, ok := latest[p.Partition]
		switch {
		case !ok:
			lag += p.LogEnd - p.LogStart
		case r.Next > p.LogEnd:
			report(Beyond, r, p.LogEnd, Offsets{max(p.LogStart, r.First), p.LogEnd})
		case r.Next < p.LogStart:
			report(Deleted, r, p.LogStart, Offsets{r.Next, p.LogStart})
			lag += p.LogEnd - p.LogStart
		default:
			lag += p.LogEnd - r.Next
		}
		delete(latest, p.Partition)
	}
	for _, p := range slices.Sorted(maps.Keys(latest)) {
		r := latest[p]
		report(Vanished, r, 0, Offsets{r.First, r.Next})
	}
	return found, lag
}
