package window

import (
	"fmt"
	"slices"

	"weir/event"
	"weir/sketches/bloom"
)

// A Spec says what a job means: it has everything that a stored value depends
// on, and nothing else. Two processes with equal Specs store equal values.
//
// A field is written as event.Field.String writes it: a path such as "geo.country",
// or several paths and functions, such as "[userId][anonymousId] lower". The time and
// the coordinates of positions have no functions. A time may be a date and a time of day, "[date]T[time]".
type Spec struct {
	Job     string
	Version int // a higher one means new tables; at least 1

	Format event.Format
	// Schema is, of a format that needs one, the digest of the schema that all records
	// have; empty if each names its own.
	Schema string
	// Glue says that records name their schemas as AWS Glue's serializers do it.
	Glue bool
	// Keyed says that the keys of records name their schemas too, and have the format.
	Keyed bool
	// LostSchemas are the schemas that cannot be had any more: their numbers, or GUIDs as
	// text. Records that name one are malformed. They are in order.
	LostSchemas []string
	// Each is the path of the array that has the events of a record, or event.Whole; empty if a
	// record is one event.
	Each string
	// Columns are, of a format of cells, the names of the columns; nil: c1, c2 and so on.
	Columns []string

	TimeField string      // path of the event time; empty with the unit RecordTime
	TimeUnit  event.Unit  // its unit
	TimeZone  *event.Zone // of texts without an offset, in the unit ISO8601; nil: UTC
	// TimeOrRecord gives an event without the field the time of its record.
	TimeOrRecord bool

	Window   event.Time // size of the tumbling window, ms; whole seconds
	Lateness event.Time // event time older than the record's by more: Late
	Skew     event.Time // event time newer than the record's by more: Future

	Chunk     int64 // offsets per chunk, a power of two
	MaxGroups int   // distinct groups per chunk that keep their name

	// SaveAfter is how many offsets of a chunk are read before its ledger line has the state of the partition; 0: never. No
	// stored value depends on it.
	SaveAfter int64

	By       []Dimension
	Measures []Measure
	Where    []Condition // all must hold, else Filtered
	Dedupe   *Dedupe     // nil: no deduplication
	Throttle *Throttle   // nil: no limit

	// HashKey, if set, keys the hash of the ids that HLL and Set measures see, so that
	// the sender of events cannot craft ids that make a sketch count wrong. An HLL sketch
	// is then no longer the one that PFADD of the ids makes, and SQL cannot look for an
	// id in a set. Bloom measures use the plain hash, which SQL can compute too.
	HashKey *[16]byte
}

// A Dimension is one column of a group: the text of a field, or the geohash
// cell of two.
type Dimension struct {
	Name string `json:"name"`            // column name in the tables
	Path string `json:"field,omitempty"` // empty for a geohash cell

	Default    string `json:"default,omitempty"` // used when the field, or both of a cell, are missing or null and HasDefault
	HasDefault bool   `json:"has_default,omitempty"`

	Lon       string `json:"lon,omitempty"` // fields of a geohash cell
	Lat       string `json:"lat,omitempty"`
	Precision int    `json:"precision,omitempty"` // its length, 1–12; 0 for a plain column
}

// A Measure is one sketch per (window, group), under its own column.
type Measure struct {
	Name string `json:"-"`
	Kind *Kind  `json:"-"`
	Path string `json:"-"` // field of the id (the member, for Geo)

	// Optional lets an event without the field count in hits and in the
	// other measures; otherwise such an event is malformed. With Geo that is
	// an event without the member, or without longitude and latitude; one
	// that has only one of the two is malformed either way.
	Optional bool `json:"optional,omitempty"`

	// Default is the value of an event in which the field is missing or null, if
	// HasDefault: a number if it is one of JSON, else a text. Geo has none.
	Default    string `json:"default,omitempty"`
	HasDefault bool   `json:"has_default,omitempty"`

	Capacity int     `json:"capacity,omitempty"` // Bloom: items per window and group it is sized for
	Error    float64 `json:"error,omitempty"`    // Bloom: share of false positives at that many items; Quantile: relative error

	Lon string `json:"lon,omitempty"` // Geo: fields of the position
	Lat string `json:"lat,omitempty"`

	Scale int  `json:"scale,omitempty"` // Sum, Avg: digits after the point
	Round bool `json:"round,omitempty"` // Sum, Avg: further digits are rounded, and not refused

	// Bad is "skip" if an event whose value the measure cannot take counts in hits and in the other measures; empty if it
	// is malformed.
	Bad string `json:"bad,omitempty"`

	K int `json:"k,omitempty"` // TopK: how many keys are shown

	// Where has the conditions that an event must meet to count in the measure. One
	// that does not counts in hits and in the other measures, and need not have the
	// fields of this one.
	Where []Condition `json:"where,omitempty"`
}

// Dedupe counts an event only if its id did not occur before in the same chunk
// or in the chunk before it.
type Dedupe struct {
	Path  string  `json:"field"`
	Error float64 `json:"error,omitempty"` // share of good events that may be taken for repeats; 0 if Exact

	// Exact keeps 128 bits of each id, which no other id is known to have, instead of
	// Bloom filters: no good event is taken for a repeat.
	Exact bool `json:"exact,omitempty"`
}

// Other is the group of the events of a chunk whose own group came after
// MaxGroups others. It is the value of every column of that group.
const Other = "__other__"

const (
	// MaxValue bounds the text of one dimension, because a group is part of a row
	// key. A longer text makes the record malformed.
	MaxValue = 1 << 10
	// maxPayload bounds how much of its record a dead letter keeps.
	maxPayload = 16 << 10
)

// Validate guards against a Spec made by hand with which an operator would divide by zero or lose events.
// The rules for users are those of package config, which names file and line.
func (s *Spec) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("window: job %s: "+format, append([]any{s.Job}, args...)...)
	}
	switch {
	case s.Job == "" || s.Version < 1 || s.MaxGroups < 1:
		return bad("version %d, max_groups %d, want a name and at least 1", s.Version, s.MaxGroups)
	case s.Window < 1000 || s.Window%1000 != 0:
		return bad("window %d ms, want whole seconds", s.Window)
	case s.Chunk < 1 || s.Chunk > 1<<30 || s.Chunk&(s.Chunk-1) != 0:
		return bad("chunk %d, want a power of two up to 2^30", s.Chunk)
	case s.Each != "" && s.Chunk > MaxEachChunk:
		return bad("chunk %d with arrays of events, want at most %d", s.Chunk, MaxEachChunk)
	case (s.TimeField == "") != (s.TimeUnit == event.RecordTime):
		return bad("time field %q of the unit %v", s.TimeField, s.TimeUnit)
	case !slices.IsSorted(s.LostSchemas):
		return bad("lost schemas %q, want them in order", s.LostSchemas)
	case slices.ContainsFunc(s.Measures, func(m Measure) bool { return m.Kind == nil || m.Path == "" }):
		return bad("a measure without a kind or a field")
	}
	var err error
	if s.Throttle != nil {
		_, _, err = s.Throttle.limiter()
	}
	if d := s.Dedupe; err == nil && d != nil && !d.Exact {
		_, err = bloom.Bits(int(s.Chunk), d.Error/2)
	}
	if err != nil {
		return bad("%w", err)
	}
	return nil
}

// LooksBack reports whether the outcomes of a chunk depend on the chunk before it.
func (s *Spec) LooksBack() bool { return s.Dedupe != nil || s.Throttle != nil }

// A Slot names one chunk of one partition's log in one epoch of the topic: the
// key of a G-counter. Bits: epoch 8, partition 16, chunk 40.
type Slot uint64

// MakeSlot packs a slot. The bounds are checked where the numbers come from:
// partitions by Resume; with the smallest chunk that a configuration may have,
// 1,024, 2^40 chunks are 2^50 offsets.
func MakeSlot(epoch uint8, partition int32, chunk int64) Slot {
	return Slot(epoch)<<56 | Slot(uint16(partition))<<40 | Slot(chunk&(1<<40-1))
}

// Epoch returns the slot's epoch of the topic.
func (s Slot) Epoch() uint8 { return uint8(s >> 56) }

// Partition returns the slot's partition.
func (s Slot) Partition() int32 { return int32(uint16(s >> 40)) }

// Chunk returns the index of the slot's chunk.
func (s Slot) Chunk() int64 { return int64(s & (1<<40 - 1)) }

// An Outcome says what the operator did with one offset. Every offset has
// exactly one.
type Outcome uint8

const (
	Counted   Outcome = iota
	Late              // event time too far behind the record's; dead letter
	Future            // event time too far ahead of the record's; dead letter
	Malformed         // not the event the job asks for; dead letter
	Duplicate         // its id was seen in this chunk or the one before
	Filtered          // a where condition did not hold
	Throttled         // beyond the limit of its key
	Gap               // no record: control, aborted, compacted, expired
	Outcomes          // how many there are
)

var outcomes = [...]string{Counted: "counted", Late: "late", Future: "future", Malformed: "malformed", Duplicate: "duplicate", Filtered: "filtered", Throttled: "throttled", Gap: "gap"}

func (f Outcome) String() string { return outcomes[f] }

// dead reports whether what has the outcome becomes a dead letter.
func (f Outcome) dead() bool { return f == Late || f == Future || f == Malformed }
