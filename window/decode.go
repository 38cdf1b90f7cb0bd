package window

import (
	"bytes"
	"encoding/base64"
	"slices"

	"weir/event"
	"weir/internal/cacheline"
	"weir/sketches/geo"
)

// A Decoder turns records into what the partition and the sketches need of them, a block of events at a time. It
// reads the values of all events, and then makes one check after the other, each a short loop over the block. It
// belongs to one Operator; the next block overwrites its results. An Intake reads the events from it.
type Decoder struct {
	_       cacheline.Pad
	spec    *Spec
	reader  *event.Reader
	selects bool // a record must be selected before it is read

	// The values of an event are a row of vals. Those that the reader finds are its first, those of the derived
	// fields follow, then, by measure, the values of measures that have a default.
	vals    []event.Value
	width   int // of a row
	scanned int
	derived []derived

	// The index in a row of each field of the spec.
	timeAt   int  // -1: the time is the record's
	choosing bool // it is the first of several texts
	by       []columnAt
	where    []condition
	before   []condition   // those of where that read only the record, and not its events
	spare    []event.Value // of a record without events
	dedupeAt int
	keyAt    int      // of Throttle
	names    []string // of the fields, for messages
	paths    []string // of the fields that the reader finds
	dots     map[string]*event.Reader
	defaults [][]byte // by column

	readings []reading // by measure
	skipped  []uint64  // by measure: bad values that it skips
	timeless uint64    // events of records without a time of their own
	wholes   []*wholes // by field, those that a measure may ask for

	// The partition and its epoch.
	partition int32
	epoch     uint8

	// The block.
	number   uint64         // of the blocks so far
	events   []event.Record // the records or, with Each, their events as records of their own
	each     eachBlock      // with Each
	live     []Entry        // the events that nothing was found against
	refused  bool           // live has events that something was found against
	outcomes [BlockSize]Outcome
	reasons  [BlockSize]string // of those that are not Counted

	// By event, if it is live.
	times   [BlockSize]event.Time
	windows [BlockSize]event.Time
	groups  [BlockSize][]byte // views into the record or into scratch
	ids     [BlockSize]id     // for deduplication
	keys    [BlockSize]id     // of Throttle
	scratch []byte
	_       cacheline.Pad
}

// BlockSize is how many events a block has at most: enough to make the loop over each measure tight, and few enough
// to stay in the cache.
const BlockSize = 512

// An Entry is the place of an event in its block.
type Entry uint16

// columnAt has the indexes in vals of a column's fields; -1: not used.
type columnAt struct{ path, lon, lat int }

func newDecoder(s *Spec) (*Decoder, error) {
	d := &Decoder{spec: s, dedupeAt: -1, keyAt: -1, readings: make([]reading, len(s.Measures))}
	fields, err := readFields(s)
	if err != nil {
		return nil, err
	}
	d.scanned, d.derived, d.names = len(fields.paths), fields.derived, slices.Clone(fields.names)
	d.paths, d.dots, d.skipped = fields.paths, map[string]*event.Reader{}, make([]uint64, len(s.Measures))
	d.width = len(fields.names) + len(s.Measures)
	d.vals = cacheline.Slice[event.Value](BlockSize * d.width)
	d.wholes = make([]*wholes, d.width)
	field := fields.index
	d.timeAt = fields.time(s)
	for _, c := range s.By {
		d.by = append(d.by, columnAt{field(c.Path), field(c.Lon), field(c.Lat)})
		d.defaults = append(d.defaults, []byte(c.Default))
	}
	for i := range s.Measures {
		m, r := &s.Measures[i], &d.readings[i]
		r.number, r.field, r.optional, r.skip, r.additive = i, field(m.Path), m.Optional, m.Bad == "skip", m.Kind.Additive
		d.names = append(d.names, d.names[r.field])
		if r.at = r.field; m.HasDefault {
			r.at, r.instead = len(fields.names)+i, m.defaultValue()
		}
		for _, path := range m.paths() {
			r.also = append(r.also, field(path))
		}
		d.wholes[r.at] = new(wholes)
		r.Intake = m.Kind.Intake(s, m, r.also)
		if r.where, err = compile(m.Where, field); err != nil {
			return nil, err
		}
	}
	if d.where, err = compile(s.Where, field); err != nil {
		return nil, err
	}
	before := slices.DeleteFunc(slices.Clone(s.Where), func(c Condition) bool { return !c.ofRecord() })
	if d.before, err = compile(before, field); err != nil {
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
	if at := d.timeAt - d.scanned; at >= 0 {
		d.choosing = s.TimeUnit == event.ISO8601 && !d.derived[at].field.Joined
	} else if d.timeAt >= 0 && fields.uses[d.timeAt] == 1 {
		d.reader.TimeOnly(d.timeAt)
	}
	d.selects = d.reader.Selects()
	if s.Each != "" {
		d.each.events = cacheline.Slice[event.Record](BlockSize)
	}
	return d, nil
}

// selectSchema finds the schema of a record. It returns an *event.UnknownSchema if the reader
// does not have it.
func (d *Decoder) selectSchema(rec *event.Record) error {
	need, ok := d.reader.Select(rec)
	for !ok && d.lost(need) { // that of the value, then that of the key
		need, ok = d.reader.Select(rec)
	}
	if !ok {
		return &event.UnknownSchema{ID: need, Partition: d.partition, Offset: rec.Offset}
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

// aDate is the length of a date alone. In a list of times it is none: the time of day may be in the field behind it.
const aDate = len("2026-11-20")

// readBlock makes a block of the first records, and returns how many. It stops early where their values take much
// memory, and with an error at a record whose schema the reader does not have.
func (d *Decoder) readBlock(records []event.Record) (n int, err error) {
	if d.spec.Each != "" {
		return d.readEach(records)
	}
	d.begin(false)
	for ; n < len(records) && !d.full(n); n++ {
		rec := &records[n]
		if d.selects {
			if err = d.selectSchema(rec); err != nil {
				break
			}
		}
		if d.empty(rec) {
			d.refuse(Entry(n), Malformed, emptyValue)
			if d.tombstone(rec) {
				d.refuse(Entry(n), Filtered, "")
			}
			continue
		}
		d.add(n, rec.Value, d.reader.Read(rec, d.row(Entry(n))[:d.scanned]))
	}
	d.events = records[:n]
	return n, err
}

// begin begins a block. more says that it has more events of the record that the reader has opened.
func (d *Decoder) begin(more bool) {
	d.reader.Begin(more)
	d.number++
	d.live, d.refused = d.live[:0], false
}

// full reports whether a block of n events has no room for another one.
func (d *Decoder) full(n int) bool { return n == BlockSize || d.reader.Full() }

// emptyValue is the reason for a record without a value.
const emptyValue = "empty value"

// empty reports whether a record has no value. A message of nothing but defaults, or of no events, is empty.
func (d *Decoder) empty(rec *event.Record) bool {
	return len(rec.Value) == 0 && (rec.Value == nil || !d.selects) && d.spec.Format != event.None
}

// tombstone reports whether a record is one that a condition leaves out. All fields of its value are missing.
func (d *Decoder) tombstone(rec *event.Record) bool {
	return rec.Value == nil && d.leftOut(rec, d.where)
}

// leftOut reports whether one of some conditions leaves out a record without a value, or without an array of events. Of such
// a record only its key, its headers and what is beside the array can be read; everything else is missing.
func (d *Decoder) leftOut(rec *event.Record, conditions []condition) bool {
	if conditions == nil {
		return false
	}
	if d.spare == nil {
		d.spare = make([]event.Value, d.width)
	}
	clear(d.spare)
	if d.reader.Around(rec, d.spare[:d.scanned]) != nil {
		return false
	}
	d.deriveRow(d.spare)
	return !allHold(conditions, d.spare)
}

// add adds event n to the block, whose values have been read, unless that was an error.
func (d *Decoder) add(n int, value []byte, err error) {
	if err != nil {
		d.refuse(Entry(n), Malformed, d.reader.Explain(value, err))
		return
	}
	d.outcomes[n] = Counted
	d.live = append(d.live, Entry(n))
}

// decode decides everything about the events of the block that does not depend on other events. The order of the
// checks is part of a job's meaning: the first that an event does not pass is its outcome. What is live then would be
// Counted, and the decoder's fields describe it.
func (d *Decoder) decode() {
	d.derive()
	d.filter()
	d.readTimes()
	d.readGroups()
	for i := range d.readings {
		d.readMeasure(&d.readings[i])
	}
	if d.dedupeAt >= 0 {
		for _, e := range d.live {
			if id, ok := d.ID(e, d.dedupeAt); ok {
				d.ids[e] = d.spec.Dedupe.of(id)
			}
		}
		d.settle()
	}
	if d.keyAt >= 0 {
		for _, e := range d.live {
			if key, ok := d.ID(e, d.keyAt); ok {
				d.keys[e] = exactID(key)
			}
		}
		d.settle()
	}
	d.compareTimes()
}

// refuse gives an event an outcome.
func (d *Decoder) refuse(e Entry, f Outcome, reason string) {
	d.outcomes[e], d.reasons[e], d.refused = f, reason, true
}

// settle makes live what nothing was found against.
func (d *Decoder) settle() {
	if d.refused {
		d.refused = false
		d.live = slices.DeleteFunc(d.live, func(e Entry) bool { return d.outcomes[e] != Counted })
	}
}

func (d *Decoder) filter() {
	if d.where == nil {
		return
	}
	for _, e := range d.live {
		if !allHold(d.where, d.row(e)) {
			d.refuse(e, Filtered, "")
		}
	}
	d.settle()
}

func (d *Decoder) readTimes() {
	s, window := d.spec, event.Time(0)
	for _, e := range d.live {
		t, ok := d.events[e].Time, true
		if d.timeAt >= 0 && !(s.TimeOrRecord && (d.Absent(e, d.timeAt) || d.Value(e, d.timeAt).Zero())) {
			v := d.Value(e, d.timeAt)
			t, ok = v.TimeIn(s.TimeUnit, s.TimeZone)
			ok = ok && !(d.choosing && len(v.Bytes) == aDate)
		}
		if !ok || t < 0 || t > maxTime {
			d.refuse(e, Malformed, d.wrongTime(e, ok))
			continue
		}
		if in := t - window; in < 0 || in >= s.Window { // mostly it is the window of the event before
			window = t - t%s.Window
		}
		d.times[e], d.windows[e] = t, window
	}
	d.settle()
}

// record returns the time of an event's record; the event's if the record has none.
func (d *Decoder) record(e Entry) event.Time {
	record, t := d.events[e].Time, d.times[e]
	if record < aRecordsTime && t >= aRecordsTime {
		return t
	}
	return record
}

func (d *Decoder) compareTimes() {
	s := d.spec
	for _, e := range d.live {
		if d.events[e].Time < aRecordsTime {
			d.timeless++
		}
		switch t, record := d.times[e], d.record(e); {
		case record > t+s.Lateness: // t has bounds, and a record's time has none: it may be any int64
			d.refuse(e, Late, "older than the record by more than lateness")
		case record < t-s.Skew:
			d.refuse(e, Future, "newer than the record by more than skew")
		}
	}
	d.settle()
}

func (d *Decoder) readGroups() {
	d.scratch = d.scratch[:0]
	plain := len(d.by) == 1 && d.by[0].path >= 0 // then the group is mostly the text of a field
	for _, e := range d.live {
		if plain {
			if v := d.Value(e, d.by[0].path); hasText(v) && len(v.Bytes) <= MaxValue {
				d.groups[e] = v.Bytes
				continue
			}
		}
		d.readGroup(e)
	}
	d.settle()
}

func (d *Decoder) readGroup(e Entry) {
	s, from := d.spec, len(d.scratch)
	for i := range s.By {
		c, at := &s.By[i], d.by[i]
		if at.path < 0 && !(c.HasDefault && d.Absent(e, at.lon) && d.Absent(e, at.lat)) {
			lon, lat, ok := d.Position(e, at.lon, at.lat)
			if !ok {
				return
			}
			var cell [12]byte
			d.scratch = appendDimension(d.scratch, geo.AppendHash(cell[:0], lon, lat, c.Precision), len(s.By))
			continue
		}
		var text []byte
		if c.HasDefault && (at.path < 0 || d.Absent(e, at.path)) {
			text = d.defaults[i]
		} else {
			var ok bool
			if text, ok = d.Text(e, at.path); !ok {
				return
			}
		}
		if len(s.By) == 1 { // it is its text, which is not copied
			d.groups[e] = text
			return
		}
		d.scratch = appendDimension(d.scratch, text, len(s.By))
	}
	d.groups[e] = d.scratch[from:]
}

func (d *Decoder) readMeasure(r *reading) {
	r.takes = r.takes[:0]
	for _, e := range d.live {
		row, absent := d.row(e), d.Absent(e, r.field)
		if r.at != r.field {
			if row[r.at] = row[r.field]; absent {
				row[r.at] = r.instead
			}
		}
		switch {
		case r.where != nil && !allHold(r.where, row):
		case r.optional && (absent || d.allAbsent(e, r.also)):
		case absent && r.at == r.field:
			d.Refuse(e, r.field, "")
		default:
			r.takes = append(r.takes, e)
		}
	}
	r.Read(d, r.at, r.takes)
	if r.skip && d.refused {
		r.takes = slices.DeleteFunc(r.takes, func(e Entry) bool {
			bad := d.outcomes[e] != Counted
			if d.outcomes[e] = Counted; bad {
				d.skipped[r.number]++
			}
			return bad
		})
	}
	d.settle()
}

// row returns the values of an event.
func (d *Decoder) row(e Entry) []event.Value { return d.vals[int(e)*d.width:][:d.width] }

// Value returns the value of a field of an event.
func (d *Decoder) Value(e Entry, at int) *event.Value { return &d.vals[int(e)*d.width+at] }

// Window returns the start of the event's window.
func (d *Decoder) Window(e Entry) event.Time { return d.windows[e] }

// Absent reports whether a field is missing or null.
func (d *Decoder) Absent(e Entry, at int) bool { return d.Value(e, at).Type <= event.Null }

// allAbsent reports whether there are fields, and all are missing or null.
func (d *Decoder) allAbsent(e Entry, fields []int) bool {
	for _, at := range fields {
		if !d.Absent(e, at) {
			return false
		}
	}
	return fields != nil
}

// wholes has what event.Value.Whole returns for a field of the live events of a block. Several measures of a field read
// it once.
type wholes struct {
	block uint64
	n     [BlockSize]int64
	ok    [BlockSize]bool
}

// Whole returns the value of a measure's field as event.Value.Whole does.
func (d *Decoder) Whole(e Entry, at int) (n int64, ok bool) {
	w := d.wholes[at]
	if w.block != d.number {
		w.block = d.number
		for _, e := range d.live {
			w.n[e], w.ok[e] = d.Value(e, at).Whole()
		}
	}
	return w.n[e], w.ok[e]
}

// The methods that follow refuse an event if the value of the field is nothing that they can return.

// ID returns the value of a field as event.Value.ID does.
func (d *Decoder) ID(e Entry, at int) (id []byte, ok bool) {
	if id, ok = d.Value(e, at).ID(); !ok {
		d.Refuse(e, at, "is neither text nor number")
	}
	return id, ok
}

// Text returns the value of a field that is a text, a number or a bool, as text of at most MaxValue bytes.
func (d *Decoder) Text(e Entry, at int) (text []byte, ok bool) {
	v := d.Value(e, at)
	switch {
	case !hasText(v):
		d.Refuse(e, at, "is not text, number or bool")
		return nil, false
	case len(v.Bytes) > MaxValue:
		d.Refuse(e, at, "is longer than 1 KiB")
		return nil, false
	}
	return v.Bytes, true
}

// Float returns the value of a measure's field as a number.
func (d *Decoder) Float(e Entry, at int) (f float64, ok bool) {
	if n, ok := d.Whole(e, at); ok && n != 0 { // an integer has no sign of zero
		return float64(n), true
	}
	v := d.Value(e, at)
	if f, ok = v.Float(); ok {
		return f, true
	}
	if v.Numeric() {
		d.Refuse(e, at, "is a number beyond 1.8e308, the greatest Float64")
	} else {
		d.Refuse(e, at, NotNumber(v))
	}
	return 0, false
}

// NotNumber returns what is said of a value that is no number. Some producers write a position as one text. Kafka
// Connect writes decimals as bytes, in JSON as base64, unless it is told otherwise.
func NotNumber(v *event.Value) string {
	const plain = "is not a number"
	if v.Type == event.String && bytes.Contains(v.Bytes, []byte(",")) {
		return plain + "; a comma is no part of one, and two numbers in a text are two fields to write"
	}
	if _, err := base64.StdEncoding.DecodeString(string(v.Bytes)); v.Type == event.String && bytes.HasSuffix(v.Bytes, []byte("=")) && err == nil {
		return plain + "; if it is a decimal of Kafka Connect in base64, set decimal.handling.mode to string or double in Debezium, or decimal.format to NUMERIC in the converter"
	}
	return plain
}

// Position returns a longitude and a latitude within the range of Redis. It
// refuses positions out of range, and never clamps them.
func (d *Decoder) Position(e Entry, lonAt, latAt int) (lon, lat float64, ok bool) {
	if lon, ok = d.Value(e, lonAt).Float(); !ok {
		d.Refuse(e, lonAt, NotNumber(d.Value(e, lonAt)))
		return 0, 0, false
	}
	if lat, ok = d.Value(e, latAt).Float(); !ok {
		d.Refuse(e, latAt, NotNumber(d.Value(e, latAt)))
		return 0, 0, false
	}
	if _, ok = geo.Encode(lon, lat); !ok {
		d.Refuse(e, latAt, "or "+d.names[lonAt]+" is out of range: ±85.05112878 and ±180 degrees")
	}
	return lon, lat, ok
}

// Stamp returns the order of an event's position among those of its member: by
// event time, then by place in the log.
func (d *Decoder) Stamp(e Entry) geo.Stamp {
	offset := d.events[e].Offset
	return geo.Stamp{Time: int64(d.times[e]), Slot: uint64(MakeSlot(d.epoch, d.partition, offset/d.spec.Chunk)), Offset: offset}
}

// Refuse makes an event malformed, because a field is missing or, if it is there, for what is said about it.
func (d *Decoder) Refuse(e Entry, at int, what string) { d.refuse(e, Malformed, d.wrong(e, at, what)) }

// wrongTime returns the reason of an event without a time. It names the unit, because a right
// time in another unit than the job's is the usual cause.
func (d *Decoder) wrongTime(e Entry, known bool) string {
	if d.timeAt < 0 {
		return "the record's timestamp is not a time between 1970 and 2106"
	}
	unit := d.spec.TimeUnit
	v := d.Value(e, d.timeAt)
	needs, fits := "number", v.Type == event.Integer || v.Numeric()
	if unit == event.RFC3339 || unit == event.ISO8601 {
		needs, fits = "text", v.Type == event.String
	}
	switch {
	case !fits:
		return d.wrong(e, d.timeAt, "is not a "+needs+", which unit "+unit.String()+" needs")
	case d.choosing && len(v.Bytes) == aDate:
		return d.wrong(e, d.timeAt, "is a date alone, which a list of times does not take; if another field has the time of day, write time: {date: DATE, field: TIME, unit: iso8601}")
	case !known && needs == "text":
		return d.wrong(e, d.timeAt, "is a time in no form that unit "+unit.String()+" knows")
	}
	return d.wrong(e, d.timeAt, "is not a time between 1970 and 2106 in unit "+unit.String())
}

// wrong returns the reason in words. It may allocate, because only a dead letter
// needs it.
func (d *Decoder) wrong(e Entry, at int, what string) string {
	if d.Absent(e, at) {
		return "field " + d.names[at] + " is missing" + d.dotted(e, at)
	}
	return "field " + d.names[at] + " " + what
}

// dotted returns the end of the reason that a field is missing, if an event of JSON has a key with dots in it where the
// path of the field has several keys.
func (d *Decoder) dotted(e Entry, at int) string {
	if d.spec.Format > event.JSONSchema {
		return ""
	}
	paths := d.paths[min(at, d.scanned):min(at+1, d.scanned)]
	if at >= d.scanned {
		paths = d.derived[at-d.scanned].field.Paths
	}
	for _, path := range paths {
		for _, to := range event.DottedPaths(path) {
			r := d.dots[to.Path]
			if r == nil {
				r, _ = event.NewReader(event.Form{Format: d.spec.Format}, []string{to.Path}) // which is a path
				d.dots[to.Path] = r
			}
			var found [1]event.Value
			if r.Begin(false); r.Read(&d.events[e], found[:]) == nil && found[0].Type != event.Missing {
				return "; the event has a key " + to.Key + " with a dot in it: write " + to.Path
			}
		}
	}
	return ""
}
