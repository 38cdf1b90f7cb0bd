package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"weir/event"
	"weir/window"
)

// A Mistake is an error planted on purpose: a negative control. The simulator
// must find each of them.
type Mistake uint8

// The mistakes of the first group are in the simulated parts around the core;
// the first six are classical mistakes about exactly-once. Those of the second
// group are in package flow, those of the third in package window, in builds
// with an [Overlay] only.
const (
	None Mistake = iota

	Increments   // counts are sent as increments since the last acknowledgement
	Tokens       // increments, deduplicated by a token that is made from their bounds
	MidChunk     // reading begins at the position, not at its chunk's beginning
	LastWins     // a row replaces the previous one
	WallClock    // lateness is decided by the time of reading
	Watermark    // lateness is decided by the latest event seen
	NoWarmUp     // the filters begin empty in the middle of the log
	LedgerFirst  // the ledger is written before the rows that it covers
	EpochKept    // a recreated topic is counted under the old epoch
	GapUnwritten // expired records are not in the ledger
	NewFromEnd   // a partition never read before is read from its end
	PartAlone    // a process decides about a topic by one partition's lines in the ledger
	EpochLatest  // the latest epoch is taken for the one that counts the topic
	SlotShared   // the slot does not name the partition
	WhereLost    // a process does not know the conditions of a measure
	TopsMerged   // top lists of a slot are added up, where the later one replaces the earlier

	NeverOvertaken // a writer does not look at the round after its insert
	LooksFirst     // a rollup lists what it makes before its round is open
	NotedFirst     // a rollup notes that it is done before it writes
	TailForgotten  // rows that a rollup leaves in the live tail do not hold back what it notes
	MadeTrusted    // a process trusts what it remembers of its rollups after the rounds fell

	CheckedFirst      // a rollup checks the numbers of whole rows before its round is open
	WindowChecked     // it checks them by window, as the sum of what flushes wrote
	HitsChecked       // it takes numbers that a rollup made for those of whole rows
	MeasuresUnchecked // it takes those of a process that counts fewer measures
	Unstamped         // it takes numbers and leaves their windows' round as it is
	SentTrusted       // rows of earlier flushes are taken for acknowledged without a look at the round

	FoldedFirst // lines are deleted before the fold that stands for them is there

	Unforgotten // a process goes on after the sink has forgotten what it acknowledged

	InsertDurable   // offsets are committed when rows are inserted
	CommitFirst     // the offset is committed before the insert is answered
	DropFailed      // changes whose insert failed are not sent again
	ErrorsIgnored   // an error is taken for a success
	ReuseInFlight   // a table is reused before its insert is answered
	Unclaimed       // partitions are read before the ledger knows their epoch
	GateOpen        // memory does not stop the fetch
	GateStuck       // the memory gate never opens again
	FlightForgotten // a process leaves while its insert is under way

	PartNumbered // a row that is not whole gives its numbers
	FoldedAcross // folds begin at any chunk
	OutcomesKept // a chunk's outcomes begin where the last chunk's ended
	CapKept      // the cap on groups counts the worker's groups, not the chunk's
	RepeatLost   // a repeated id is not noted in its chunk's filter
	IDsReset     // exact ids begin anew after each flush
	CountsReset  // counts begin anew after each flush
	SumsReset    // sums begin anew after each flush
	BucketsReset // counts of buckets begin anew after each flush
	LimitsReset  // limiters begin anew after a flush

	SavedWhole    // a row of a saved state gives its numbers
	SavedSums     // a saved state has no sums
	SavedOutcomes // a saved state has no outcomes
	SavedCap      // the cap counts the groups since the saved state
	SavedEarly    // reading goes on before the saved state ends

	ClockPassed // the watermark follows the clocks of clients
	ClockLimits // limiters follow the clocks of clients
	Mistakes    // the number of mistakes, with None
)

var mistakes = [Mistakes]struct{ name, text string }{
	None:           {"none", "nothing"},
	Increments:     {"increments", "counts sent as increments"},
	Tokens:         {"tokens", "increments with deduplication tokens over variable bounds"},
	MidChunk:       {"mid-chunk", "resume in the middle of a chunk"},
	LastWins:       {"last-wins", "the last write wins, without a merge"},
	WallClock:      {"wall-clock", "lateness by the wall clock"},
	Watermark:      {"watermark", "a watermark that decides content"},
	NoWarmUp:       {"no-warm-up", "no warm-up of the deduplication filter"},
	LedgerFirst:    {"ledger-first", "ledger written before the rows"},
	EpochKept:      {"epoch-kept", "epoch not raised for a recreated topic"},
	GapUnwritten:   {"gap-unwritten", "expired records skipped silently"},
	NewFromEnd:     {"new-from-end", "new partitions read from their end"},
	PartAlone:      {"part-alone", "a topic decided about by each partition alone"},
	EpochLatest:    {"epoch-latest", "the latest epoch taken for the topic's"},
	SlotShared:     {"slot-shared", "slots of two partitions are one"},
	WhereLost:      {"where-lost", "a process without the conditions of a measure"},
	TopsMerged:     {"tops-merged", "top lists of a slot added up, not replaced"},
	NeverOvertaken: {"never-overtaken", "a writer does not look at the round after its insert"},
	LooksFirst:     {"looks-first", "a rollup lists windows before its round is open"},
	NotedFirst:     {"noted-first", "a rollup notes that it is done before it writes"},
	TailForgotten:  {"tail-forgotten", "rows left in the live tail hold nothing back"},
	MadeTrusted:    {"made-trusted", "rollups remembered after the rounds fell"},
	CheckedFirst:   {"checked-first", "numbers checked before the round is open"},
	WindowChecked:  {"window-checked", "numbers checked by window, not by group"},
	HitsChecked:    {"hits-checked", "numbers that a rollup made pass the check"},

	MeasuresUnchecked: {"measures-unchecked", "numbers of fewer measures pass the check"},

	Unstamped:       {"unstamped", "a longer rollup does not learn of taken numbers"},
	SentTrusted:     {"sent-trusted", "rows of earlier flushes acknowledged without a look at the round"},
	FoldedFirst:     {"folded-first", "lines deleted before their fold is there"},
	Unforgotten:     {"unforgotten", "counting goes on after the sink went back"},
	InsertDurable:   {"insert-durable", "flow: commit when rows are inserted"},
	CommitFirst:     {"commit-first", "flow: commit before the insert is answered"},
	DropFailed:      {"drop-failed", "flow: changes dropped when their insert fails"},
	ErrorsIgnored:   {"errors-ignored", "flow: an error counts as a success"},
	ReuseInFlight:   {"reuse-in-flight", "flow: a table reused before its insert is answered"},
	Unclaimed:       {"unclaimed", "flow: partitions read before the ledger knows their epoch"},
	GateOpen:        {"gate-open", "flow: fetching goes on over the memory budget"},
	GateStuck:       {"gate-stuck", "flow: the memory gate stays closed"},
	FlightForgotten: {"flight-forgotten", "flow: a process leaves while its insert is under way"},
	FoldedAcross:    {"folded-across", "window: folds that begin at any chunk"},
	PartNumbered:    {"part-numbered", "window: numbers of a row that is not whole"},
	OutcomesKept:    {"outcomes-kept", "window: outcomes not reset at the end of a chunk"},
	CapKept:         {"cap-kept", "window: groups capped by worker, not by chunk"},
	RepeatLost:      {"repeat-lost", "window: a repeat is not noted in the filter"},
	IDsReset:        {"ids-reset", "window: exact ids begin anew after a flush"},
	CountsReset:     {"counts-reset", "window: counts begin anew after a flush"},
	LimitsReset:     {"limits-reset", "window: limiters begin anew after a flush"},
	SavedWhole:      {"saved-whole", "window: numbers of a row of which a saved state has counts"},
	SavedSums:       {"saved-sums", "window: a saved state without sums"},
	SavedOutcomes:   {"saved-outcomes", "window: a saved state without outcomes"},
	SavedCap:        {"saved-cap", "window: groups capped since the saved state"},
	SavedEarly:      {"saved-early", "window: records of a saved state counted again"},
	ClockPassed:     {"clock-passed", "window: a watermark by the clocks of clients"},
	ClockLimits:     {"clock-limits", "window: limiters by the clocks of clients"},
	SumsReset:       {"sums-reset", "window: sums begin anew after a flush"},
	BucketsReset:    {"buckets-reset", "window: a bucket sent as what is new since the last flush"},
}

func (m Mistake) String() string { return mistakes[m].name }

// Text describes the mistake.
func (m Mistake) Text() string { return mistakes[m].text }

// InCore reports whether the mistake is in package flow or window.
func (m Mistake) InCore() bool { return m >= InsertDurable }

// ParseMistake returns the inverse of Mistake.String.
func ParseMistake(name string) (Mistake, error) {
	for m := range Mistakes {
		if mistakes[m].name == name {
			return m, nil
		}
	}
	return None, fmt.Errorf("sim: no mistake %q", name)
}

// A cheat is the memory of a process with a mistake, during a run.
type cheat struct {
	acked, sent map[string]uint64 // Increments: by row and slot
	latest      event.Time        // Watermark
}

func (s *schedule) newCheat() *cheat {
	switch s.mistake {
	case Increments, Tokens:
		return &cheat{acked: map[string]uint64{}, sent: map[string]uint64{}}
	case Watermark:
		return &cheat{}
	}
	return nil
}

// plan changes a plan so that reading begins at the wrong offset.
func (m Mistake) plan(p *window.Plan, a event.Assignment, known *window.Known) {
	switch {
	case m == MidChunk:
		p.Start = max(p.Start, p.Durable)
		p.Warm, p.Lost = p.Start, min(p.Lost, p.Start)
	case m == NoWarmUp:
		p.Warm = p.Start
	case m == EpochKept && known != nil:
		p.Epoch = known.Epoch
	case m == GapUnwritten:
		p.Lost = p.Start
	case m == NewFromEnd && known == nil:
		p.Warm, p.Start, p.Durable, p.Lost = a.LogEnd, a.LogEnd, a.LogEnd, a.LogEnd
	}
}

// sees returns the part of the ledger by which a process decides about a partition.
func (m Mistake) sees(ledger map[int32]window.Known, partition int32) map[int32]window.Known {
	if m != PartAlone {
		return ledger
	}
	alone := map[int32]window.Known{}
	if k, ok := ledger[partition]; ok {
		alone[partition] = k
	}
	return alone
}

// spec changes the job that a process counts for.
func (m Mistake) spec(s *window.Spec) *window.Spec {
	if m != WhereLost {
		return s
	}
	lost := *s
	lost.Measures = slices.Clone(s.Measures)
	for i := range lost.Measures {
		lost.Measures[i].Where = nil
	}
	return &lost
}

// batch drops the records that the mistake takes for late.
func (m Mistake) batch(r *run, b *event.Batch) {
	if m != WallClock && m != Watermark {
		return
	}
	s := r.m.s
	log := r.topic.parts[b.Partition].records
	b.Records = slices.DeleteFunc(b.Records, func(rec event.Record) bool {
		at := log[rec.Offset].at
		if m == WallClock {
			return at < s.producer.now-s.spec.Lateness
		}
		r.cheat.latest = max(r.cheat.latest, at)
		return at < r.cheat.latest-s.spec.Lateness
	})
}

// hit sends a count under another slot, or as an increment.
func (m Mistake) hit(r *run, key []byte, h hit) hit {
	switch m {
	case SlotShared:
		h.slot = window.MakeSlot(h.slot.Epoch(), 0, h.slot.Chunk())
	case Increments, Tokens:
		k := string(binary.BigEndian.AppendUint64(slices.Clone(key), uint64(h.slot)))
		r.cheat.sent[k] = h.count
		h.count -= r.cheat.acked[k]
	}
	return h
}

// settle notes the acknowledged counts, from which increments are computed.
func (c *cheat) settle(ok bool) {
	if c == nil || c.sent == nil {
		return
	}
	if ok {
		for k, n := range c.sent {
			c.acked[k] = n
		}
	}
	clear(c.sent)
}

// token names an insert by the bounds of its offsets.
func (c *cheat) token(changes *window.Changes) uint64 {
	if c == nil {
		return 0
	}
	h := fnv.New64a()
	for _, l := range changes.Lines {
		fmt.Fprint(h, l.Epoch, l.Partition, l.First, l.Next, ";")
	}
	return h.Sum64()
}
