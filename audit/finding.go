package audit

import (
	"weir/event"
	"weir/window"
)

// A Kind is a way not to add up.
type Kind uint8

const (
	Unbalanced Kind = iota // a line spans Expected offsets, and its outcomes sum up to Found
	Outside                // a line spans Expected offsets, and not all are of its chunk
	Hole                   // the line begins at offset Found, those before it end at Expected
	Missing                // rows hold less than was counted
	Excess                 // rows hold more than was counted
	Unknown                // rows hold counts of a chunk without a line
	Lost                   // a rollup holds more (Expected) than what it is made from (Found)
	Behind                 // a rollup holds less (Found) than what it is made from (Expected)
	Beyond                 // the ledger ends at offset Expected, the log before, at Found
	Deleted                // the ledger ends at offset Expected, the log begins behind, at Found
	Vanished               // the ledger ends at offset Expected of a partition that the topic does not have
	Clipped                // rows hold less than was counted on both sides of a cut in the log, or may do so
	Twice                  // two epochs counted the same offsets of one topic: up to Found events
	Kinds                  // how many there are
)

// kinds are their names; weir_audit has the same ones.
var kinds = [Kinds]string{Unbalanced: "fates", Outside: "line", Hole: "hole", Missing: "rows missing", Excess: "rows in excess", Unknown: "no line", Lost: "window", Behind: "rollup",
	Beyond: "log end", Deleted: "log start", Vanished: "partition", Clipped: "cut", Twice: "twice"}

func (k Kind) String() string { return kinds[k] }

// Offsets are those of a partition in [First, Next).
type Offsets struct{ First, Next int64 }

// Empty reports whether it is none.
func (o Offsets) Empty() bool { return o.First >= o.Next }

// A Finding is one thing that does not add up. Lost and Behind speak of a window
// of a rollup and a group; Beyond, Deleted, Vanished and Twice of a partition; all
// others of a chunk of a partition.
type Finding struct {
	Kind       Kind
	Job, Topic string

	// Where, of all but Lost and Behind.
	Partition int32
	Epoch     uint8
	Chunk     int64

	// Offsets are those of the chunk; of Beyond those that ledger and log both
	// have; of Deleted those that the log lost before they were counted; of
	// Vanished those of the ledger; of Twice those that were counted twice.
	Offsets Offsets

	// Where, of Lost and Behind.
	Window  event.Time // start, ms
	Length  event.Time // of the rollup's windows, ms
	Group   string     // its columns, a space between them
	Measure string     // what differs; empty: the number of events

	// Of is the measure's kind: window.Kind.Text has Expected and Found as people
	// read them.
	Of window.Kind

	// The number that should be there and the number that is there: of events, or
	// of the measure, if the comment of the Kind names nothing else.
	Expected, Found uint64

	// Gaps, of Unbalanced and Excess, is how many offsets of the chunk had no
	// record when they were read.
	Gaps uint64

	// Both, of Clipped, are the offsets of both readings. If there are any,
	// Expected is an upper bound.
	Both Offsets
}

// Thinned reports whether a compacted topic explains the finding: an offset
// that was counted, and had no record any more when its chunk was read again,
// has two outcomes, and a row keeps the greater count of the two readings.
func (f Finding) Thinned() bool {
	return (f.Kind == Unbalanced || f.Kind == Excess) && f.Expected < f.Found && f.Found-f.Expected <= f.Gaps
}
