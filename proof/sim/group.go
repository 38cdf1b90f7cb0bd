package sim

import (
	"errors"

	"weir/window"
)

// A group is the coordinator's view of the consumer group: the owner of each
// partition, the generation, and the committed offsets. Rebalances are eager:
// all members release their partitions before any member gets one.
type group struct {
	s          *schedule
	generation int
	preparing  bool // waiting for members to join the next generation
	deadline   int  // step at which members that have not joined are removed
	evict      int  // step at which a silent member is noticed; 0: none
	committed  []int64
	down       int // step until which the coordinator is unreachable
}

// session is how many steps a member may be silent.
const session = 30

var (
	errFenced      = errors.New("another generation")
	errCoordinator = errors.New("coordinator not available")
	errTimeout     = errors.New("timed out")
)

// rebalance asks all members to join again.
func (g *group) rebalance() {
	if !g.preparing {
		g.preparing, g.deadline = true, g.s.step+session
	}
}

// silent notes that a member has stopped sending heartbeats.
func (g *group) silent() {
	if g.evict == 0 {
		g.evict = g.s.step + session
	}
}

// tick removes silent members. It begins the next generation when all live
// members have joined, or after the deadline.
func (g *group) tick() {
	if g.evict != 0 && g.s.step >= g.evict {
		g.evict = 0
		g.rebalance()
	}
	if !g.preparing {
		return
	}
	joined := 0
	for _, m := range g.s.members {
		if m.phase == joining && m.alive && !m.paused {
			joined++
		} else if m.alive && g.s.step < g.deadline {
			return
		}
	}
	if joined == 0 {
		return
	}
	g.preparing = false
	g.generation++
	n := 0
	for _, m := range g.s.members {
		if m.phase != joining || !m.alive || m.paused {
			continue
		}
		m.assign(g.generation, func(p int) bool { return (p+g.generation)%joined == n })
		n++
	}
	for len(g.committed) < len(g.s.topic.parts) {
		g.committed = append(g.committed, -1)
	}
}

// member reports whether m belongs to the current generation. While the next
// one is being prepared, members of this one may still commit.
func (g *group) member(m *member) bool { return m.generation == g.generation }

// commit stores positions, unless a fault prevents it.
func (g *group) commit(m *member, of *run, positions []window.Position) error {
	s := g.s
	if s.step < g.down {
		return errCoordinator
	}
	if !g.member(m) {
		s.totals.Fenced++
		if of.topic != s.topic || !s.mix.strikes(s.faults, MoveCommit, 1) {
			return errFenced
		}
	}
	lost := s.mix.strikes(s.faults, LoseCommit, 2)
	if lost && s.faults.IntN(2) == 0 {
		return errTimeout // and not applied
	}
	for _, p := range positions {
		if of.topic == s.topic && of.restarts == s.sink.restarts && !s.sink.durable(of.epochs[p.Partition], p.Partition, p.Offset) {
			s.fail("partition %d committed at %d, which is not durable", p.Partition, p.Offset)
		}
		if of.topic == s.topic {
			g.committed[p.Partition] = p.Offset
		}
	}
	s.note(uint64(len(positions)) << 32)
	if lost {
		return errTimeout // but applied
	}
	return nil
}
