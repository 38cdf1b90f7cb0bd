package flow

import (
	"math"

	"weir/window"
)

// Time is a moment or a duration, in a unit of the driver's choice: nanoseconds
// since the run began in package jobs, steps in package sim.
type Time int64

// Never is a moment that does not come.
const Never Time = math.MaxInt64

// Config says when things happen.
type Config struct {
	Flush  Time    // from one flush to the next, above 0
	Memory Budget  // bytes, above 0
	Retry  Backoff // after a write that failed
	Commit Time    // after a commit that failed, until the next one
}

// A Phase is where a machine stands.
type Phase uint8

// The phases, in their order. From Drained on a machine has ended.
const (
	Claiming Phase = iota // the ledger does not know yet what is to be read
	Reading               // the log is read
	Draining              // nothing is read any more, and what was read is flushed
	Drained               // everything that was read is durable
	GaveUp                // it is not, and there is no time left; the next owner reads it again
	Refused               // it is not, and the sink will not take it
)

var phases = [...]string{"claiming", "reading", "draining", "drained", "gave up", "refused"}

func (p Phase) String() string { return phases[p] }

// Ended reports whether nothing more will happen.
func (p Phase) Ended() bool { return p >= Drained }

// An Answer is what the sink said to a write.
type Answer uint8

// The answers to a write.
const (
	Durable Answer = iota // all of it is there
	Unknown               // any part of it may be there: it failed, or there was no answer in time
	Fatal                 // it failed, and will again
)

// A Ready is what a driver does now, in the order of the fields.
type Ready struct {
	Open   bool              // the gate is open: what waits at it passes
	Write  *window.Changes   // sealed, to read only; then call Answered
	Reuse  *window.Table     // nothing reads this table any more: an operator may have it back
	Take   bool              // take what the workers gathered, then call Taken
	Commit []window.Position // by ascending partition; then call Committed

	Phase Phase
	Wake  Time // call Ready then, unless another input comes first
}

// A Machine is the order of claim, flush, commit and drain for the partitions
// in hand. It is not safe for concurrent use.
type Machine struct {
	cfg   Config
	phase Phase

	claim  claimPart
	outbox outboxPart
	gate   gatePart
	flush  stage
	retry  Backoff
	near   bool // memory gets short: time for a flush

	committing []window.Position // handed out to be committed, no answer yet

	flushAt  Time // when the interval is over
	writeAt  Time // no write before
	commitAt Time // no commit before
	deadline Time // of the drain
}

// A stage is how far a flush has come before it is in flight.
type stage uint8

const (
	resting stage = iota
	wanted        // the workers' changes are to be taken
	taking        // they are being taken
	taken         // they are to be written
)

// New makes the machine for partitions that are read by plans. What they open is
// claimed first.
func New(cfg Config, plans []window.Plan, now Time) *Machine {
	m := &Machine{cfg: cfg, phase: Reading, retry: cfg.Retry, flushAt: now + cfg.Flush}
	m.claim.plans = plans
	if m.claim.owed() {
		m.phase, m.flush = Claiming, wanted
	}
	return m
}

// Held says that something is to be counted, or waits at the gate, while the
// workers hold so many bytes.
func (m *Machine) Held(workers int64) {
	bytes := workers + m.outbox.bytes()
	if m.cfg.Memory.Full(bytes) {
		m.gate.close()
	} else {
		m.gate.open()
	}
	m.near = m.cfg.Memory.Near(bytes)
}

// Taken brings what the workers gathered, in answer to Ready.Take. The changes
// are the machine's from then on.
func (m *Machine) Taken(changes ...*window.Changes) {
	m.flush = taken
	for _, c := range changes {
		m.outbox.add(c)
	}
}

// Answered says what became of Ready.Write. After Fatal nothing is written until
// Leave.
func (m *Machine) Answered(now Time, a Answer) {
	switch a {
	case Durable:
		m.outbox.acknowledge()
		m.retry.Reset()
		m.gate.open()
		if m.phase == Draining {
			m.commitAt = now // no later flush could make up for a commit that is put off
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

// Committed says whether Ready.Commit worked. If not, the same positions, or
// later ones, are handed out again after a pause: the ledger knows better, but
// the group's lag is what people watch.
func (m *Machine) Committed(now Time, ok bool) {
	if ok {
		m.outbox.committed(m.committing)
	} else {
		m.commitAt = now + m.cfg.Commit
	}
	m.committing = nil
}

// Leave says that the partitions go, or that the process is asked to end, and
// that nothing is read any more. What was read has so much time to become
// durable, and pauses are short again. While Claiming nothing has been read.
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

// Ready says what is to be done now, once. Call it after each input, and when it
// is time to wake.
func (m *Machine) Ready(now Time) (rd Ready) {
	if m.phase.Ended() {
		return Ready{Open: true, Phase: m.phase, Wake: Never}
	}

	// What is durable may be committed, one commit at a time.
	if m.committing == nil && now >= m.commitAt {
		m.committing = m.outbox.committable()
		rd.Commit = m.committing
	}

	// A flush is due when the interval is over, when memory gets short, and as long
	// as the gate is closed: it is what opens the gate. While an answer is awaited
	// or the last failure is too recent, that is left to the next occasion.
	due := m.near || m.gate.closed
	m.near = false
	if now >= m.flushAt {
		due = true
		m.flushAt += m.cfg.Flush
		if m.flushAt <= now { // the driver was late by more than an interval
			m.flushAt = now + m.cfg.Flush
		}
	}
	idle := !m.outbox.flight && now >= m.writeAt
	if due && idle && m.flush == resting && m.phase == Reading {
		m.flush = wanted
	}

	// It takes what the workers gathered when that can be written, and not before:
	// there it costs least.
	if m.flush == wanted && idle {
		m.flush = taking
		rd.Take = true
	}

	// Then it is written. What failed is written again with the next flush; a claim
	// or a drain, which has no next one, writes it after the pause.
	if m.flush == taken || m.flush == resting && idle && m.phase != Reading {
		m.flush = resting
		if rd.Write = m.outbox.begin(); rd.Write == nil {
			m.gate.open() // there will be no acknowledgement to wait for
		}
	}

	// A claim is over when the ledger has it.
	settled := m.flush == resting && m.outbox.empty()
	if m.phase == Claiming && settled {
		m.phase, m.flushAt = Reading, now+m.cfg.Flush
	}

	// A drain is over when everything is durable and the last commit was tried,
	// or when its time is.
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

// wake is when something is to be done although nothing else happens.
func (m *Machine) wake() Time {
	switch m.phase {
	case Claiming:
		if m.outbox.owes() {
			return m.writeAt
		}
	case Reading:
		if m.gate.closed && m.flush == resting && !m.outbox.flight {
			return min(m.flushAt, m.writeAt)
		}
		return m.flushAt
	case Draining:
		if m.outbox.owes() {
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

// Table is that of what was taken and is not durable yet, to read; nil if there is
// none.
func (m *Machine) Table() *window.Table {
	if m.outbox.changes == nil {
		return nil
	}
	return m.outbox.changes.Table
}

// Bytes is about what the changes that are not durable yet hold in memory.
func (m *Machine) Bytes() int64 { return m.outbox.bytes() }
