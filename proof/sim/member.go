package sim

import (
	"errors"
	"math"

	"weir/event"
	"weir/flow"
	"weir/internal/backoff"
	"weir/window"
)

// A member is the place of one process: when the process is killed, another
// starts here later. While it has partitions it does what package flow says, as
// package jobs does, one small step at each turn, so that a kill can come
// between any two steps.
type member struct {
	s          *schedule
	alive      bool
	paused     bool // SIGSTOP
	leaving    bool // SIGTERM
	back       int  // step at which it starts, or continues, again
	spec       *window.Spec
	phase      phase
	generation int
	owned      []event.Assignment
	topic      *topic // the topic when the partitions were assigned
	run        *run
	roller     *roller
}

type phase uint8

const (
	joining  phase = iota // waiting for partitions
	assigned              // has some; it reads the ledger next
	holding               // has planned where to read them from, and has a run
)

// A run is one generation of one process, like the run of package jobs.
type run struct {
	m      *member
	topic  *topic
	plans  []window.Plan
	epochs []uint8 // by partition
	next   []int64 // the offset to fetch next, by plan
	ops    []*window.Operator

	flow        *flow.Machine
	phase       flow.Phase
	wake        flow.Time
	uncommitted []window.Position // to be committed at the next turn
	write       *write            // in flight
	sent        []*insert         // of rows, answered and not acknowledged
	part        part              // the state of the next fetch

	restarts int // of the sink, when the ledger was read

	cheat *cheat // the memory of a planted mistake
}

// A part is the state of a fetch.
type part uint8

const (
	none    part = iota // not requested
	waiting             // at the memory gate
	passed              // past the gate
)

// start begins a process's life.
func (m *member) start() {
	m.alive, m.paused, m.leaving, m.phase, m.generation, m.run = true, false, false, joining, -1, nil
	m.spec = m.s.version()
	m.roller = &roller{spec: m.spec, asked: -fresh}
	m.s.group.rebalance()
}

// kill is SIGKILL. The network still has the inserts that the process has sent.
func (m *member) kill() {
	m.s.network.orphan(m.run)
	m.roller.end()
	m.alive, m.run, m.phase = false, nil, joining
	m.s.group.silent()
}

// wake is SIGCONT. A process that had partitions continues as if it still had
// them.
func (m *member) wake() {
	if m.paused && m.phase == joining {
		m.s.group.rebalance() // its request to join has timed out
	}
	m.paused = false
}

// terminate is SIGTERM.
func (m *member) terminate() {
	if m.run == nil {
		m.exit()
		return
	}
	m.leaving = true
	m.run.leave(session)
}

func (m *member) exit() {
	m.roller.end()
	m.alive, m.leaving, m.run, m.phase = false, false, nil, joining
	m.s.group.rebalance()
}

// assign gives the member its share of the partitions.
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

// turn lets the process make its next step.
func (m *member) turn() {
	switch m.phase {
	case joining:
	case assigned:
		if m.s.sink.down {
			return // jobs tries again until the sink answers
		}
		m.begin()
	case holding:
		m.run.turn()
	}
}

func (r *run) turn() {
	s := r.m.s
	stale := r.phase != flow.Draining && r.m.stale() && s.r.IntN(3) == 0
	switch due := s.now() >= r.wake; {
	case r.uncommitted != nil:
		r.commit()
	case stale:
		r.leave(2 + s.r.IntN(session))
	case s.sink.restarts > 0 && !s.sink.down && s.r.IntN(6) == 0 && r.forgotten():
		r.giveUp()
	case due && (r.phase != flow.Reading || s.r.IntN(2) == 0): // a timer fires when it can
		r.drive()
	case r.phase == flow.Reading:
		r.fetch()
	}
}

// stale reports whether the generation is over. A process learns that with its
// next heartbeat.
func (m *member) stale() bool { return m.s.group.preparing || !m.s.group.member(m) }

// begin decides where every partition is read from, and makes the run.
func (m *member) begin() {
	s := m.s
	r := &run{m: m, topic: m.topic, epochs: make([]uint8, len(m.topic.parts)), cheat: s.newCheat()}
	for range s.workers {
		op, err := window.NewOperator(m.s.mistake.spec(m.spec))
		if err != nil {
			s.fail("operator: %v", err)
			return
		}
		r.ops = append(r.ops, op)
	}
	ledger := s.sink.knowledge()
	r.restarts = s.sink.restarts
	for _, a := range m.owned {
		known := s.sink.known(a.Partition)
		if of := known.Of(m.topic.id); of != nil && m.topic == s.topic && of.Next > a.LogEnd {
			a.LogEnd = s.topic.parts[a.Partition].end() // read again after the ledger
		}
		plan, err := m.spec.Resume(a, s.mistake.sees(ledger, a.Partition), window.Policy{SkipLost: true, NewEpoch: s.allowed(m.topic)})
		if errors.Is(err, window.ErrRecreated) && !s.allowed(m.topic) { // the process ends, and is started again
			m.exit()
			m.back = s.step + 1 + s.r.IntN(session)
			return
		}
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
	}
	memory := flow.Budget(math.MaxInt64)
	if s.mix.on.Has(Memory) {
		memory = flow.Budget(s.budget)
	}
	r.flow = flow.New(flow.Config{
		Flush: s.flush, Behind: 4 * s.flush, Ledger: s.ledger, Memory: memory, Rows: flushRows, Retry: backoff.Backoff[flow.Time]{First: 1, Most: 6}, Commit: 3,
	}, r.plans, s.now())
	m.run, m.phase = r, holding
	r.drive()
}

// version returns the spec of a process that starts now.
func (s *schedule) version() *window.Spec {
	if s.upgraded || s.old == s.spec {
		return s.spec
	}
	if s.faults.IntN(2) == 0 {
		s.mix.count[Rolling]++
		return s.spec
	}
	return s.old
}

func (r *run) owner(partition int32) *window.Operator { return r.ops[int(partition)%len(r.ops)] }

// drive does what flow says. It starts an operation that takes time; the answer
// comes at another step.
func (r *run) drive() {
	s := r.m.s
	for {
		rd := r.flow.Ready(s.now())
		r.phase, r.wake = rd.Phase, rd.Wake
		if rd.Open && r.part == waiting {
			r.part = passed
		}
		if rd.Commit != nil {
			r.uncommitted = rd.Commit
		}
		if rd.Write != nil && r.forgotten() && (rd.Write.Table.Len() == 0 || s.faults.IntN(2) == 0) { // or it learns of it when rows are answered
			r.giveUp()
			return
		}
		if rd.Insert != nil {
			r.write = s.encodeInsert(r, rd.Insert)
		}
		if rd.Write != nil {
			r.write = s.encode(r, rd.Write)
		}
		for _, t := range rd.Reuse {
			if s.r.IntN(4) > 0 { // a driver may drop it
				r.ops[0].Reuse(t)
			}
		}
		switch {
		case rd.Take:
			r.flow.Taken(r.take())
		case rd.Insert != nil:
			r.write.next(s, r)
			return
		case rd.Write != nil && r.write.next(s, r): // there was nothing to send
			r.answer(flow.Durable)
		case rd.Phase.Ended():
			if rd.Phase == flow.Drained {
				s.drained(r)
			}
			r.m.release()
			return
		default:
			return
		}
	}
}

// take takes the workers' changes.
func (r *run) take() *window.Changes {
	changes := r.ops[0].Take()
	for _, op := range r.ops[1:] {
		taken := op.Take()
		changes.Merge(taken)
		op.Reuse(taken.Table)
	}
	return changes
}

// fetchBytes is about the most that one fetch returns.
const fetchBytes = 16_000

// flushRows is few enough to be reached now and then.
const flushRows = 40

// fetch reads a batch of one partition, if memory allows.
func (r *run) fetch() {
	s := r.m.s
	if len(r.plans) == 0 {
		return
	}
	if r.topic != s.topic {
		r.leave(session) // the topic's id has changed: the generation is over
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
		r.leave(session) // out of range: another generation decides
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
		from = max(p.start, from-s.r.Int64N(4)) // a record batch may begin before the requested offset
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
	r.flow.Behind(r.left(), r.workers())
	s.note(uint64(to)<<16 | uint64(b.Partition))
	s.held(r)
}

// left returns how long it takes to read one of the partitions to its end, as if a step read a record.
func (r *run) left() flow.Time {
	least := int64(math.MaxInt64)
	for i, p := range r.plans {
		least = min(least, max(0, r.topic.parts[p.Partition].stable()-r.next[i]))
	}
	return flow.Time(least)
}

// read makes the batch that a fetch returns: the records of [from, to), in a
// buffer that forget overwrites after they were counted.
func (s *schedule) read(p *partition, partition int32, from, to int64) *event.Batch {
	s.buffer, s.records = s.buffer[:0], s.records[:0]
	for o := from; o < to; o++ {
		rec := &p.records[o]
		if rec.form == gap || rec.compacted {
			continue
		}
		value := rec.value
		if value != nil {
			at := len(s.buffer)
			s.buffer = append(s.buffer, value...)
			value = s.buffer[at:len(s.buffer):len(s.buffer)]
		}
		s.records = append(s.records, event.Record{Offset: o, Time: rec.time, Value: value})
	}
	s.handed = event.Batch{Partition: partition, First: from, Next: to, Records: s.records}
	return &s.handed
}

// forget overwrites the fetch buffer, as the next fetch would.
func (s *schedule) forget() {
	clear(s.buffer)
}

// workers is about how many bytes the operators hold.
func (r *run) workers() int64 {
	n := 0
	for _, op := range r.ops {
		n += op.Bytes()
	}
	return int64(n)
}

// rows is how many rows the operators hold.
func (r *run) rows() int64 {
	n := 0
	for _, op := range r.ops {
		n += op.Rows()
	}
	return int64(n)
}

// pass reports whether memory allows one more part.
func (r *run) pass() bool {
	s := r.m.s
	if r.part != passed {
		r.part = waiting
		r.flow.Held(r.workers(), r.rows())
		r.drive()
	}
	if r.part == waiting {
		s.mix.count[Memory]++
		return false
	}
	r.part = none
	return true
}

// answered handles the answer to the last insert.
func (r *run) answered(err error) {
	there := false
	if err == nil && !r.forgotten() {
		there, err = r.write.acknowledged(r.m.s, r)
	}
	switch {
	case err != nil:
		r.answer(flow.Unknown)
	case r.forgotten():
		r.giveUp()
		return
	case !there:
		return // the insert is sent again
	case !r.write.next(r.m.s, r):
		return // the next insert of the write is sent
	case r.write.inserts:
		r.sent = append(r.sent, r.write.stages[0])
		r.flow.Inserted(r.write.stages[0].at.Stamp)
		r.write = nil
	default:
		r.sent = nil
		r.answer(flow.Durable)
	}
	r.drive()
}

func (r *run) answer(o flow.Answer) {
	r.write = nil
	r.cheat.settle(o == flow.Durable)
	r.flow.Answered(r.m.s.now(), o)
}

// commit commits positions to the group. A failure changes no count.
func (r *run) commit() {
	err := r.m.s.group.commit(r.m, r, r.uncommitted)
	if errors.Is(err, errCoordinator) {
		r.m.s.mix.count[Coordinator]++
	}
	r.uncommitted = nil
	r.flow.Committed(r.m.s.now(), err == nil)
	r.drive()
}

// forgotten reports whether the sink may have forgotten what it acknowledged to the run.
func (r *run) forgotten() bool {
	return r.restarts != r.m.s.sink.restarts && r.m.s.mistake != Unforgotten
}

// giveUp ends the generation without a flush: the process reads the open chunks again.
func (r *run) giveUp() {
	s := r.m.s
	s.network.orphan(r)
	r.write, r.uncommitted = nil, nil
	r.flow.Answered(s.now(), flow.Unknown)
	r.flow.Leave(s.now(), 0)
	if r.drive(); r.m.run == r { // it was leaving already
		r.m.release()
	}
}

// leave begins the last flush of the generation.
func (r *run) leave(within int) {
	r.flow.Leave(r.m.s.now(), flow.Time(within))
	r.drive()
}

// release releases the partitions and joins again, or leaves the group.
func (m *member) release() {
	m.s.network.orphan(m.run)
	if m.leaving {
		m.exit()
		return
	}
	m.run, m.phase = nil, joining
	m.s.group.rebalance()
}
