package sim

import (
	"fmt"
	"slices"

	"weir/audit"
	"weir/window"
)

// A Result is the result of a run.
type Result struct {
	Seed     uint64
	Options  Options
	On       Set // faults that the seed switched on
	Steps    int // steps with faults
	Totals   Totals
	Digest   uint64   // of everything that happened
	Problems []string // violations, at most maxProblems; there should be none
}

// Failed reports whether a violation was found.
func (r *Result) Failed() bool { return len(r.Problems) > 0 }

// Totals counts what happened in a run, or in many.
type Totals struct {
	Faults  [Faults]int // how often each happened
	Steps   int
	Events  int // records in the logs
	Inserts int
	Rows    int // in inserts

	Rollups   int // of one level, to their end
	Taken     int // windows whose numbers whole rows gave
	Folds     int // of the ledger
	Views     int // that were read
	Overtaken int // inserts that were made again because a round was opened meanwhile

	Replays int // offsets read again
	Saved   int // partitions that went on with a state of the ledger
	Cut     int // chunks whose rows lack counted events, because retention deleted the chunk's beginning
	Fenced  int // refused commits of removed members
	Peak    int // the most bytes that one process held
}

func (t *Totals) add(o *Totals) {
	for f := range t.Faults {
		t.Faults[f] += o.Faults[f]
	}
	t.Steps += o.Steps
	t.Events += o.Events
	t.Inserts += o.Inserts
	t.Rows += o.Rows
	t.Rollups += o.Rollups
	t.Taken += o.Taken
	t.Folds += o.Folds
	t.Views += o.Views
	t.Overtaken += o.Overtaken
	t.Replays += o.Replays
	t.Saved += o.Saved
	t.Cut += o.Cut
	t.Fenced += o.Fenced
	t.Peak = max(t.Peak, o.Peak)
}

const maxProblems = 8

// allowed reports whether the operator has decided that a topic is to be counted.
func (s *schedule) allowed(t *topic) bool { return s.step >= t.allowed }

// reading notes which topic is counted under an epoch. Two topics under one
// epoch would share slots.
func (s *schedule) reading(r *run, partition int32) {
	if !s.allowed(r.topic) {
		s.fail("partition %d: a topic is counted that was not allowed", partition)
	}
	key := partitionEpoch{r.epochs[partition], partition}
	s.epochs = max(s.epochs, int(key.epoch))
	switch old := s.counted[key]; old {
	case nil:
		s.counted[key] = r.topic
	case r.topic:
	default:
		if s.mistake != EpochKept { // there the comparison must find it
			s.fail("partition %d: two topics are counted under epoch %d", partition, key.epoch)
		}
	}
}

// planned notes a plan: how much is read again.
func (s *schedule) planned(t *topic, p window.Plan) {
	s.totals.Replays += int(p.Replays)
	if p.Saved != "" {
		s.totals.Saved++
	}
	if p.Cut < p.Lost {
		s.warned[window.MakeSlot(p.Epoch, p.Partition, p.Start/s.spec.Chunk)] = true
	}
	s.tracef("partition %d: epoch %d, from %d, counted from %d, durable to %d, lost from %d", p.Partition, p.Epoch, p.Warm, p.Start, p.Durable, p.Lost)
}

// held checks a process's memory after each fetch, and which topic it counts.
func (s *schedule) held(r *run) {
	n := int(r.workers() + r.flow.Bytes())
	s.totals.Peak = max(s.totals.Peak, n)
	if s.mix.on.Has(Memory) && n > s.budget+slack {
		s.fail("a process holds %d bytes, its budget is %d", n, s.budget)
	}
}

// drained checks a process that has drained: everything that it read must be
// durable.
func (s *schedule) drained(r *run) {
	if r.restarts != s.sink.restarts {
		return // what it wrote is forgotten, and the next owner reads it again
	}
	for i, p := range r.plans {
		next := r.next[i]
		if next > max(p.Start, p.Durable) && !s.sink.durable(p.Epoch, p.Partition, next) {
			s.fail("a process has released partition %d at %d, which is not durable", p.Partition, next)
		}
	}
}

// slack is how far one fetch may exceed the budget: the first rows of a new
// table (some 90 KB with all measures: hashed ids lie far apart, in a chunk each), the records' dead letters, and the
// counts of open chunks, which no flush frees.
const slack = 140_000

// epochOf returns the latest epoch under which the topic's partition was read; false
// if it was not.
func (s *schedule) epochOf(partition int) (partitionEpoch, bool) {
	for epoch := s.epochs; epoch >= 0; epoch-- {
		if key := (partitionEpoch{uint8(epoch), int32(partition)}); s.counted[key] == s.topic {
			return key, true
		}
	}
	return partitionEpoch{}, false
}

// reach returns the offset up to which a partition of the topic is durable.
func (s *schedule) reach(partition int) int64 {
	key, ok := s.epochOf(partition)
	if !ok {
		return 0
	}
	_, next := s.sink.reach(key)
	return next
}

// strained reports whether a slot's chunk is in doubt.
func (s *schedule) strained(slot window.Slot) bool {
	t := s.counted[partitionEpoch{slot.Epoch(), slot.Partition()}]
	if t == nil {
		return false
	}
	p := t.parts[slot.Partition()]
	return p.doubtful(slot.Chunk()) || p.thinned(slot.Chunk())
}

// strainedIn reports whether a chunk of a finding is in doubt.
func (s *schedule) strainedIn(f audit.Finding) bool {
	slot := window.MakeSlot(f.Epoch, f.Partition, f.Chunk)
	for n := range max(1, (f.Offsets.Next-f.Offsets.First)/s.spec.Chunk) {
		if s.strained(slot + window.Slot(n)) {
			return true
		}
	}
	return false
}

// fail notes a violation.
func (s *schedule) fail(format string, args ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, fmt.Sprintf("step %d: ", s.step)+fmt.Sprintf(format, args...))
	}
}

// failSorted notes violations found in the order of a map, sorted.
func (s *schedule) failSorted(problems []string) {
	slices.Sort(problems)
	for _, p := range problems {
		s.fail("%s", p)
	}
}

// note adds a number to the digest.
func (s *schedule) note(x uint64) {
	s.digest = (s.digest ^ x) * 0x9e3779b97f4a7c15
	s.digest ^= s.digest >> 29
}

func (s *schedule) tracef(format string, args ...any) {
	if s.trace != nil {
		s.trace(s.step, fmt.Sprintf(format, args...))
	}
}
