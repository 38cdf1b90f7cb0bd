// Package audit says what adds up. It holds what a sink keeps of a job against
// itself and against the log, and what does not add up it returns as findings,
// which are data: what they say to people, and what can be done, is for others,
// and so is where the numbers come from. It knows no table and reads no clock.
//
// A job adds up if
//
//  1. the outcomes of a ledger line sum up to its offsets, and these are within
//     its chunk (Unbalanced, Outside);
//  2. the lines of a partition leave no offset out (Hole);
//  3. the rows hold, under the slot of a chunk, at least the greatest count of
//     the chunk's lines and at most their sum (Missing, Excess), and nothing under
//     a slot without a line (Unknown);
//  4. a rollup holds the events of the rows it is made from (Lost, Behind), and
//     where it does, it makes of each measure what these rows make;
//  5. the ledger ends where the log holds offsets, or at the log's end, in
//     partitions that the topic has (Beyond, Deleted, Vanished).
//
// Two things may be off although all of this holds (Clipped, Twice): see Notes.
//
// What a sink cannot know to be whole it marks, and it is not judged: a sum that
// grows while it is read, rows that may have expired, rollups that are not due.
//
//	a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: 8192}, audit.Scope{})
//	for … { a.Hits(slot, n, settled) }                  // sums over rows, as they come
//	for … { if a.Window(w, rolled, rows) { for … { a.Measure(w, name, least, most, made) } } }
//	for … { a.Line(&line, comparable) }                 // by epoch, partition, chunk, first
//	for f := range a.Findings { … }
//	found, lag := a.Log(assignments)
//
// Coverage, which is read often, is what a ledger says of the whole log at one
// moment: how much waits to be counted, and up to which event time all is. Waits
// say for how long nothing was flushed of a partition with records that wait.
package audit

import "weir/window"

// A Job is whose books are audited.
type Job struct {
	Name, Topic string
	Chunk       int64 // offsets in a chunk
}

// An Audit takes in what a sink holds of a job, in any portions, and yields what
// does not add up. It is not for several goroutines at a time.
type Audit struct {
	Scope Scope

	job     Job
	found   []Finding // of lines and windows, as they came
	tally   map[window.Slot]*tally
	order   []window.Slot // of the chunks, as they came
	reached []Reached
	topics  []counted // of each of reached
	looked  Looked
}

// Looked is how much an audit has looked at.
type Looked struct{ Lines, Chunks, Windows int }

// New begins an audit.
func New(j Job, s Scope) *Audit {
	return &Audit{Scope: s, job: j, tally: map[window.Slot]*tally{}}
}

// Findings yields what does not add up within the sink: what lines and windows
// showed by themselves, then the chunks in the order they came.
func (a *Audit) Findings(yield func(Finding) bool) {
	for _, f := range a.found {
		if !yield(f) {
			return
		}
	}
	a.chunks(yield)
}

// Notes yields what the numbers are off by, or may be, without damage to the
// tables: nothing that is done to these mends it. Each is Clipped or Twice.
func (a *Audit) Notes(yield func(Finding) bool) {
	if a.clipped(yield) {
		a.twice(yield)
	}
}

// Looked is how much the audit has been given.
func (a *Audit) Looked() Looked {
	l := a.looked
	l.Chunks = len(a.tally)
	return l
}

// of is a finding of the job.
func (a *Audit) of(k Kind) Finding { return Finding{Kind: k, Job: a.job.Name, Topic: a.job.Topic} }

// ofChunk is one that speaks of a chunk.
func (a *Audit) ofChunk(k Kind, s window.Slot) Finding {
	f := a.of(k)
	f.Epoch, f.Partition, f.Chunk = s.Epoch(), s.Partition(), s.Chunk()
	f.Offsets = Offsets{f.Chunk * a.job.Chunk, (f.Chunk + 1) * a.job.Chunk}
	return f
}
