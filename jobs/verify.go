package jobs

import (
	"fmt"

	"weir/event"
	"weir/window"
)

// A Gap is a difference between the ledger and the log, in one partition.
type Gap struct {
	Partition int32
	Detail    string // what differs
	Remedy    string // what to do about it
}

func (g Gap) String() string {
	return fmt.Sprintf("partition %d: %s; %s", g.Partition, g.Detail, g.Remedy)
}

// CompareLog compares the offsets that the ledger covers with those that the
// log has now. It returns the differences, and the lag: the number of offsets
// in the log that have no outcome yet.
func CompareLog(reached []window.Reached, log []event.Assignment) (gaps []Gap, lag int64) {
	latest := map[int32]window.Reached{}
	for _, r := range reached {
		if old, ok := latest[r.Partition]; !ok || r.Epoch > old.Epoch {
			latest[r.Partition] = r
		}
	}
	for _, a := range log {
		r, ok := latest[a.Partition]
		switch {
		case !ok:
			lag += a.LogEnd - a.LogStart
		case r.Next > a.LogEnd:
			gaps = append(gaps, Gap{a.Partition,
				fmt.Sprintf("the ledger reaches to %d, the log only to %d", r.Next, a.LogEnd),
				fmt.Sprintf("if the topic was deleted and made again, run once with --new-epoch; if it was truncated, that would count up to %d records twice, and raising the job's version counts what is left once, in new tables", max(0, a.LogEnd-max(a.LogStart, r.First)))})
		case r.Next < a.LogStart:
			gaps = append(gaps, Gap{a.Partition,
				fmt.Sprintf("offsets %d to %d were deleted from the log before they were counted", r.Next, a.LogStart),
				"they cannot be counted any more; kafka.on_data_loss: skip records the gap and goes on"})
			lag += a.LogEnd - a.LogStart
		default:
			lag += a.LogEnd - r.Next
		}
		delete(latest, a.Partition)
	}
	for p, r := range latest {
		gaps = append(gaps, Gap{p, fmt.Sprintf("the ledger reaches to %d, the topic has no such partition", r.Next),
			"the topic was deleted and made again with fewer partitions: run once with --new-epoch"})
	}
	return gaps, lag
}
