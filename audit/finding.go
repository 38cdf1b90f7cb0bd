package audit

import (
	"weir/event"
	"weir/window"
)

// A Class says what does not add up.
type Class uint8

const (
	Unbalanced Class = iota // a line spans Expected offsets, and its outcomes sum up to Found
	Outside                 // a line spans Expected offsets, and not all are of its chunk
	Uneven                  // the events of a line do not add up to Expected, or Found of them being counted does not go with its outcomes
	Hole                    // the line begins at offset Found, those before it end at Expected
	Missing                 // rows hold less than was counted
	Excess                  // rows hold more than was counted
	Unknown                 // rows hold counts of a chunk without a line
	Lost                    // a rollup holds more (Expected) than what it is made from (Found)
	Behind                  // a rollup holds less (Found) than what it is made from (Expected)
	Beyond                  // the ledger ends at offset Expected, after the end of the log, at Found
	Deleted                 // the ledger ends at offset Expected, before the start of the log, at Found
	Beginning               // the log begins at offset Expected, and the ledger at Found, after it
	Vanished                // the ledger ends at offset Expected of a partition that the topic does not have
	Recreated               // the ledger ends at offset Expected of another topic of the same name; the log ends at Found
	Ahead                   // Found chunks and Expected windows do not add up, and the sink's clock is up to By behind the times of their rows
	Clipped                 // rows hold less than was counted, or may do so, because the log was cut inside the chunk
	Twice                   // two epochs counted the same offsets of one topic: up to Found events
	Short                   // Expected events were counted, and the views show Found in all, though nothing else is found
	Classes                 // how many there are
)

// classes has the name of each Class; weir_audit has the same names.
var classes = [Classes]string{Unbalanced: "outcomes", Outside: "line", Uneven: "events", Hole: "hole", Missing: "rows missing", Excess: "rows in excess", Unknown: "no line", Lost: "window", Behind: "rollup",
	Beyond: "log end", Deleted: "log start", Beginning: "beginning", Vanished: "partition", Recreated: "topic", Ahead: "ahead", Clipped: "cut", Twice: "twice", Short: "short"}

func (k Class) String() string { return classes[k] }

// Offsets are the offsets [First, Next) of a partition.
type Offsets struct{ First, Next int64 }

// Empty reports whether there is no offset.
func (o Offsets) Empty() bool { return o.First >= o.Next }

// A Finding is one thing that does not add up. Lost and Behind are about a window and
// group of a rollup; Beyond, Deleted, Beginning, Vanished, Recreated and Twice about a partition; Ahead and Short about the whole
// job; all others about a chunk of a partition.
type Finding struct {
	Class      Class
	Job, Topic string

	// The place, except for Lost, Behind, Ahead and Short.
	Partition int32
	Epoch     uint8
	Chunk     int64

	// Offsets are the offsets of the chunk. Beyond has the offsets that ledger and log both
	// have, Deleted the offsets that the log lost before they were counted, Beginning the
	// offsets below the ledger's, Vanished and Recreated the ledger's own. Twice has the
	// offsets that were counted twice.
	Offsets Offsets

	// The place, for Lost and Behind.
	Window  event.Time // start, ms
	Length  event.Time // of the rollup's windows, ms
	Group   string     // the texts of its columns, separated by spaces
	Measure string     // what differs; empty: the number of events

	// Of is the measure. Its Text formats Expected and Found for people.
	Of *window.Measure

	// The number that should be there and the number that is there. They count
	// events, or are numbers of the measure, unless the comment of the Class says
	// otherwise.
	Expected, Found uint64

	// Gaps, for Unbalanced and Excess, says how many offsets of the chunk had no
	// record when they were read.
	Gaps uint64

	// Several, for Excess, says that a record may have several events.
	Several bool

	// Opened, for Excess, says that the lines of the chunk cover no offset, and that the
	// ledger goes on behind it: the line that counted the chunk is gone. Offsets then begin
	// where the partition was opened.
	Opened bool

	// By, for Ahead, is in ms.
	By event.Time

	// Both, for Clipped, has the offsets that were read before and after the cut. If
	// there are any, Expected is an upper bound.
	Both Offsets
}

// Thinned reports whether the compaction of the topic can explain the finding. If an
// offset was counted, and has no record any more when its chunk is read again, it has
// two outcomes, and each row keeps the greater count of the two readings.
func (f Finding) Thinned() bool {
	if f.Class == Uneven {
		return f.Gaps > 0
	}
	if f.Class != Unbalanced && f.Class != Excess || f.Expected >= f.Found {
		return false
	}
	return f.Found-f.Expected <= f.Gaps || f.Several && f.Gaps > 0
}

// of begins a finding about the job.
func (a *Audit) of(k Class) Finding { return Finding{Class: k, Job: a.job.Name, Topic: a.job.Topic} }

// ofChunk begins a finding about a chunk.
func (a *Audit) ofChunk(k Class, s window.Slot) Finding {
	f := a.of(k)
	f.Epoch, f.Partition, f.Chunk = s.Epoch(), s.Partition(), s.Chunk()
	chunks := int64(1)
	if fold := a.foldOf(s); fold.from == s && fold.until > s {
		chunks = int64(fold.until - s)
	}
	f.Offsets = Offsets{f.Chunk * a.job.Chunk, (f.Chunk + chunks) * a.job.Chunk}
	return f
}
