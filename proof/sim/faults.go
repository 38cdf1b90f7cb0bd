package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Fault is a kind of failure that a seed may switch on.
type Fault uint8

// The faults of the first group happen to processes, of the second to writes,
// of the third to the group and the log. The last group is bad records, and
// features with failures of their own.
const (
	Kill    Fault = iota // kill -9, at any step
	Stop                 // SIGTERM: a last flush, a commit, and the process leaves the group
	Zombie               // SIGSTOP past the session, then SIGCONT: it writes and commits late
	Rolling              // processes are replaced by a version with one more measure
	Memory               // a budget so small that flushes are early and fetching stops

	Refuse     // an insert is not applied, and the error says so
	LoseAnswer // an insert is applied, and the answer is an error
	Partial    // some rows of an insert are applied
	LandLate   // an insert times out, and is applied many steps later
	Slow       // an insert is answered many steps later
	Down       // the sink refuses everything for a long time
	LoseRounds // the table of rounds is emptied by hand
	Restore    // the sink goes back to what it held before: it forgets what it acknowledged

	Rebalance   // partitions change hands without a reason
	LoseCommit  // a commit is lost, or its answer is
	MoveCommit  // the coordinator lets an evicted member commit
	Expire      // the group forgets its offsets
	Coordinator // no commits for a while
	Grow        // partitions are added
	Retention   // the log's beginning expires, read or not
	Gaps        // offsets without records: compacted
	Compact     // records that some have read are compacted away
	Aborted     // transactions: open, aborted, their markers
	Recreate    // the topic is deleted and created again, perhaps with more partitions
	FailBack    // a topic of before is read again, as after a fail-over to another cluster

	FastClock // the clock of one user is fast, by less than the job allows
	Disorder  // records that are late, or from the future
	Malformed // records that are not events
	Repeats   // ids that come again
	Dedupe    // the job counts an id once
	Cap       // there are more groups than keep their names
	Where     // the job counts only some events
	Faults    // the number of faults
)

var faults = [Faults]string{
	Kill: "kill", Stop: "stop", Zombie: "zombie", Rolling: "rolling", Memory: "memory",
	Refuse: "refuse", LoseAnswer: "lose-answer", Partial: "partial", LandLate: "late-landing", Slow: "slow", Down: "down", LoseRounds: "lose-rounds", Restore: "restore",
	Rebalance: "rebalance", LoseCommit: "lose-commit", MoveCommit: "move-commit", Expire: "expire", Coordinator: "coordinator",
	Grow: "grow", Retention: "retention", Gaps: "gaps", Compact: "compact", Aborted: "aborted", Recreate: "recreate", FailBack: "fail-back",
	FastClock: "fast-clock", Disorder: "disorder", Malformed: "malformed", Repeats: "repeats", Dedupe: "dedupe", Cap: "cap", Where: "where",
}

func (f Fault) String() string { return faults[f] }

// A Set is a set of faults.
type Set uint32

// Has reports whether f is in the set.
func (s Set) Has(f Fault) bool { return s>>f&1 != 0 }

// With returns the set and f.
func (s Set) With(f Fault) Set { return s | 1<<f }

// All is the set of all faults.
const All Set = 1<<Faults - 1

func (s Set) String() string {
	var names []string
	for f := range Faults {
		if s.Has(f) {
			names = append(names, f.String())
		}
	}
	return strings.Join(names, ",")
}

// ParseSet returns the inverse of Set.String.
func ParseSet(text string) (Set, error) {
	var s Set
	for name := range strings.SplitSeq(text, ",") {
		if name == "" {
			continue
		}
		f := Fault(0)
		for f < Faults && faults[f] != name {
			f++
		}
		if f == Faults {
			return 0, fmt.Errorf("sim: no fault %q; there are %s", name, All)
		}
		s = s.With(f)
	}
	return s, nil
}

// A mix is the faults that a seed has on, and how often each strikes.
type mix struct {
	on    Set
	every [Faults]int // it happens at about one in every occasions
	count [Faults]int // how often it happened
}

// draw picks each fault with even odds. The rate of each fault is drawn
// separately, so that there are seeds with two rare faults and seeds with many
// frequent ones.
func draw(r *rand.Rand, without Set) mix {
	m := mix{}
	for f := range Faults {
		on, every := r.IntN(2) == 0, 1+r.IntN(4)*r.IntN(4)
		if on {
			m.on = m.on.With(f)
		}
		m.every[f] = every
	}
	if m.on.Has(Memory) {
		m.on = m.on.With(Down) // it fills with large dead letters while the sink is away
	}
	// Faults are drawn first and dropped then, so that the other draws do not
	// change.
	m.on &^= without
	return m
}

// strikes decides whether f happens at an occasion; at the highest rate it
// happens at one in n.
func (m *mix) strikes(r *rand.Rand, f Fault, n int) bool {
	if !m.on.Has(f) || r.IntN(n*m.every[f]) != 0 {
		return false
	}
	m.count[f]++
	return true
}
