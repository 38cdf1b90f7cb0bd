package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

// A topic is one incarnation of the simulated topic.
type topic struct {
	id        [16]byte
	parts     []*partition
	allowed   int     // step from which the operator allows weir to count it
	committed []int64 // the group's offsets when the topic was left for another one
}

// A partition is its log: offset o is records[o].
type partition struct {
	records []record
	start   int64   // first offset that retention has left
	open    int64   // first offset of the open transaction; -1: none
	pending []int64 // the records of it

	// doubt says, by chunk, where the result is not a function of the log any
	// more: see taint.
	doubt []bool
	// thin says, by chunk, where only records that were compacted away are in
	// doubt.
	thin []bool
}

// A record is the record at an offset. The fields are those of the event in
// value, for the reference, which does not read JSON.
type record struct {
	form  form
	time  event.Time // Kafka's
	at    event.Time // the event's own
	value []byte

	id, user, device, page, country, who int // -1 for a missing device, country or who
	lon, lat                             int // hundredths of a degree
	unwanted                             bool

	// rest are the events of the record, for a job with Each. A broken record has none: they
	// cannot be told apart.
	rest []record

	// compacted says that the record is gone from the log; processes may have read
	// it before.
	compacted bool
}

type form uint8

const (
	gap    form = iota // no record: compacted, aborted, a transaction's marker
	good               // an event
	broken             // a record that is not an event, or not one for the job
)

const (
	begin = event.Time(1_763_600_000_000)

	pages     = 6
	countries = 3
	users     = 40
	people    = 4
)

var countryNames = [countries]string{"DE", "FR", "JP"}

func newTopic(number, partitions int) *topic {
	t := &topic{}
	// Like Kafka's ids, a later id need not be greater.
	binary.BigEndian.PutUint64(t.id[:], uint64(number+1)*0x9e3779b97f4a7c15)
	for range partitions {
		t.parts = append(t.parts, &partition{open: -1})
	}
	return t
}

func (p *partition) end() int64 { return int64(len(p.records)) }

// stable returns the last stable offset: the end of the log for a read_committed
// reader.
func (p *partition) stable() int64 {
	if p.open >= 0 {
		return p.open
	}
	return p.end()
}

// taint marks the chunks from a to b. Retention may have deleted an offset of
// theirs after a reader had counted it, or readers that began at different
// offsets may count them.
func (p *partition) taint(a, b int64) { p.doubt = mark(p.doubt, a, b) }

func mark(chunks []bool, a, b int64) []bool {
	for int64(len(chunks)) <= b {
		chunks = append(chunks, false)
	}
	for c := a; c <= b; c++ {
		chunks[c] = true
	}
	return chunks
}

func (p *partition) doubtful(chunk int64) bool {
	return chunk < int64(len(p.doubt)) && p.doubt[chunk]
}

func (p *partition) thinned(chunk int64) bool {
	return chunk < int64(len(p.thin)) && p.thin[chunk]
}

// sound reports whether no chunk is in doubt.
func (p *partition) sound() bool {
	return !slices.Contains(p.doubt, true) && !slices.Contains(p.thin, true)
}

// A producer writes the log.
type producer struct {
	r      *rand.Rand
	mix    *mix
	spec   *window.Spec
	now    event.Time
	nextID int
	values []byte // the records' bytes, one after the other
	bulky  bool   // many records are large and malformed, to fill memory
}

// append writes up to n records, and the gaps and transactions of the mix.
func (w *producer) append(p *partition, n int) {
	for range n {
		if w.mix.strikes(w.r, Gaps, 12) {
			for range 1 + w.r.IntN(2*int(min(w.spec.Chunk, 16))) {
				p.records = append(p.records, record{})
			}
		}
		if w.mix.on.Has(Aborted) {
			w.transact(p)
		}
		if p.open >= 0 && w.r.IntN(2) == 0 {
			p.pending = append(p.pending, p.end())
		}
		p.records = append(p.records, w.record(p))
	}
}

// transact begins or ends a transaction. No reader sees records of an aborted
// one: readers stop before the first open offset.
func (w *producer) transact(p *partition) {
	switch {
	case p.open < 0 && w.r.IntN(20) == 0:
		p.open = p.end()
	case p.open >= 0 && w.r.IntN(8) == 0:
		w.endTransaction(p)
	}
}

func (w *producer) endTransaction(p *partition) {
	if p.open < 0 {
		return
	}
	if w.r.IntN(2) == 0 {
		w.mix.count[Aborted]++
		for _, o := range p.pending {
			p.records[o] = record{}
		}
	}
	p.records = append(p.records, record{}) // the marker
	p.open, p.pending = -1, p.pending[:0]
}

func (w *producer) record(p *partition) record {
	r := w.r
	rec := record{
		form: good, time: w.now, at: w.now - event.Time(r.Int64N(int64(w.spec.Window))),
		user: r.IntN(users), page: r.IntN(1 + r.IntN(pages)), device: r.IntN(3*users) - 10, country: r.IntN(countries+2) - 2, who: r.IntN(people+2) - 2,
		lon: r.IntN(36000) - 18000, lat: r.IntN(16000) - 8000,
	}
	switch {
	case w.mix.strikes(r, Disorder, 8):
		switch r.IntN(4) {
		case 0: // a clock that is years off, or a unit that is
			rec.at = event.Time(r.Int64N(int64(4_000_000_000_000)))
		case 1:
			rec.at = w.now + w.spec.Skew + event.Time(r.IntN(5)) - 2
		case 2:
			rec.at = w.now - w.spec.Lateness + event.Time(r.IntN(5)) - 2
		default:
			rec.at = w.now - event.Time(r.Int64N(2*int64(w.spec.Lateness)))
		}
	case w.bulky && r.IntN(3) == 0, w.mix.strikes(r, Malformed, 8):
		rec.form = broken
	}
	if w.mix.on.Has(FastClock) && rec.user == fastUser && rec.at > w.now-w.spec.Lateness {
		w.mix.count[FastClock]++
		rec.at = w.now + w.spec.Skew/2
	}
	rec.unwanted = w.spec.Where != nil && r.IntN(4) == 0
	rec.id = w.nextID
	w.nextID++
	if w.mix.strikes(r, Repeats, 3) {
		// The repeated offset is within the two chunks in which deduplication looks,
		// at their edge, or before. Repeats of repeats make chains over many chunks.
		if o := p.end() - 1 - r.Int64N(3*w.spec.Chunk); o >= 0 && p.records[o].form != gap {
			rec.id = p.records[o].id
		}
	}
	pad := 0
	if rec.form == broken && w.bulky {
		pad = len(padding)/2 + r.IntN(len(padding)/2)
	}
	damage := -1
	if rec.form == broken {
		rec.unwanted = false // the tests of window cover records that are both
		damage = r.IntN(6)
	}
	if w.spec.Each != "" && rec.form == good {
		rec.rest = rec.more(w.spec)
	}
	if need := (300 + len(rec.rest)*20 + pad) * (1 + 2*len(rec.rest)); cap(w.values)-len(w.values) < need {
		w.values = make([]byte, 0, max(16<<10, need)) // earlier records keep the old array
	}
	from := len(w.values)
	w.values = rec.spell(w.values, damage, r, pad)
	rec.value = w.values[from:len(w.values):len(w.values)]
	if w.spec.Each != "" && rec.form == good {
		w.values = rec.array(w.values, r)
	}
	if rec.form == broken && len(rec.value) == 0 && r.IntN(2) == 0 {
		rec.value, rec.unwanted = nil, w.spec.Where != nil // a tombstone, which has none of the fields that the condition asks
	}
	return rec
}

// fastUser is the user whose clock is fast.
const fastUser = 3

// placed reports whether the record has a position. A position can be missing
// in two ways.
func (rec *record) placed() bool { return rec.who >= 0 && rec.lon%5 != 0 }

// padding makes malformed records large, because the core must keep their bytes
// for dead letters.
var padding = bytes.Repeat([]byte("x"), 12_000)

// more returns further events of the record: up to three, of other users and times, some of which have no
// user or are late. They follow from its id, so that they take no draw from the schedule.
func (rec *record) more(spec *window.Spec) (all []record) {
	for n := 1; n <= rec.id%4; n++ {
		e := *rec
		e.at += event.Time(13 * n) // no two events of a record have one time
		e.id, e.user, e.page = rec.id+n*1_000_000_000, (rec.user+7*n)%users, (rec.page+n)%pages
		switch (rec.id + n) % 7 {
		case 0:
			e.form, e.unwanted = broken, false
		case 1:
			e.at = rec.time - spec.Lateness - event.Time(n)
		}
		all = append(all, e)
	}
	return all
}

// array replaces the value of the record by an array of its events, which it appends.
func (rec *record) array(dst []byte, r *rand.Rand) []byte {
	one := *rec
	one.rest = nil
	from := len(dst)
	dst = append(append(dst, `{"events":[`...), rec.value...)
	events := []record{one}
	for n := range rec.rest {
		e := &rec.rest[n]
		damage := -1
		if e.form == broken {
			damage = 2 // without a user
		}
		dst = append(dst, ',')
		at := len(dst)
		dst = e.spell(dst, damage, r, 0)
		e.value = bytes.Clone(dst[at:])
		events = append(events, *e)
	}
	dst = append(dst, `]}`...)
	rec.rest, rec.value = events, dst[from:len(dst):len(dst)]
	return dst
}

// events returns the events of a record that can be read.
func (rec *record) events(spec *window.Spec) []record {
	if spec.Each == "" {
		return []record{*rec}
	}
	return rec.rest
}

// spell appends the record's JSON. It breaks the JSON of a broken record in one
// of several ways; damage is -1 for a good one.
func (rec *record) spell(dst []byte, damage int, r *rand.Rand, pad int) []byte {
	if damage == 0 {
		return dst // empty
	}
	from := len(dst)
	dst = append(dst, `{"id":"e`...)
	dst = strconv.AppendInt(dst, int64(rec.id), 10)
	dst = append(dst, `","ts":`...)
	if damage == 1 {
		dst = append(dst, `"noon",`...)
	} else {
		dst = strconv.AppendInt(dst, int64(rec.at), 10)
		dst = append(dst, ',')
	}
	if damage != 2 {
		dst = append(dst, `"user":"u`...)
		dst = strconv.AppendInt(dst, int64(rec.user), 10)
		dst = append(dst, `",`...)
	}
	if rec.device >= 0 {
		dst = append(dst, `"device":`...)
		dst = strconv.AppendInt(dst, int64(rec.device), 10)
		dst = append(dst, ',')
	}
	dst = append(dst, `"page":"/`...)
	dst = strconv.AppendInt(dst, int64(rec.page), 10)
	dst = append(dst, '"')
	switch rec.country {
	case -2:
	case -1:
		dst = append(dst, `,"geo":{"country":null}`...)
	default:
		dst = append(dst, `,"geo":{"country":"`...)
		dst = append(dst, countryNames[rec.country]...)
		dst = append(dst, `"}`...)
	}
	if rec.who >= 0 {
		dst = append(dst, `,"who":"p`...)
		dst = strconv.AppendInt(dst, int64(rec.who), 10)
		switch {
		case rec.placed():
			dst = append(dst, `","lon":`...)
			dst = strconv.AppendFloat(dst, float64(rec.lon)/100, 'f', 2, 64)
			dst = append(dst, `,"lat":`...)
			dst = strconv.AppendFloat(dst, float64(rec.lat)/100, 'f', 2, 64)
		case rec.lon%2 == 0:
			dst = append(dst, `","lon":null,"lat":null`...)
		default:
			dst = append(dst, '"')
		}
	}
	if pad > 0 {
		dst = append(dst, `,"pad":"`...)
		dst = append(dst, padding[:pad]...)
		dst = append(dst, '"')
	}
	if rec.unwanted {
		dst = append(dst, `,"action":"scroll"`...)
	} else {
		dst = append(dst, `,"action":"view"`...)
	}
	switch damage {
	case 3:
		dst = append(dst, `,"page":"again"}`...) // a key twice
	case 4:
		return dst[:from+1+r.IntN(len(dst)-from)] // cut
	case 5:
		dst = append(dst, "} \xff"...) // more than one document, and not UTF-8
	default:
		dst = append(dst, '}')
	}
	return dst
}

// addedMeasure is one of the event ids, which a job may have from some day on.
const addedMeasure = "added"

// farMeasure is a measure with conditions of its own: of events from the first two
// countries or from the south, but none of user 7.
const farMeasure = "far"

func (rec *record) far() bool {
	south := rec.placed() && rec.lat < 0
	return (rec.country == 0 || rec.country == 1 || south) && rec.user != 7
}

// newSpec draws the job of a seed: processes begin with old, and are replaced
// by processes with spec, which may have one more measure.
func newSpec(r *rand.Rand, m *mix) (old, spec *window.Spec) {
	size := event.Time(1000 * (5 + r.IntN(40)))
	s := window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
		Window: size, Lateness: size * event.Time(1+r.IntN(4)), Skew: 20_000,
		Chunk: 4 << r.IntN(5), MaxGroups: 1000,
		By: []window.Dimension{
			{Name: "page", Path: "page"},
			{Name: "country", Path: "geo.country", Default: "??", HasDefault: true},
		}[:r.IntN(3)],
		Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}},
	}
	// A draw decides about each line: one of its measures, or none.
	optional := [][]window.Measure{
		{{Name: "devices", Kind: bitmap.Kind, Path: "device", Optional: true}, {Name: "people", Kind: set.Kind, Path: "user"}},
		{{Name: "seen", Kind: bloom.Kind, Path: "id", Capacity: 64, Error: 0.01}, {Name: "earliest", Kind: ordered.First, Path: "user"}},
		{{Name: "west", Kind: extreme.Min, Path: "lon", Optional: true}, {Name: "spread", Kind: quantile.Kind, Path: "lon", Optional: true, Error: 0.05}},
		{{Name: "east", Kind: extreme.Max, Path: "lon", Optional: true}, {Name: farMeasure, Kind: sum.Sum, Path: "lon", Optional: true, Scale: 2, Where: []window.Condition{
			{Any: []window.Condition{{Path: "geo.country", In: countryNames[:2]}, {Path: "lat", Below: "0"}}}, {Not: &window.Condition{Path: "user", Is: `"u7"`}}}}},
		{{Name: "way", Kind: sum.Sum, Path: "lon", Optional: true, Scale: 2}, {Name: "tops", Kind: topk.Kind, Path: "user", K: 3}},
		{{Name: "places", Kind: geo.Kind, Path: "who", Optional: true, Lon: "lon", Lat: "lat"}, {Name: "latest", Kind: ordered.Last, Path: "user"}},
	}
	for _, line := range optional {
		if n := r.IntN(4); n < len(line) {
			s.Measures = append(s.Measures, line[n])
		}
	}
	if r.IntN(8) == 0 {
		s.HashKey = &[16]byte{1, 2, 3, byte(r.IntN(256))}
	}
	cap := 1 + r.IntN(3)
	if m.on.Has(Cap) {
		s.MaxGroups = cap
	}
	if m.on.Has(Dedupe) {
		s.Dedupe = &window.Dedupe{Path: "id", Error: 1e-6}
		if size%2000 == 0 { // no further draw: each seed keeps its schedule
			s.Dedupe = &window.Dedupe{Path: "id", Exact: true}
		}
	}
	if size%3000 == 0 { // no further draw, too
		s.Throttle = &window.Throttle{Path: "user", Limit: 1, Per: size}
		if size%2000 == 0 {
			s.Throttle.Funnel, s.Throttle.Burst = true, int(size/6000)%3
		}
	}
	if size%7000 == 0 && (s.Dedupe == nil || s.Dedupe.Exact) { // no further draw, too
		s.Each = "events"
	}
	s.SaveAfter = [...]int64{0, 1, s.Chunk / 4}[size/1000%3] // no further draw, too
	if m.on.Has(Where) {
		s.Where = []window.Condition{{Path: "action", In: []string{"click", "view"}}}
	}
	if !m.on.Has(Rolling) {
		return &s, &s
	}
	more := s
	more.Measures = append(s.Measures[:len(s.Measures):len(s.Measures)], window.Measure{Name: addedMeasure, Kind: hll.Kind, Path: "id"})
	if s.Meaning() != more.Meaning() {
		panic(fmt.Sprintf("sim: one more measure changes the job's meaning: %q, %q", s.Meaning(), more.Meaning()))
	}
	return &s, &more
}
