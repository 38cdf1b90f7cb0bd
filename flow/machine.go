package flow

import (
	"math"

	"weir/internal/backoff"
	"weir/window"
)

// Time is a moment or a duration, in a unit of the driver's choice: nanoseconds
// since the run began in package jobs, steps in package sim.
type Time int64

// Never is a time that is never reached.
const Never Time = math.MaxInt64

// Config holds the intervals and the memory budget.
type Config struct {
	Flush  Time                  // from one flush to the next, above 0: flushes come at the multiples of it
	Behind Time                  // the same while the process is behind, at least Flush: see Machine.Behind
	Ledger Time                  // from one flush that makes everything durable to the next, at least Flush; those between insert rows only
	Memory Budget                // bytes, above 0
	Rows   int64                 // of (window, group) that are flushed before the interval is over, above 0: see Machine.Held
	Retry  backoff.Backoff[Time] // after a write that failed
	Commit Time                  // after a commit that failed, until the next one
}

// A Phase is a part of a machine's life.
type Phase uint8

// The phases, in their order. From Drained on a machine has ended.
const (
	Claiming Phase = iota // the ledger does not know all partitions yet
	Reading               // the log is read
	Draining              // reading has stopped, and what was read is flushed
	Drained               // everything that was read is durable
	GaveUp                // not everything is durable, and the time is over; the next owner reads the rest again
	Refused               // not everything is durable, and the sink will never accept it
)

var phases = [...]string{"claiming", "reading", "draining", "drained", "gave up", "refused"}

func (p Phase) String() string { return phases[p] }

// Ended reports whether the machine has ended.
func (p Phase) Ended() bool { return p >= Drained }

// An Answer is the result of a write.
type Answer uint8

// The answers to a write.
const (
	Durable Answer = iota // all of it is stored
	Unknown               // any part of it may be stored: the write failed, or no answer came in time
	Fatal                 // the write failed, and would fail again
)

// A Ready is what a driver does now, in the order of the fields.
type Ready struct {
	Open   bool              // the gate is open: waiting records may pass
	Insert *window.Changes   // insert its rows: sealed, to read only; then call Inserted, or Answered after an error
	Write  *window.Changes   // make all of it durable: the same; then call Answered
	Reuse  []*window.Table   // no reader uses these tables any more: give them back to an operator
	Take   bool              // take the workers' changes, then call Taken
	Commit []window.Position // by ascending partition; then call Committed

	Phase Phase
	Wake  Time // call Ready then, unless another input comes first
}

// A Machine decides the order of claim, flush, commit and drain for the
// partitions that a process has. It is not safe for concurrent use.
type Machine struct {
	cfg   Config
	phase Phase

	claim  claim
	outbox outbox
	gate   gate
	flush  stage
	retry  backoff.Backoff[Time]
	near   bool // memory is nearly used up, or there are many rows: a flush is due

	committing []window.Position // handed out in Ready.Commit, no answer yet

	late     bool // the log is ahead by a quarter of the short interval or more, or it is not known yet
	calm     bool // it is ahead by less than the short interval, and a quarter of the memory suffices
	whole    bool // the next flush makes everything durable
	interval Time // Flush or Behind of the configuration
	flushAt  Time // when the interval is over
	ledgerAt Time // the first flush from then on makes everything durable
	writeAt  Time // no write before
	commitAt Time // no commit before
	deadline Time // of the drain
}

// A stage is how far a flush has come before its write is in flight.
type stage uint8

const (
	resting stage = iota
	wanted        // the workers' changes are to be taken
	taking        // they are being taken
	taken         // they are to be written
)

// New makes the machine for the partitions of the plans. It first claims the
// epochs that the plans open.
func New(cfg Config, plans []window.Plan, now Time) *Machine {
	m := &Machine{cfg: cfg, phase: Reading, retry: cfg.Retry, interval: cfg.Flush, late: true}
	m.flushAt, m.ledgerAt = m.next(now), m.nextLedger(now)
	m.claim.plans = plans
	for _, p := range plans {
		// What an earlier owner made durable and did not commit. If all of the log is
		// durable, nothing else would commit it.
		if !p.Opens && p.Durable > p.Committed {
			m.outbox.reach([]window.Position{{Partition: p.Partition, Offset: p.Durable}})
		}
	}
	if m.claim.needed() {
		m.phase, m.flush = Claiming, wanted
	}
	return m
}

// Held tells the machine that records are to be counted, or wait at the gate,
// and how many bytes and rows the workers hold. While the process is behind the log,
// as many rows as make a flush close the gate: more would only take memory until the sink
// has stored the ones before.
func (m *Machine) Held(workers, rows int64) {
	bytes := workers + m.outbox.bytes()
	if m.cfg.Memory.Full(bytes) || m.late && rows >= m.cfg.Rows {
		m.gate.close()
	} else {
		m.gate.open()
	}
	m.near = m.cfg.Memory.Near(bytes) || rows >= m.cfg.Rows
}

// Behind tells the machine how far behind the log the process is: how long it will take, at
// its present pace, until it has read one of its partitions to the end; and how many bytes
// the workers hold. While that takes as long as the short interval, and a quarter of the
// memory suffices, the long interval holds: larger flushes cost the sink less, and what
// waits in the log is not seen for longer than that anyway. The interval that has begun changes,
// too. It decides when rows are written, and nothing about what is in them.
func (m *Machine) Behind(left Time, workers int64) {
	m.late = left >= m.cfg.Flush/4
	interval, roomy := m.cfg.Flush, m.cfg.Memory.Roomy(workers+m.outbox.bytes())
	if left >= m.cfg.Flush && roomy {
		interval = m.cfg.Behind
	}
	m.calm = left < m.cfg.Flush && roomy
	m.flushAt += interval - m.interval
	m.interval = interval
}

// Taken gives the machine the workers' changes, in answer to Ready.Take. The
// machine owns them from then on.
func (m *Machine) Taken(changes ...*window.Changes) {
	m.flush = taken
	for _, c := range changes {
		m.outbox.add(c)
	}
}

// Inserted tells the machine that the rows of Ready.Insert are in the sink, written in a round.
// That acknowledges nothing: the rows stay in memory until a write was answered with Durable.
func (m *Machine) Inserted(round uint64) { m.outbox.inserted(round) }

// Answered tells the machine the result of Ready.Write, or the error of Ready.Insert. After Fatal it
// writes nothing until Leave.
func (m *Machine) Answered(now Time, a Answer) {
	switch a {
	case Durable:
		m.outbox.acknowledge()
		m.retry.Reset()
		m.gate.open()
		m.whole, m.ledgerAt = false, m.nextLedger(now)
		if m.phase == Draining {
			m.commitAt = now // commit now: no later flush will
		}
	case Unknown:
		m.outbox.fail()
		m.writeAt = now + m.retry.Next()
	case Fatal:
		m.outbox.fail()
		m.writeAt = Never
		if m.phase != Reading {
			m.phase = Refused
		}
	}
}

// Committed tells the machine whether Ready.Commit worked. If not, it hands out
// the same positions, or later ones, after a pause. A missing commit is
// harmless, because the ledger has the position, but people watch the group's
// lag.
func (m *Machine) Committed(now Time, ok bool) {
	if ok {
		m.outbox.committed(m.committing)
	} else {
		m.commitAt = now + m.cfg.Commit
	}
	m.committing = nil
}

// Leave tells the machine that the process loses the partitions, or is to end,
// and has stopped reading. The records that it has read must become durable
// within the given time, and retries begin with short pauses again. A machine
// that is still Claiming has read nothing, and ends.
func (m *Machine) Leave(now, within Time) {
	switch m.phase {
	case Claiming:
		m.phase = Drained
	case Reading:
		m.phase, m.flush, m.deadline = Draining, wanted, now+within
		m.writeAt = now
		m.retry.Reset()
	}
}

// Ready returns what to do now; it returns each thing once. Call it after each
// input, and at the time of Wake.
func (m *Machine) Ready(now Time) (rd Ready) {
	if m.phase.Ended() {
		return Ready{Open: true, Phase: m.phase, Wake: Never}
	}

	// Durable positions may be committed, one commit at a time.
	if m.committing == nil && now >= m.commitAt {
		m.committing = m.outbox.committable()
		rd.Commit = m.committing
	}

	// A flush is due when the interval is over, when memory is nearly used up or there
	// are many rows, and while the gate is closed, because only a flush opens it. It waits while a
	// write is in flight, or a failure is too recent.
	due := m.near || m.gate.closed
	m.near, m.whole = false, m.whole || due
	if now >= m.flushAt {
		due = true
		m.flushAt = m.next(now)
	}
	idle := !m.outbox.flight && now >= m.writeAt
	if due && idle && m.flush == resting && m.phase == Reading {
		m.flush = wanted
	}

	// It takes the workers' changes only when they can be written: until then they
	// take less memory in the workers than in the outbox.
	if m.flush == wanted && idle {
		m.flush = taking
		rd.Take = true
	}

	// Then it writes them. While the process keeps up and has room, most flushes only insert the rows,
	// so that people see them: to acknowledge them and to write the ledger costs the sink as much again.
	// Flushes that free memory, and the last one, are whole. Changes whose write failed are written again with the
	// next flush; a claim or a drain, which has no next flush, writes them again
	// after the pause.
	if m.flush == taken || m.flush == resting && idle && m.phase != Reading {
		m.flush = resting
		if m.calm && !m.whole && now < m.ledgerAt && m.phase == Reading {
			rd.Insert = m.outbox.insert()
		} else if rd.Write = m.outbox.begin(); rd.Write == nil {
			m.gate.open() // no write, so no acknowledgement will open it
		}
	}

	// A claim is over when the ledger has stored it.
	settled := m.flush == resting && m.outbox.empty()
	if m.phase == Claiming && settled {
		m.phase, m.flushAt = Reading, m.next(now)
	}

	// A drain is over when everything is durable and the last commit was tried, or
	// when its time is over.
	if m.phase == Draining {
		late := now >= m.deadline
		switch {
		case settled && (late || m.committing == nil):
			m.phase = Drained
		case late:
			m.phase = GaveUp
		}
	}

	rd.Reuse, rd.Open = m.outbox.reuse(), !m.gate.closed
	rd.Phase, rd.Wake = m.phase, m.wake()
	return rd
}

// next returns when the interval that begins now is over: it begins at a multiple of the short
// interval, so machines with one clock flush at the same moments, and their writes can share
// statements.
func (m *Machine) next(now Time) Time {
	return (now/m.cfg.Flush)*m.cfg.Flush + m.interval
}

// nextLedger returns from when on a flush makes everything durable: a multiple of the interval for that.
func (m *Machine) nextLedger(now Time) Time { return (now/m.cfg.Ledger + 1) * m.cfg.Ledger }

// wake returns the time when something is due without another input.
func (m *Machine) wake() Time {
	switch m.phase {
	case Claiming:
		if m.outbox.sendable() {
			return m.writeAt
		}
	case Reading:
		if m.gate.closed && m.flush == resting && !m.outbox.flight {
			return min(m.flushAt, m.writeAt)
		}
		return m.flushAt
	case Draining:
		if m.outbox.sendable() {
			return min(m.deadline, m.writeAt)
		}
		return m.deadline
	}
	return Never
}

// Empty reports whether everything that was taken is durable.
func (m *Machine) Empty() bool { return m.outbox.empty() }

// Idle reports whether everything that was taken is durable and committed.
func (m *Machine) Idle() bool { return m.Empty() && len(m.outbox.uncommitted) == 0 }

// Tables returns the tables of the changes that were taken and are not durable yet, for
// reading.
func (m *Machine) Tables() []*window.Table {
	if m.outbox.changes == nil {
		return nil
	}
	return m.outbox.changes.Tables()
}

// Bytes is about the memory of the changes that are not durable yet.
func (m *Machine) Bytes() int64 { return m.outbox.bytes() }
