package window

import (
	"math"
	"slices"

	"weir/event"
	"weir/internal/cacheline"
	"weir/sketches/geo"
)

// A Decoder turns a record into what the partition and the sketches need of it.
// It belongs to one Operator; the next record overwrites its results. An Intake reads the event from it.
type Decoder struct {
	_       cacheline.Pad
	spec    *Spec
	reader  *event.Reader
	selects bool // a record must be selected before it is read
	vals    []event.Value

	// The values that the scanner finds are the first of vals, those of the derived fields
	// follow, then, by measure, the defaults.
	scanned int
	derived []derived
	text    []byte // texts that functions have made

	// The index in vals of each field of the spec.
	timeAt   int // -1: the time is the record's
	by       []columnAt
	where    []condition
	dedupeAt int
	keyAt    int      // of Throttle
	names    []string // of the fields, for messages
	defaults [][]byte // by column

	blocks []block // by measure

	// The record's partition and epoch.
	partition int32
	epoch     uint8

	wholes []wholeValue // by value, those that a measure has asked for

	// The decoded event.
	number  uint64 // of the events that were decoded
	offset  int64
	time    event.Time
	record  event.Time // its record's own time; the event's if the record has none
	window  event.Time
	group   []byte // a view into the record or into scratch
	id      id     // for deduplication
	key     id     // of Throttle
	scratch []byte
	_       cacheline.Pad
}

// columnAt has the indexes in vals of a column's fields; -1: not used.
type columnAt struct{ path, lon, lat int }

func newDecoder(s *Spec) (*Decoder, error) {
	d := &Decoder{spec: s, dedupeAt: -1, keyAt: -1, blocks: cacheline.Slice[block](len(s.Measures))}
	fields, err := readFields(s)
	if err != nil {
		return nil, err
	}
	d.scanned, d.derived, d.names = len(fields.paths), fields.derived, fields.names
	d.vals = cacheline.Slice[event.Value](len(fields.names) + len(s.Measures))
	d.wholes = cacheline.Slice[wholeValue](len(d.vals))
	field := fields.index
	d.timeAt = field(s.TimeField)
	for _, c := range s.By {
		d.by = append(d.by, columnAt{field(c.Path), field(c.Lon), field(c.Lat)})
		d.defaults = append(d.defaults, []byte(c.Default))
	}
	for i := range s.Measures {
		m, b := &s.Measures[i], &d.blocks[i]
		b.at, b.optional, b.additive = field(m.Path), m.Optional, m.Kind.Additive
		if b.instead = -1; m.HasDefault {
			b.instead = len(fields.names) + i
			d.vals[b.instead] = m.defaultValue()
		}
		var also []int
		for _, path := range m.paths() {
			also = append(also, field(path))
		}
		b.Intake = m.Kind.Intake(s, m, also)
		if b.where, err = compile(m.Where, field); err != nil {
			return nil, err
		}
	}
	if d.where, err = compile(s.Where, field); err != nil {
		return nil, err
	}
	if s.Dedupe != nil {
		d.dedupeAt = field(s.Dedupe.Path)
	}
	if s.Throttle != nil {
		d.keyAt = field(s.Throttle.Path)
	}
	if d.reader, err = event.NewReader(s.form(), fields.paths); err != nil {
		return nil, err
	}
	if d.timeAt >= 0 && d.timeAt < d.scanned && fields.uses[d.timeAt] == 1 {
		d.reader.TimeOnly(d.timeAt)
	}
	d.selects = d.reader.Selects()
	return d, nil
}

// selectSchema finds the schema of a record. It returns an *event.UnknownSchema if the reader
// does not have it.
func (d *Decoder) selectSchema(b *event.Batch, rec *event.Record) error {
	need, ok := d.reader.Select(rec)
	for !ok && d.lost(need) { // that of the value, then that of the key
		need, ok = d.reader.Select(rec)
	}
	if !ok {
		return &event.UnknownSchema{ID: need, Partition: b.Partition, Offset: rec.Offset}
	}
	return nil
}

// lost tells the reader that records of a schema are malformed, if the job says that
// no registry has it.
func (d *Decoder) lost(need event.SchemaID) bool {
	name := need.Name()
	if _, found := slices.BinarySearch(d.spec.LostSchemas, name.Key()); !found {
		return false
	}
	d.reader.Learn(need, &event.Schema{Wrong: name.String() + " is lost, as the job's lost_schemas says"})
	return true
}

// maxTime is the end of ClickHouse's DateTime.
const maxTime = event.Time(1<<32-1) * 1000

// aRecordsTime is 1971. A record from before has no time of its own: it is −1, or in a unit of which Kafka does
// not know. Then the time of the event alone decides, unless that is of 1970 too.
const aRecordsTime = event.Time(365 * 24 * 3600 * 1000)

// decode decides everything about a record that does not depend on other
// records. The order of the checks is part of a job's meaning. If it returns
// Counted, the decoder's fields describe the event.
func (d *Decoder) decode(rec *event.Record) (Outcome, string) {
	if len(rec.Value) == 0 && (rec.Value == nil || !d.selects) { // a message of nothing but defaults is empty
		return Malformed, emptyValue
	}
	if err := d.reader.Read(rec, d.vals[:d.scanned]); err != nil {
		return Malformed, err.Error()
	}
	return d.decodeValues(rec)
}

// emptyValue is the reason for a record without a value.
const emptyValue = "empty value"

// decodeValues is decode from where the values of an event of the record have been read.
func (d *Decoder) decodeValues(rec *event.Record) (Outcome, string) {
	s := d.spec
	if d.derived != nil {
		d.derive()
	}
	if !allHold(d.where, d.vals) {
		return Filtered, ""
	}
	t, ok := rec.Time, true
	if d.timeAt >= 0 {
		t, ok = d.vals[d.timeAt].Time(s.TimeUnit)
	}
	if !ok || t < 0 || t > maxTime {
		return Malformed, d.wrongTime()
	}
	d.offset = rec.Offset
	if d.time, d.record = t, rec.Time; rec.Time < aRecordsTime && t >= aRecordsTime {
		d.record = t
	}
	if in := t - d.window; in < 0 || in >= s.Window { // mostly it is the window of the event before
		d.window = t - t%s.Window
	}
	if reason := d.decodeGroup(); reason != "" {
		return Malformed, reason
	}
	if reason := d.decodeMeasures(); reason != "" {
		return Malformed, reason
	}
	if d.dedupeAt >= 0 {
		id, ok := d.vals[d.dedupeAt].ID()
		if !ok {
			return Malformed, d.Wrong(d.dedupeAt, NotID)
		}
		d.id = s.Dedupe.of(id)
	}
	if d.keyAt >= 0 {
		key, ok := d.vals[d.keyAt].ID()
		if !ok {
			return Malformed, d.Wrong(d.keyAt, NotID)
		}
		d.key = exactID(key)
	}
	switch {
	case d.record > t+s.Lateness: // t has bounds, and a record's time has none: it may be any int64
		return Late, "older than the record by more than lateness"
	case d.record < t-s.Skew:
		return Future, "newer than the record by more than skew"
	}
	return Counted, ""
}

func (d *Decoder) decodeGroup() (reason string) {
	s := d.spec
	// The group of a single plain column is its text, which is not copied.
	d.group, d.scratch = nil, d.scratch[:0]
	for i := range s.By {
		c, at := &s.By[i], d.by[i]
		if at.path < 0 && !(c.HasDefault && d.Absent(at.lon) && d.Absent(at.lat)) {
			lon, lat, reason := d.Position(at.lon, at.lat)
			if reason != "" {
				return reason
			}
			var cell [12]byte
			d.scratch = appendDimension(d.scratch, geo.AppendHash(cell[:0], lon, lat, c.Precision), len(s.By))
			continue
		}
		var v event.Value
		if at.path >= 0 {
			v = d.vals[at.path]
		}
		var text []byte
		switch {
		case c.HasDefault && (v.Type == event.Missing || v.Type == event.Null):
			text = d.defaults[i]
		case v.Type == event.String || v.Type == event.Number || v.Type == event.Bool:
			text = v.Bytes
		default:
			return d.Wrong(at.path, "is not text, number or bool")
		}
		if len(text) > MaxValue {
			return d.Wrong(at.path, "is longer than 1 KiB")
		}
		if len(s.By) == 1 {
			d.group = text
			return ""
		}
		d.scratch = appendDimension(d.scratch, text, len(s.By))
	}
	d.group = d.scratch
	return ""
}

func (d *Decoder) decodeMeasures() (reason string) {
	d.number++
	for i := range d.blocks {
		b := &d.blocks[i]
		if b.where != nil && !allHold(b.where, d.vals) {
			b.takes = false
			continue
		}
		at := b.at
		if d.Absent(at) {
			if b.takes = false; b.optional {
				continue
			}
			if b.instead < 0 {
				return d.Wrong(b.at, "")
			}
			at = b.instead
		}
		if b.takes, reason = b.Read(d, at, b.n); reason != "" {
			return reason
		}
	}
	return ""
}

// Value returns the value of a field.
func (d *Decoder) Value(at int) *event.Value { return &d.vals[at] }

// Window returns the start of the event's window.
func (d *Decoder) Window() event.Time { return d.window }

// Absent reports whether a field is missing or null.
func (d *Decoder) Absent(at int) bool {
	return d.vals[at].Type == event.Missing || d.vals[at].Type == event.Null
}

// A wholeValue is what event.Value.Whole returned for a value of the event with a number. Several measures
// of a field read it once.
type wholeValue struct {
	of uint64
	n  int64
	ok bool
}

// Whole returns the value of a field as event.Value.Whole does.
func (d *Decoder) Whole(at int) (n int64, ok bool) {
	w := &d.wholes[at]
	if w.of != d.number {
		w.of = d.number
		w.n, w.ok = d.vals[at].Whole()
	}
	return w.n, w.ok
}

// Uint32 returns the value of a field as event.Value.Uint32 does.
func (d *Decoder) Uint32(at int) (uint32, bool) {
	if n, ok := d.Whole(at); ok {
		return uint32(n), 0 <= n && n <= math.MaxUint32
	}
	return d.vals[at].Uint32()
}

// Float returns the value of a field as a number, 0 if there is a reason why it is none.
func (d *Decoder) Float(at int) (f float64, reason string) {
	if n, ok := d.Whole(at); ok && n != 0 { // an integer has no sign of zero
		return float64(n), ""
	}
	f, ok := d.vals[at].Float()
	switch {
	case ok:
		return f, ""
	case d.vals[at].Numeric():
		return 0, d.Wrong(at, "is a number beyond 1.8e308, the greatest Float64")
	}
	return 0, d.Wrong(at, "is not a number")
}

// Position returns a longitude and a latitude within the range of Redis. It
// refuses positions out of range, and never clamps them.
func (d *Decoder) Position(lonAt, latAt int) (lon, lat float64, reason string) {
	lon, ok := d.vals[lonAt].Float()
	if !ok {
		return 0, 0, d.Wrong(lonAt, "is not a number")
	}
	lat, ok = d.vals[latAt].Float()
	if !ok {
		return 0, 0, d.Wrong(latAt, "is not a number")
	}
	if _, ok = geo.Encode(lon, lat); !ok {
		return 0, 0, d.Wrong(latAt, "or "+d.names[lonAt]+" is out of range: ±85.05112878 and ±180 degrees")
	}
	return lon, lat, ""
}

// Stamp returns the order of this event's position among those of its member: by
// event time, then by place in the log.
func (d *Decoder) Stamp() geo.Stamp {
	return geo.Stamp{Time: int64(d.time), Slot: uint64(MakeSlot(d.epoch, d.partition, d.offset/d.spec.Chunk)), Offset: d.offset}
}

// NotID is the reason for a value that cannot be an id.
const NotID = "is neither text nor number"

// wrongTime returns the reason of an event without a time. It names the unit, because a right
// time in another unit than the job's is the usual cause.
func (d *Decoder) wrongTime() string {
	if d.timeAt < 0 {
		return "the record's timestamp is not a time between 1970 and 2106"
	}
	unit := d.spec.TimeUnit
	v := d.vals[d.timeAt]
	needs, fits := "number", v.Type == event.Integer || v.Numeric()
	if unit == event.RFC3339 || unit == event.ISO8601 {
		needs, fits = "text", v.Type == event.String
	}
	if !fits {
		return d.Wrong(d.timeAt, "is not a "+needs+", which unit "+unit.String()+" needs")
	}
	return d.Wrong(d.timeAt, "is not a time between 1970 and 2106 in unit "+unit.String())
}

// Wrong returns the reason in words. It may allocate, because only a dead letter
// needs it.
func (d *Decoder) Wrong(at int, what string) string {
	if d.Absent(at) {
		return "field " + d.names[at] + " is missing"
	}
	return "field " + d.names[at] + " " + what
}
