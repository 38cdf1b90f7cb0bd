// Package audit compares the rows, rollups and ledger lines that a sink holds of a job
// with each other and with the log, and returns the differences as findings. A finding
// is data: cmd/weir has the sentences and remedies, and the sink has the tables. The
// package reads no clock.
//
// A job adds up if
//
//  1. the outcomes of a ledger line sum up to its offsets, and these are within
//     its chunk (Unbalanced, Outside); if a record is an array of events, the events by
//     outcome sum up to all of them, and go with the records counted (Uneven);
//  2. the lines of a partition leave no offset out (Hole);
//  3. the rows hold, under the slot of a chunk, at least the greatest count of events of
//     the chunk's lines and at most their sum (Missing, Excess), and nothing under
//     a slot without a line (Unknown);
//  4. a rollup holds the events of the rows it is made from, and makes the same
//     number of each measure as these rows (Lost, Behind);
//  5. the ledger ends at an offset that the log holds, or at the log's end, in a
//     partition that the topic has (Beyond, Deleted, Vanished), and counts the topic that
//     is there now (Recreated).
//
// Three differences may exist although all of this holds (Clipped, Twice, Short): see
// [Audit.Notes].
//
// The sink marks sums, lines and windows that it cannot read as a whole, and the
// audit does not judge these: a sum that grows while the sink reads it, rows that
// may have expired, and a rollup that is not due. What does not add
// up and is not judged because the sink's clock is behind the times of rows is a finding of
// its own (Ahead).
//
//	a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: 8192}, audit.Scope{})
//	for … { a.Hits(slot, n, settled) }                  // sums over rows, in any order
//	for … { if a.Window(w, rolled, rows) { for … { a.Measure(w, name, least, most, made) } } }
//	for … { a.Line(&line, comparable) }                 // by epoch, partition, chunk, first
//	a.Shown(events)                                     // of all windows, if they are kept for ever
//	for f := range a.Findings { … }
//	found, lag := a.Log(assignments)
//
// [Coverage] is for a running job: it says how many records wait to be counted. [Waits]
// says for how long a partition with such records has had no flush, and [Watermarks] which
// event time every partition has passed.
//
// Files:
//
//	audit.go     an audit: its input, and where it ends
//	lines.go     rules 1 and 2, Twice
//	chunks.go    rule 3, Clipped
//	rollups.go   rule 4
//	log.go       rule 5
//	total.go     Short
//	finding.go   the classes of findings
//	watermark.go waits.go coverage.go
//	             the ledger against the log of a running job: over time, for how long, and now
package audit

import (
	"weir/event"
	"weir/window"
)

// A Job is what an audit needs to know of a job.
type Job struct {
	Name, Topic string
	Chunk       int64 // offsets in a chunk
}

// An Audit receives what a sink holds of one job, in portions, and yields the
// differences. One goroutine at a time may use it.
type Audit struct {
	Scope Scope

	job     Job
	found   []Finding // about lines and windows, in the order in which these came
	tally   map[window.Slot]*tally
	order   []window.Slot // keys of tally, in the order in which they came
	folds   []tallied     // lines that stand for several chunks, in the order of their slots
	last    window.Line   // the latest of them
	reached []Reached
	topics  []counted // parallel to reached
	looked  Looked
	shown   uint64   // events of all windows, by the view that has the most
	summed  bool     // shown is known
	ahead   struct { // windows that do not add up and are not judged, because of the sink's clock
		windows uint64
		by      event.Time
		last    Compared
	}
}

// Looked says how much an audit has received.
type Looked struct{ Lines, Chunks, Windows int }

// New begins an audit.
func New(j Job, s Scope) *Audit {
	return &Audit{Scope: s, job: j, tally: map[window.Slot]*tally{}}
}

// Findings yields what does not add up within the sink: first lines and windows,
// then chunks, both in the order in which the sink gave them. The last one says what was
// not judged because of the sink's clock.
func (a *Audit) Findings(yield func(Finding) bool) {
	for _, f := range a.found {
		if !yield(f) {
			return
		}
	}
	a.chunks(yield)
}

// Notes yields differences between the numbers and the log that are no damage to
// the tables, so that no repair of them helps. Each is Clipped, Twice or Short.
func (a *Audit) Notes(yield func(Finding) bool) {
	if a.clipped(yield) && a.twice(yield) {
		a.short(yield)
	}
}

// Looked returns how much the audit has received.
func (a *Audit) Looked() Looked {
	a.settle()
	l := a.looked
	l.Chunks = len(a.tally)
	return l
}
