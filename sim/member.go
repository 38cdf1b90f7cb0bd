package sim

import (
	"errors"

	"weir/event"
	"weir/window"
)

// A member is one process, or rather a place for one: when one is killed,
// another starts here later. It does what package jobs does, one small thing
// at each turn, so that a kill can come between any two.
type member struct {
	s          *schedule
	alive      bool
	paused     bool // SIGSTOP
	leaving    bool // SIGTERM
	back       int  // step at which it is started, or woken, again
	spec       *window.Spec
	phase      phase
	generation int
	owned      []event.Assignment
	topic      *topic // whose metadata owned was taken from
	run        *run
}

type phase uint8

const (
	joining  phase = iota // waiting for partitions
	assigned              // has some; the ledger is to be asked next
	claiming              // partitions that the ledger does not know are entered first
	running
	draining // the last flush of a generation
)

// A run is one generation of one process: jobs' run.
type run struct {
	m      *member
	topic  *topic
	plans  []window.Plan
	epochs []uint8 // by partition
	next   []int64 // what to fetch next, by plan
	ops    []*window.Operator

	outbox    window.Outbox
	write     *write            // in flight
	positions []window.Position // durable and not yet committed
	acks      int               // writes acknowledged
	barred    int               // acks + 1 when the memory gate closed; 0: open
	retry     int               // step before which nothing is sent again
	turns     int               // left of the budget for draining

	cheat *cheat // what a planted mistake has to remember
}

// start begins a process's life.
func (m *member) start() {
	m.alive, m.paused, m.leaving, m.phase, m.generation, m.run = true, false, false, joining, -1, nil
	m.spec = m.s.version()
	m.s.group.rebalance()
}

// kill ends it without a word. What it had sent is in the network's hands.
func (m *member) kill() {
	m.s.network.orphan(m.run)
	m.alive, m.run, m.phase = false, nil, joining
	m.s.group.silent()
}

// wake is SIGCONT. A process that had partitions goes on as if it still had.
func (m *member) wake() {
	if m.paused && m.phase == joining {
		m.s.group.rebalance() // its request to join has timed out
	}
	m.paused = false
}

// terminate asks it to end.
func (m *member) terminate() {
	if m.run == nil {
		m.exit()
		return
	}
	m.leaving = true
	switch m.phase {
	case claiming:
		m.release()
	case running:
		m.drain(session)
	}
}

func (m *member) exit() {
	m.alive, m.leaving, m.run, m.phase = false, false, nil, joining
	m.s.group.rebalance()
}

// assign gives it its share of the partitions.
func (m *member) assign(generation int, mine func(p int) bool) {
	m.generation, m.phase, m.topic, m.owned = generation, assigned, m.s.topic, m.owned[:0]
	g := m.s.group
	for i, p := range m.s.topic.parts {
		if !mine(i) {
			continue
		}
		a := event.Assignment{Partition: int32(i), Committed: -1, LogStart: p.start, LogEnd: p.end(), TopicID: m.s.topic.id}
		if i < len(g.committed) {
			a.Committed = g.committed[i]
		}
		m.owned = append(m.owned, a)
	}
}

// turn lets the process do the next thing.
func (m *member) turn() {
	s := m.s
	switch r := m.run; m.phase {
	case joining:
	case assigned:
		if s.sink.down {
			return // jobs tries again until the sink answers
		}
		m.begin()
	case claiming:
		switch {
		case r.positions != nil:
			r.commit()
		case m.stale() && s.r.IntN(3) == 0:
			m.release()
		case r.write != nil:
		case r.outbox.Empty():
			m.phase = running
		case s.step >= r.retry:
			r.send()
		}
	case running:
		switch {
		case r.positions != nil:
			r.commit()
		case m.stale() && s.r.IntN(3) == 0:
			m.drain(2 + s.r.IntN(session))
		case s.r.IntN(3) == 0:
			r.flush()
		default:
			r.fetch()
		}
	case draining:
		r.turns--
		switch {
		case r.positions != nil:
			r.commit()
		case r.write != nil:
		case r.outbox.Empty():
			m.release()
			return
		case s.step >= r.retry:
			r.send()
		}
		if r.turns <= 0 {
			m.release() // over budget: whoever is next reads the chunk again
		}
	}
}

// stale reports whether the generation is over. A process learns of it with
// its next heartbeat.
func (m *member) stale() bool { return m.s.group.preparing || !m.s.group.member(m) }

// begin decides where every partition is read from, and starts to.
func (m *member) begin() {
	s := m.s
	r := &run{m: m, topic: m.topic, epochs: make([]uint8, len(m.topic.parts)), cheat: s.newCheat()}
	for range s.workers {
		op, err := window.NewOperator(m.spec)
		if err != nil {
			s.fail("operator: %v", err)
			return
		}
		r.ops = append(r.ops, op)
	}
	m.run, m.phase = r, running
	opens := false
	for _, a := range m.owned {
		known := s.sink.known(a.Partition)
		if known != nil && m.topic == s.topic && known.Next > a.LogEnd {
			a.LogEnd = s.topic.parts[a.Partition].end() // asked for again
		}
		plan, err := m.spec.Resume(a, known, window.Policy{SkipLost: true, NewEpoch: true})
		if err != nil {
			s.fail("resume: %v", err)
			return
		}
		s.mistake.plan(&plan, a, known)
		s.planned(m.topic, plan)
		r.plans = append(r.plans, plan)
		r.next = append(r.next, plan.Warm)
		r.epochs[a.Partition] = plan.Epoch
		r.owner(a.Partition).Start(plan)
		opens = opens || plan.Opens
	}
	if opens && s.mistake != Unclaimed {
		m.phase = claiming
		r.take()
		r.send()
	}
}

func (r *run) owner(partition int32) *window.Operator { return r.ops[int(partition)%len(r.ops)] }

// fetchBytes is about the most that one fetch returns.
const fetchBytes = 16_000

// fetch reads a batch of one partition, if memory allows.
func (r *run) fetch() {
	s := r.m.s
	if len(r.plans) == 0 {
		return
	}
	if r.topic != s.topic {
		r.m.drain(session) // the topic's id is another one: the generation is over
		return
	}
	if !r.pass() {
		return
	}
	i := s.r.IntN(len(r.plans))
	p := r.topic.parts[r.plans[i].Partition]
	from, stable := r.next[i], p.stable()
	switch {
	case from < p.start:
		r.m.drain(session) // out of range: another generation decides
		return
	case from >= stable:
		return
	}
	to := min(stable, from+1+s.r.Int64N(1+s.r.Int64N(s.batch)))
	for n, o := 0, from; o < to; o++ {
		if n += len(p.records[o].value); n > fetchBytes && o > from {
			to = o
		}
	}
	if s.r.IntN(4) == 0 {
		from = max(p.start, from-s.r.Int64N(4)) // a record batch begins before what was asked for
	}
	b := s.read(p, r.plans[i].Partition, from, to)
	s.mistake.batch(r, b)
	if err := r.owner(b.Partition).Observe(b); err != nil {
		s.fail("observe: %v", err)
		return
	}
	s.reading(r, b.Partition)
	s.forget()
	r.next[i] = to
	s.note(uint64(to)<<16 | uint64(b.Partition))
	s.held(r)
}

// bytes is about what the run holds.
func (r *run) bytes() int {
	n := r.outbox.Bytes()
	for _, op := range r.ops {
		n += op.Bytes()
	}
	return n
}

// pass is the memory gate of jobs: over the budget nothing is fetched until a
// write is acknowledged; close to it, a flush is due.
func (r *run) pass() bool {
	s := r.m.s
	if !s.mix.on.Has(Memory) || s.mistake == GateOpen {
		return true
	}
	n := r.bytes()
	if n >= s.budget/5*4 {
		s.mix.count[Memory]++
		r.flush()
	}
	if n < s.budget {
		r.barred = 0
		return true
	}
	if r.barred == 0 {
		r.barred = r.acks + 1
	}
	if r.barred == r.acks+1 {
		return false
	}
	r.barred = 0
	return true
}

// flush takes what the workers gathered and sends it, unless an answer is
// awaited or the last failure is too recent.
func (r *run) flush() {
	if r.write != nil || r.positions != nil || r.m.s.step < r.retry {
		return
	}
	r.take()
	r.send()
}

func (r *run) take() {
	for _, op := range r.ops {
		r.outbox.Add(op.Take())
	}
}

// send begins a write, if anything is owed.
func (r *run) send() {
	c := r.outbox.Begin()
	if c == nil {
		return
	}
	s := r.m.s
	if s.mistake == CommitFirst {
		r.positions = c.Next
		r.commit()
	}
	r.write = s.encode(r, c)
	if s.mistake == ReuseInFlight {
		r.ops[0].Reuse(c.Table)
	}
	r.proceed()
}

// answered is told what came of the insert last sent.
func (r *run) answered(err error) {
	s := r.m.s
	if err != nil && s.mistake != ErrorsIgnored {
		r.write = nil
		r.cheat.settle(false)
		if s.mistake == DropFailed {
			r.outbox.Acknowledge()
		} else {
			r.outbox.Fail()
		}
		r.retry = s.step + 1 + s.r.IntN(6)
		return
	}
	r.proceed()
}

// proceed sends the next insert of the write. After the last one everything
// in it is durable.
func (r *run) proceed() {
	s := r.m.s
	if !r.write.next(s, r) {
		return
	}
	r.write = nil
	r.cheat.settle(true)
	positions, table := r.outbox.Acknowledge()
	r.acks++
	if s.mistake != CommitFirst && len(positions) > 0 {
		r.positions = positions
	}
	if s.r.IntN(4) > 0 { // in jobs, if that worker is not busy
		r.ops[0].Reuse(table)
	}
}

// commit tells the group; a failure changes nothing.
func (r *run) commit() {
	err := r.m.s.group.commit(r.m, r)
	if errors.Is(err, errCoordinator) {
		r.m.s.mix.count[Coordinator]++
	}
	r.positions = nil
}

// drain begins the last flush of the generation.
func (m *member) drain(budget int) {
	m.phase = draining
	m.run.turns = budget
	m.run.take()
}

// release lets go of the partitions and joins again, or leaves.
func (m *member) release() {
	if m.leaving {
		m.s.network.orphan(m.run)
		m.exit()
		return
	}
	m.s.network.orphan(m.run)
	m.run, m.phase = nil, joining
	m.s.group.rebalance()
}
