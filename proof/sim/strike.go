package sim

import (
	"math/rand/v2"
	"slices"

	"weir/event"
	"weir/flow"
	"weir/window"
)

// strike lets faults happen to processes, the group and the log. Faults of the
// network happen when an insert is sent.
func (s *schedule) strike() {
	r, m := s.faults, &s.mix
	for n, p := range s.members {
		switch {
		case !p.alive:
			if s.step >= p.back {
				s.tracef("process %d starts", n)
				p.start()
			}
		case p.paused:
			if s.step >= p.back {
				s.tracef("process %d wakes", n)
				p.wake()
			}
		case m.strikes(r, Kill, 40):
			s.tracef("process %d is killed", n)
			p.kill()
			p.back = s.step + r.IntN(2*session)
		case m.strikes(r, Zombie, 60):
			s.tracef("process %d is stopped by a signal", n)
			p.paused, p.back = true, s.step+r.IntN(3*session)
			s.group.silent()
		case !p.leaving && m.strikes(r, Stop, 60):
			s.tracef("process %d gets a SIGTERM", n)
			p.terminate()
			p.back = s.step + r.IntN(session)
		}
	}
	if m.strikes(r, Rebalance, 30) {
		s.tracef("rebalance")
		s.group.rebalance()
	}
	if s.sink.down = s.step < s.sink.up; !s.sink.down && m.on.Has(Down) && r.IntN(60*m.every[Down]) == 0 {
		s.tracef("the sink goes down")
		s.sink.up = s.step + 20 + r.IntN(100)
		if m.on.Has(Memory) {
			s.sink.up += r.IntN(200)
		}
	}
	if m.on.Has(LoseRounds) && r.IntN(3*m.every[LoseRounds]) == 0 {
		s.loseRounds()
	}
	if m.on.Has(Restore) {
		switch {
		case r.IntN(60) == 0:
			s.sink.backup = s.sink.save()
		case s.sink.backup != nil && r.IntN(20*m.every[Restore]) == 0:
			s.restore(s.sink.backup)
		}
	}
	if s.step >= s.group.down && m.on.Has(Coordinator) && r.IntN(20*m.every[Coordinator]) == 0 {
		s.group.down = s.step + r.IntN(30)
	}
	if m.strikes(r, Expire, 40) {
		s.tracef("the group's offsets expire")
		for p := range s.group.committed {
			s.group.committed[p] = -1
		}
	}
	if len(s.topic.parts) < 6 && m.strikes(r, Grow, 60) {
		s.tracef("a partition is added")
		s.topic.parts = append(s.topic.parts, &partition{open: -1})
		s.group.rebalance()
	}
	if m.on.Has(Retention) && r.IntN(15*m.every[Retention]) == 0 {
		s.retain(r.IntN(len(s.topic.parts)), r)
	}
	if m.on.Has(Compact) && r.IntN(20*m.every[Compact]) == 0 {
		s.compact(r.IntN(len(s.topic.parts)), r)
	}
	if m.on.Has(Recreate) && r.IntN(40*m.every[Recreate]) == 0 && len(s.past) < 6 {
		s.recreate(r)
	}
	if m.on.Has(FailBack) && r.IntN(20*m.every[FailBack]) == 0 && len(s.past) > 0 {
		s.failBack(r)
	}
}

// retain lets the beginning of a partition's log expire: durable records, or also
// others.
func (s *schedule) retain(n int, r *rand.Rand) {
	p := s.topic.parts[n]
	next := s.reach(n)
	to := p.stable()
	if r.IntN(2) == 0 {
		to = min(to, next)
	}
	if to <= p.start {
		return
	}
	p.start += 1 + r.Int64N(to-p.start)
	s.mix.count[Retention]++
	s.tracef("partition %d now begins at %d; durable up to %d", n, p.start, next)

	// The counts of a reader that begins here cannot be compared with those of
	// readers that began at the chunk's beginning, or that have all of the chunk
	// before in their filters. And records that were not durable may be lost.
	chunk := s.spec.Chunk
	first, last := p.start/chunk, p.start/chunk
	if p.start%chunk == 0 {
		last--
	}
	if s.spec.LooksBack() {
		last++
	}
	if next < p.start {
		first = next / chunk
	}
	p.taint(first, last)
}

// compact removes some records of a range of a partition's log, wherever readers
// are. A chunk that is read again after that gives lower counts, and the merge
// keeps the higher ones: the sink must have the remaining records, and may have
// all.
func (s *schedule) compact(n int, r *rand.Rand) {
	p := s.topic.parts[n]
	if p.stable() <= p.start {
		return
	}
	from := p.start + r.Int64N(p.stable()-p.start)
	to := min(p.stable(), from+1+r.Int64N(2*s.spec.Chunk))
	for o := from; o < to; o++ {
		if p.records[o].form != gap && r.IntN(2) == 0 {
			p.records[o].compacted = true
		}
	}
	s.mix.count[Compact]++
	s.tracef("partition %d is compacted from %d to %d", n, from, to)
	first, last := from/s.spec.Chunk, (to-1)/s.spec.Chunk
	switch {
	case s.spec.LooksBack(): // which of two repeats counts; also in the chunk behind
		p.taint(first, last+1)
	case s.mix.on.Has(Cap): // which groups keep their names
		p.taint(first, last)
	default:
		p.thin = mark(p.thin, first, last)
	}
}

// recreate deletes the topic and creates it again, perhaps with more partitions. The operator
// allows weir to count it, at once or later.
func (s *schedule) recreate(r *rand.Rand) {
	if !s.leave() {
		return
	}
	s.mix.count[Recreate]++
	s.tracef("the topic is deleted and created again")
	s.past = append(s.past, s.topic)
	s.topic = newTopic(len(s.past), min(len(s.topic.parts)+r.IntN(3), 6))
	if r.IntN(2) == 0 && len(s.sink.ledger) > 0 { // a job that has counted nothing takes any topic
		s.topic.allowed = s.step + r.IntN(100)
	}
	for p := range s.group.committed {
		if r.IntN(2) == 0 {
			s.group.committed[p] = -1
		}
	}
	s.group.rebalance()
}

// failBack makes a topic of before the one that is read: its log is as it was left, and so are the
// offsets of its group.
func (s *schedule) failBack(r *rand.Rand) {
	if !s.leave() {
		return
	}
	s.mix.count[FailBack]++
	s.tracef("a topic of before is read again")
	n := r.IntN(len(s.past))
	s.topic, s.past[n] = s.past[n], s.topic
	s.group.committed = slices.Clone(s.topic.committed)
	s.group.rebalance()
}

// leave prepares for another topic. It reports false while a
// process is entering partitions of the present topic into the ledger, or will do so
// because the ledger may be beyond the end of the log that it read:
// docs/proof.md says what is not covered. A process with partitions that the
// ledger knows continues, and does not notice.
func (s *schedule) leave() bool {
	for _, m := range s.members {
		if m.alive && (m.phase == assigned || m.phase == holding && m.run.phase == flow.Claiming) && slices.ContainsFunc(m.owned, func(a event.Assignment) bool {
			return !s.sink.knows(a.Partition, m.topic) || m.phase == assigned && a.LogEnd < m.topic.parts[a.Partition].end()
		}) {
			return false
		}
	}
	for _, i := range s.network.sent {
		if slices.ContainsFunc(i.lines, func(l window.Line) bool { return l.First == l.Next }) {
			return false
		}
	}
	for n, p := range s.topic.parts {
		next := s.reach(n)
		p.taint(next/s.spec.Chunk, p.end()/s.spec.Chunk)
	}
	s.topic.committed = slices.Clone(s.group.committed)
	return true
}
