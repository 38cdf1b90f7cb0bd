package window

import (
	"errors"
	"fmt"
	"slices"

	"weir/event"
)

// A Spec says what a job means: it has everything that a stored value depends
// on, and nothing else. Two processes with equal Specs store equal values.
//
// A field is written as event.Field.String writes it: a path such as "geo.country",
// or several paths and functions, such as "[userId][anonymousId] lower". The time and
// the coordinates of positions have no functions.
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

	TimeField string     // path of the event time; empty with the unit RecordTime
	TimeUnit  event.Unit // its unit

	Window   event.Time // size of the tumbling window, ms; whole seconds
	Lateness event.Time // event time older than the record's by more: Late
	Skew     event.Time // event time newer than the record's by more: Future

	Chunk     int64 // offsets per chunk, a power of two
	MaxGroups int   // distinct groups per chunk that keep their name

	By       []Column
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

// A Column is one dimension of a group: the text of a field, or the geohash
// cell of two.
type Column struct {
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
	Kind Kind   `json:"-"`
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

	Scale int `json:"scale,omitempty"` // Sum, Avg: digits after the point

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
	// maxValue bounds the text of one dimension, because a group is part of a row
	// key. A longer text makes the record malformed.
	maxValue = 1 << 10
	// maxPayload bounds how much of its record a dead letter keeps.
	maxPayload = 16 << 10
)

// Validate reports every value that this package cannot work with. Users see
// the errors of internal/config first, which name file and line.
func (s *Spec) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("window: job %s: "+format, append([]any{s.Job}, args...)...))
		}
	}
	bad(s.Job != "", "no name")
	bad(s.Version >= 1, "version %d, want at least 1", s.Version)
	bad((s.TimeField == "") == (s.TimeUnit == event.RecordTime), "time field %q of the unit %v", s.TimeField, s.TimeUnit)
	bad(s.Schema == "" || s.Format.HasSchema(), "a schema, which %s does not need", s.Format)
	bad(!s.Glue || s.Format == event.Avro && s.Schema == "" || s.Format == event.JSONSchema, "records of %v with a frame of AWS Glue", s.Format)
	bad(!s.Keyed || s.Framed() && !s.Glue, "keys with schemas where values name none, or one of AWS Glue")
	bad(s.LostSchemas == nil || s.Framed() && slices.IsSorted(s.LostSchemas), "lost schemas %q of records that name none, or out of order", s.LostSchemas)
	bad(s.Columns == nil || s.Format.HasColumns(), "columns, which %s does not have", s.Format)
	if s.Each != "" {
		bad(s.Format.HasEach(), "arrays of events in records of %v", s.Format)
		bad(event.CheckEach(s.Format, s.Each) == nil, "no array of events can be at %q", s.Each)
		bad(s.Chunk <= MaxEachChunk, "chunk %d with arrays of events, want at most %d", s.Chunk, MaxEachChunk)
		bad(s.Dedupe == nil || s.Dedupe.Exact, "dedupe of arrays of events that is not exact")
	}
	bad(s.Window >= 1000 && s.Window%1000 == 0, "window %d ms, want whole seconds", s.Window)
	bad(s.Lateness >= 0 && s.Skew >= 0, "negative lateness or skew")
	bad(s.Chunk >= 1 && s.Chunk <= 1<<30 && s.Chunk&(s.Chunk-1) == 0, "chunk %d, want a power of two up to 2^30", s.Chunk)
	bad(s.MaxGroups >= 1, "max_groups %d, want at least 1", s.MaxGroups)
	names := map[string]bool{}
	name := func(n string) {
		bad(n != "" && !names[n], "column %q twice or empty", n)
		names[n] = true
	}
	for _, c := range s.By {
		name(c.Name)
		if c.Path == "" {
			bad(c.Lon != "" && c.Lat != "", "column %s: no field", c.Name)
			bad(c.Precision >= 1 && c.Precision <= 12, "column %s: precision %d, want 1 to 12", c.Name, c.Precision)
		}
	}
	for _, m := range s.Measures {
		name(m.Name)
		bad(m.Path != "", "measure %s: no field", m.Name)
		if m.Kind == nil {
			bad(false, "measure %s: no kind", m.Name)
			continue
		}
		m.Kind.check(&m, bad)
		if m.HasDefault {
			bad(!m.Optional, "measure %s: optional, and with a default", m.Name)
			wrong := m.CheckDefault()
			bad(wrong == "", "measure %s: the default %s", m.Name, wrong)
		}
		for i := range m.Where {
			m.Where[i].check(bad)
		}
	}
	for i := range s.Where {
		s.Where[i].check(bad)
	}
	if s.Dedupe != nil {
		bad(s.Dedupe.Path != "", "dedupe: no field")
		bad(s.Dedupe.Exact || s.Dedupe.Error > 0 && s.Dedupe.Error < 1, "dedupe: error %v, want between 0 and 1", s.Dedupe.Error)
		bad(!s.Dedupe.Exact || s.Dedupe.Error == 0, "dedupe: error %v, and exact", s.Dedupe.Error)
	}
	if s.Throttle != nil {
		s.Throttle.check(bad)
	}
	return errors.Join(errs...)
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
