package audit

import (
	"maps"
	"slices"

	"weir/event"
)

// Log compares the epoch of each partition that counts the topic with what the log holds now. It
// returns the differences, and the lag: the number of records in the log that have no
// outcome yet, which is no fault.
//
// A topic that was deleted and created again has another id. Its offsets say nothing about
// the ledger's (Recreated). If some partition of it is counted, its other partitions
// only wait, and partitions that only another topic had are no difference.
func (a *Audit) Log(log []event.Assignment) (found []Finding, lag int64) {
	report := func(k Class, r Reached, expected, isAt int64, o Offsets) {
		found = append(found, a.ofPartition(k, r, expected, isAt, o))
	}
	topic := [16]byte{} // that the log is of
	for _, p := range log {
		topic = p.TopicID
	}
	latest := a.epochs(topic)
	counts := len(latest) > 0
	if !counts {
		latest = a.epochs([16]byte{}) // of any topic
	}
	for _, p := range log {
		at, ok := latest[p.Partition]
		if !ok {
			lag += p.LogEnd - p.LogStart
			continue
		}
		switch r := a.reached[at]; {
		case !counts:
			report(Recreated, r, r.Next, p.LogEnd, Offsets{r.First, r.Next})
			lag += p.LogEnd - p.LogStart
		case r.Next > p.LogEnd:
			report(Beyond, r, r.Next, p.LogEnd, Offsets{max(p.LogStart, r.First), p.LogEnd})
		case r.Next < p.LogStart:
			report(Deleted, r, r.Next, p.LogStart, Offsets{r.Next, p.LogStart})
			lag += p.LogEnd - p.LogStart
		default:
			found = append(found, a.beginning(r, p.LogStart)...)
			lag += p.LogEnd - r.Next
		}
		delete(latest, p.Partition)
	}
	for _, p := range slices.Sorted(maps.Keys(latest)) {
		r := a.reached[latest[p]]
		report(Vanished, r, r.Next, 0, Offsets{r.First, r.Next})
	}
	return found, lag
}

// Beginnings compares where the ledger begins with where the log of each partition does. It is for a process
// that counts, which notices by itself whatever else Log finds.
func (a *Audit) Beginnings(log map[int32]event.Span) (found []Finding) {
	for _, p := range slices.Sorted(maps.Keys(log)) {
		if at, ok := a.epochs(log[p].TopicID)[p]; ok {
			found = append(found, a.beginning(a.reached[at], log[p].First)...)
		}
	}
	return found
}

// beginning returns a finding if lines are gone at the beginning of the ledger. An epoch begins where the log
// does at that time, and a log only loses records there, so it holds none below the first line.
func (a *Audit) beginning(r Reached, start int64) []Finding {
	if r.First <= start {
		return nil
	}
	return []Finding{a.ofPartition(Beginning, r, start, r.First, Offsets{start, r.First})}
}

// ofPartition returns a finding about what an epoch counts of a partition.
func (a *Audit) ofPartition(k Class, r Reached, expected, found int64, o Offsets) Finding {
	f := a.of(k)
	f.Partition, f.Epoch, f.Offsets = r.Partition, r.Epoch, o
	f.Expected, f.Found = uint64(expected), uint64(found)
	return f
}

// Current reports whether the log of a partition, as it is now, is what an epoch counts. If not,
// nothing of that epoch can be read again.
func (a *Audit) Current(epoch uint8, log event.Assignment) bool {
	at, ok := a.epochs(log.TopicID)[log.Partition]
	return ok && a.reached[at].Epoch == epoch
}

// epochs returns the latest epoch that counts a topic, of each partition that has one, as an index
// into reached, which is by epoch: see Line. A zero id fits any topic.
func (a *Audit) epochs(topic [16]byte) map[int32]int {
	latest := map[int32]int{}
	for i, r := range a.reached {
		if !event.OtherTopic(a.topics[i].topicID, topic) {
			latest[r.Partition] = i
		}
	}
	return latest
}
