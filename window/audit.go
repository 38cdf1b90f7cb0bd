package window

import (
	"fmt"

	"weir/event"
)

// An Audit holds a job's ledger against its rows: every offset has exactly one
// fate, and the rows hold what the ledger says was counted, no less and no
// more. It is given what a sink holds, in any portions, and yields what does
// not add up.
//
//	a := NewAudit(spec)
//	for … { a.Hits(slot, n, settled) }  // sums over rows, as they come
//	for … { a.Line(line, comparable) }  // by epoch, partition, chunk, first
//	for f := range a.Findings { … }
type Audit struct {
	chunk  int64
	tally  map[Slot]*tally
	order  []Slot // of the lines, then of slots without one
	found  []Finding
	at     int // the entry of reached that lines belong to
	topics []counted
	result Audited
}

// counted is what an entry of reached counted, and from which topic.
type counted struct {
	topicID [16]byte
	events  uint64
}

// tally is what is known of one chunk.
type tally struct {
	least, most uint64 // what its lines allow for
	hits        uint64 // what its rows hold
	gaps        uint64 // of its lines
	lines       bool
	skip        bool

	// Of the lines that counted anything:
	first, reach, cut int64  // where the first one begins, the furthest before the last one ends, the last one begins
	end               int64  // where the furthest ends
	union             uint64 // at most so many different events were counted
}

// A Scope is the windows that an audit holds against their rollups: those that
// begin in [From, Until); a zero bound is none. Of windows that end at Measures or
// before, hits are compared and nothing else.
type Scope struct{ From, Until, Measures event.Time }

// Has reports whether a window that begins at start is in it.
func (s Scope) Has(start event.Time) bool {
	return start >= s.From && (s.Until == 0 || start < s.Until)
}

// Audited is what an audit looked at, and what it needs others to compare.
type Audited struct {
	Lines, Chunks, Windows int

	// Notes are what the numbers are off by, or may be, without damage to the
	// tables: nothing that is done to these mends it. Each is Clipped or Twice.
	Notes []Finding

	// Reached is how far the ledger goes, for the comparison with the log:
	// one entry for each partition and epoch.
	Reached []Reached
}

// Reached is the span of offsets whose fates the ledger knows.
type Reached struct {
	Partition   int32
	Epoch       uint8
	First, Next int64
}

// A Misfit is a way not to add up.
type Misfit uint8

const (
	Unbalanced Misfit = iota // a line's fates are not its offsets
	Hole                     // offsets between two lines have no fate
	Missing                  // rows hold less than was counted
	Excess                   // rows hold more than was counted
	Unknown                  // rows hold counts of a chunk without a line
	Lost                     // a rollup holds more than what it is made from
	Behind                   // a rollup holds less than what it is made from
	Clipped                  // rows hold less than was counted on both sides of a cut in the log, or may do so
	Twice                    // two epochs counted the same offsets of one topic
)

var misfits = [...]string{Unbalanced: "fates", Hole: "hole", Missing: "rows missing", Excess: "rows in excess", Unknown: "no line", Lost: "window", Behind: "rollup", Clipped: "cut", Twice: "twice"}

func (m Misfit) String() string { return misfits[m] }

// A Finding is one thing that does not add up. Lost and Behind speak of a window
// of a rollup and a group, all others of a chunk of a partition.
type Finding struct {
	Misfit    Misfit
	Epoch     uint8
	Partition int32
	Chunk     int64      // none of Twice
	Window    event.Time // start, ms
	Length    event.Time // of the rollup's windows, ms
	Group     string     // its columns, a space between them
	Measure   string     // of Lost and Behind: what differs; empty: the number of events
	Expected  uint64
	Found     uint64
	Gaps      uint64 // of Unbalanced and Excess: offsets of the chunk that had no record when they were read

	// The offsets of both readings that Clipped and Twice speak of are [Cut,
	// Reach). Clipped may have none: Cut >= Reach. If it has any, Expected is an
	// upper bound.
	Cut, Reach int64
}

// String says what is off.
func (f Finding) String() string {
	where := fmt.Sprintf("partition %d, chunk %d", f.Partition, f.Chunk)
	if f.Misfit == Twice {
		where = fmt.Sprintf("partition %d", f.Partition)
	}
	if f.Epoch > 0 {
		where += fmt.Sprintf(" (epoch %d)", f.Epoch)
	}
	switch f.Misfit {
	case Unbalanced:
		if f.Expected == f.Found {
			return where + ": the ledger line reaches beyond its chunk"
		}
		return fmt.Sprintf("%s: the ledger line spans %d offsets, but its fates sum up to %d", where, f.Expected, f.Found)
	case Hole:
		return fmt.Sprintf("%s: the ledger goes on at offset %d, but what is before it ends at %d", where, f.Found, f.Expected)
	case Missing:
		return fmt.Sprintf("%s: %d events were counted, the rows hold %d", where, f.Expected, f.Found)
	case Excess:
		return fmt.Sprintf("%s: at most %d events were counted, the rows hold %d", where, f.Expected, f.Found)
	case Unknown:
		return fmt.Sprintf("%s: the rows hold %d events, the ledger knows nothing of the chunk", where, f.Found)
	case Clipped:
		if f.Cut < f.Reach {
			return fmt.Sprintf("%s: at most %d events were counted, the rows hold %d, so up to %d are missing: offsets up to %d were counted, those below %d were deleted from the log before the chunk ended, and the rest was read again from there; "+
				"rows with events from below %[6]d and from %[5]d on keep the greater count of the two readings", where, f.Expected, f.Found, f.Expected-f.Found, f.Reach, f.Cut)
		}
		return fmt.Sprintf("%s: %d events were counted, the rows hold %d: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count", where, f.Expected, f.Found)
	case Twice:
		return fmt.Sprintf("%s: offsets %d to %d of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to %d events are counted twice", where, f.Cut, f.Reach, f.Found)
	case Behind:
		if f.Measure != "" {
			return fmt.Sprintf("window at %d ms, group %q: the rows make measure %s %d, its %s rollup %d", f.Window, f.Group, f.Measure, f.Expected, f.length(), f.Found)
		}
		return fmt.Sprintf("window at %d ms, group %q: the rows hold %d events, its %s rollup counts %d", f.Window, f.Group, f.Expected, f.length(), f.Found)
	default:
		if f.Measure != "" {
			return fmt.Sprintf("window at %d ms, group %q: its %s rollup makes measure %s %d, the rows %d", f.Window, f.Group, f.length(), f.Measure, f.Expected, f.Found)
		}
		return fmt.Sprintf("window at %d ms, group %q: its %s rollup counts %d events, the rows hold %d", f.Window, f.Group, f.length(), f.Expected, f.Found)
	}
}

func (f Finding) length() string { return span([]string{fmt.Sprint(int64(f.Length))}) }

// Thinned reports whether a compacted topic explains the finding: an offset
// that was counted, and had no record any more when its chunk was read again,
// has two fates, and of rows the greater count of either reading stays.
func (f Finding) Thinned() bool {
	return (f.Misfit == Unbalanced || f.Misfit == Excess) && f.Expected < f.Found && f.Found-f.Expected <= f.Gaps
}

// Compaction is the advice where it does.
const Compaction = "records were compacted away (cleanup.policy) between two readings of the chunk. Each row keeps the greater count of the two, and reading again finds no more: nothing is to be restored or set back. " +
	"Set cleanup.policy=delete for a topic that is counted; raise the job's version to count once what the log still holds"

// Advice says what to do about it. What is still in the log is counted again
// to the same numbers whenever it is read again, so the remedy for damage is
// to read it again.
func (f Finding) Advice() string {
	if f.Thinned() {
		f.Gaps = 0
		return "if the topic is compacted: " + Compaction + ". If it is not: " + f.Advice()
	}
	switch f.Misfit {
	case Unbalanced:
		return "the line was changed by hand: restore weir_ledger, or set the group's offset of the partition back before the chunk and restart weir, if Kafka still has it"
	case Hole:
		return "a ledger line is gone: set the group's offset of the partition back to where the ledger ends and restart weir, if Kafka still has it; otherwise the line can only be restored from a backup"
	case Clipped:
		return "this chunk cannot be counted any better. Let the topic keep records (retention.ms) for longer than lateness + skew and than a chunk takes to fill, and delete none by hand above the last chunk that is counted to its end"
	case Twice:
		return "what is counted twice stays so in these tables. To count each record that is still in the log once, raise the job's version: it begins new tables, and those of this version stay"
	case Lost:
		if f.Measure != "" {
			return "on a replica that lags, ask again when it has caught up. Otherwise states were changed by hand, those that the rollup is made from or its own. If those below are too small, set the group's offset of the partitions back to before the window and restart weir, if Kafka still has it; what the rollup holds is kept. If the rollup's are too large, delete its rows of the window and run `weir repair`"
		}
		return "on a replica that lags, ask again when it has caught up. Otherwise, if chunks have rows missing as well, see there; what the rollup holds is kept. If none has, rows of the rollup were changed by hand, or those of the shorter rollup it is made from are gone: then run `weir repair`; rows that were raised by hand have to be deleted first"
	case Behind:
		return "rows of the rollup are gone, were never made, or hold less than they did: run `weir repair`, which makes them again from the rows below; a weir that runs does so by itself with its next audit. If weir was killed and not started since, start it"
	case Missing:
		return "on a replica that lags, ask again when it has caught up. Otherwise state rows are gone: set the group's offset of the partition back to the beginning of the chunk and restart weir, if Kafka still has it; what the rollups hold is kept"
	case Excess:
		return "if weir was killed and not started since, start it: it finishes the interrupted flush. Otherwise state rows were changed by hand: restore them from a backup"
	default:
		return "if weir was killed and not started since, start it: it finishes the interrupted flush; on a replica that lags, ask again when it has caught up. Otherwise a ledger line is gone: set the group's offset back to the beginning of the chunk and restart weir"
	}
}

// NewAudit begins an audit of a job.
func NewAudit(s *Spec) *Audit {
	return &Audit{chunk: s.Chunk, tally: map[Slot]*tally{}, at: -1}
}

func (a *Audit) of(slot Slot) *tally {
	t := a.tally[slot]
	if t == nil {
		t = new(tally)
		a.tally[slot] = t
		a.order = append(a.order, slot)
	}
	return t
}

// Hits adds what some rows hold under a slot. The portions of one slot must be
// of different rows. A slot that is not settled, because rows of it may have
// been written while the sink was read, is not judged.
func (a *Audit) Hits(slot Slot, n uint64, settled bool) {
	t := a.of(slot)
	t.hits += n
	t.skip = t.skip || !settled
}

// Line adds a ledger line. Lines have to come by epoch, partition, chunk and
// first offset. A line is not comparable with rows if some of its rows may
// have expired, or if it was written while the sink was read.
func (a *Audit) Line(l *Line, comparable bool) {
	a.result.Lines++
	sum := uint64(0)
	for _, n := range l.Fates {
		sum += n
	}
	begin := l.Chunk * a.chunk
	if span := uint64(l.Next - l.First); sum != span || l.Next < l.First || l.First < begin || l.Next > begin+a.chunk {
		a.report(Unbalanced, l, span, sum)
	}
	if a.at < 0 || a.result.Reached[a.at].Partition != l.Partition || a.result.Reached[a.at].Epoch != l.Epoch {
		a.result.Reached = append(a.result.Reached, Reached{l.Partition, l.Epoch, l.First, l.Next})
		a.topics = append(a.topics, counted{topicID: l.TopicID})
		a.at = len(a.result.Reached) - 1
	}
	a.topics[a.at].events += l.Fates[Counted]
	r := &a.result.Reached[a.at]
	if r.First == r.Next {
		// So far only the empty line that opened the partition. Retention may
		// have passed before it was durable, and somebody begun later.
		r.First = l.First
	} else if l.First > r.Next {
		a.report(Hole, l, uint64(r.Next), uint64(l.First))
	}
	r.Next = max(r.Next, l.Next)

	// Several lines of one chunk began at different offsets, because retention
	// had taken the chunk's beginning when it was read again. Their counts are
	// under one slot and joined by maximum, row by row: at least the greatest
	// line, at most the sum.
	t := a.of(l.Slot())
	t.lines = true
	t.gaps += l.Fates[Gap]
	t.least = max(t.least, l.Fates[Counted])
	t.most += l.Fates[Counted]
	if l.Fates[Counted] > 0 {
		t.join(l)
	}
	t.skip = t.skip || !comparable
}

// join takes in a line that counted something. What two readings share has the
// same fates in both. So the later one adds to the events counted at most its
// own, and at most its offsets behind the earlier one's end; or else all are
// in the later one but those of offsets that it does not have.
func (t *tally) join(l *Line) {
	c := l.Fates[Counted]
	if t.union == 0 {
		t.first, t.cut, t.end, t.union = l.First, l.First, l.Next, c
		return
	}
	behind, before := uint64(max(0, l.Next-t.end)), uint64(l.First-t.first+max(0, t.end-l.Next))
	t.union = min(t.union+min(c, behind), c+before)
	t.reach, t.cut = t.end, l.First
	t.end = max(t.end, l.Next)
}

func (a *Audit) report(m Misfit, l *Line, expected, found uint64) {
	a.found = append(a.found, Finding{Misfit: m, Epoch: l.Epoch, Partition: l.Partition, Chunk: l.Chunk, Expected: expected, Found: found, Gaps: l.Fates[Gap]})
}

// Compared is a window and group of a rollup that is held against the rows it
// is made from: state rows, or those of the rollup before.
type Compared struct {
	Length event.Time // of the rollup's windows, ms
	Start  event.Time // ms
	Group  string     // its columns, a space between them
	Whole  bool       // none of the rows may have expired
	Due    bool       // the rollup ought to hold them all
}

// Window compares the events that the rollup holds with those of the rows. It
// reports whether they add up.
func (a *Audit) Window(w Compared, rolled, rows uint64) bool {
	a.result.Windows++
	return a.compare(w, "", rolled, rolled, rows)
}

// Measure compares what the rollup makes of a measure with what the rows make:
// the least and the most that it says, in its number or in its state.
func (a *Audit) Measure(w Compared, name string, least, most, rows uint64) {
	a.compare(w, name, least, most, rows)
}

func (a *Audit) compare(w Compared, measure string, least, most, rows uint64) (ok bool) {
	f := Finding{Length: w.Length, Window: w.Start, Group: w.Group, Measure: measure}
	switch {
	case least < rows && w.Due:
		f.Misfit, f.Expected, f.Found = Behind, rows, least
	case rows < most && w.Whole:
		f.Misfit, f.Expected, f.Found = Lost, most, rows
	default:
		return true
	}
	a.found = append(a.found, f)
	return false
}

// Findings yields what does not add up: what lines and windows showed by
// themselves, then the chunks in the order they came.
func (a *Audit) Findings(yield func(Finding) bool) {
	for _, f := range a.found {
		if !yield(f) {
			return
		}
	}
	for _, slot := range a.order {
		t := a.tally[slot]
		f := Finding{Epoch: slot.Epoch(), Partition: slot.Partition(), Chunk: slot.Chunk(), Found: t.hits}
		switch {
		case t.skip:
			continue
		case !t.lines:
			f.Misfit = Unknown
		case t.hits < t.least:
			f.Misfit, f.Expected = Missing, t.least
		case t.hits > t.most:
			f.Misfit, f.Expected, f.Gaps = Excess, t.most, t.gaps
		default:
			continue
		}
		if !yield(f) {
			return
		}
	}
}

// Result is what was looked at.
func (a *Audit) Result() Audited {
	r := a.result
	r.Chunks = len(a.tally)
	for _, slot := range a.order {
		if t := a.tally[slot]; !t.skip && t.least <= t.hits && t.hits < t.union {
			r.Notes = append(r.Notes, Finding{Misfit: Clipped, Epoch: slot.Epoch(), Partition: slot.Partition(), Chunk: slot.Chunk(), Expected: t.union, Found: t.hits, Cut: t.cut, Reach: t.reach})
		}
	}
	epochs := map[int32][]int{} // entries of a partition
	for i, later := range r.Reached {
		for _, n := range epochs[later.Partition] {
			earlier := r.Reached[n]
			cut, reach := max(earlier.First, later.First), min(earlier.Next, later.Next)
			if a.topics[i].topicID == a.topics[n].topicID && a.topics[i].topicID != [16]byte{} && cut < reach {
				events := min(uint64(reach-cut), a.topics[i].events, a.topics[n].events)
				r.Notes = append(r.Notes, Finding{Misfit: Twice, Epoch: later.Epoch, Partition: later.Partition, Found: events, Cut: cut, Reach: reach})
			}
		}
		epochs[later.Partition] = append(epochs[later.Partition], i)
	}
	return r
}
