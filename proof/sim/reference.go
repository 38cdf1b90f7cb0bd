package sim

import (
	"slices"
	"strconv"

	"weir/event"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/window"
)

// A reference is the contents that the sink should have according to the log.
// It is made from the fields of the records, chunk by chunk in one pass,
// without code of package window: a second, simple implementation of the rules.
//
// Where the result is not a function of the log (chunks in doubt: see
// partition.taint), the reference has bounds. Everywhere else it is exact: low
// equals high.
type reference struct {
	spec  *window.Spec
	rows  []wanted
	index map[rowKey]int
	low   states // the states that must be there, by row
	high  states // the states that may be there
	exact bool   // no chunk is in doubt, and high is not used

	places map[placeKey]wantedPlace
	stamp  geo.Stamp // of the event that is counted
	dead   map[deadKey]wantedDead
	lines  []wantedLine

	merged  states // scratch of within
	scratch []byte
	names   []int
	seen    [2]ids // of this chunk, and of the one before; nil without dedupe
	limited [2]limited
}

// ids are the ids of a chunk.
type ids interface {
	has(id []byte) bool
	add(id []byte)
	reset()
}

// limited has, by user, what a throttle let through since the beginning of this chunk, or of
// the one before, and the user's greatest time.
type limited map[int]*letThrough

type letThrough struct {
	times []event.Time // of the events; of a window
	level event.Time   // what is in the funnel, as the time that it takes to run out
	clock event.Time
}

func (l limited) allows(t *window.Throttle, user int, at event.Time) bool {
	p := l[user]
	if p == nil {
		p = &letThrough{}
		l[user] = p
	}
	ran := max(p.clock, at) - p.clock
	p.clock += ran
	if t.Funnel {
		each := t.Per / event.Time(t.Limit)
		p.level = max(p.level-ran, 0)
		fits := p.level <= event.Time(t.Burst)*each
		if fits {
			p.level += each
		}
		return fits
	}
	within := 0
	for _, time := range p.times {
		if time > p.clock-t.Per {
			within++
		}
	}
	if within < t.Limit {
		p.times = append(p.times, p.clock)
	}
	return within < t.Limit
}

type exactIDs map[string]bool

func (e exactIDs) has(id []byte) bool { return e[string(id)] }
func (e exactIDs) add(id []byte)      { e[string(id)] = true }
func (e exactIDs) reset()             { clear(e) }

type bloomIDs struct{ filter *bloom.Filter }

func (b bloomIDs) has(id []byte) bool { return b.filter.Has(bloom.Hash(id)) }
func (b bloomIDs) add(id []byte)      { b.filter.Add(bloom.Hash(id)) }
func (b bloomIDs) reset()             { b.filter.Reset() }

type rowKey struct {
	window event.Time
	group  int
}

type wanted struct {
	rowKey
	hits []bounds
}

// bounds are the bounds of a slot's count in a row.
type bounds struct {
	slot      window.Slot
	low, high uint64
}

type wantedPlace struct {
	low, high place // low is the zero place if there may be none
}

type wantedDead struct {
	rec     *record
	outcome window.Outcome
	maybe   bool
}

// wantedLine is the ledger of a chunk.
type wantedLine struct {
	line  window.Line
	maybe bool // in doubt: only the audit's rules hold
}

// other is the number of the group window.Other.
const other = -1

func newReference(spec *window.Spec, exact bool) *reference {
	f := &reference{
		spec: spec, index: map[rowKey]int{}, exact: exact, low: newStates(spec),
		places: map[placeKey]wantedPlace{}, dead: map[deadKey]wantedDead{},
	}
	if !exact {
		f.high = newStates(spec)
	}
	if d := spec.Dedupe; d != nil {
		for n := range f.seen {
			if f.seen[n] = (exactIDs{}); !d.Exact {
				f.seen[n] = bloomIDs{bloom.New(int(spec.Chunk), d.Error/2)}
			}
		}
	}
	return f
}

// read reads a partition's log, counted under an epoch. From added on, every
// reader knew the last measure. Records that expired before the ledger begins
// are in doubt: a process may have written rows of them.
func (f *reference) read(t *topic, key partitionEpoch, added int64) {
	p := t.parts[key.partition]
	from := int64(0)
	for _, filter := range f.seen {
		if filter != nil {
			filter.reset()
		}
	}
	f.limited = [2]limited{{}, {}}
	for from < p.end() {
		chunk := from / f.spec.Chunk
		to := min((chunk+1)*f.spec.Chunk, p.end())
		f.chunk(p, key, chunk, from, to, t.id, added)
		from = to
	}
}

func (f *reference) chunk(p *partition, key partitionEpoch, chunk, from, to int64, id [16]byte, added int64) {
	f.names = f.names[:0]
	f.seen[0], f.seen[1] = f.seen[1], f.seen[0]
	if f.seen[0] != nil {
		f.seen[0].reset()
	}
	f.limited = [2]limited{{}, f.limited[0]}
	doubt := p.doubtful(chunk)
	want := wantedLine{maybe: doubt || p.thinned(chunk)}
	l := &want.line
	*l = window.Line{Partition: key.partition, Epoch: key.epoch, Chunk: chunk, First: from, Next: to, TopicID: id}
	for o := from; o < to; o++ {
		rec := &p.records[o]
		maybe := doubt || rec.compacted
		if rec.form != good || f.spec.Each == "" {
			outcome := f.event(rec, l, doubt, maybe, o, o >= added)
			l.Outcomes[outcome]++
			if f.spec.Each != "" && outcome == window.Malformed { // a record without a value has no events
				l.Events.All++
				l.Events.By[outcome]++
			}
			f.bury(rec, deadKey{key.epoch, key.partition, o}, outcome, maybe)
			continue
		}
		of := window.Outcomes
		for n := range rec.rest {
			e := &rec.rest[n]
			outcome := f.event(e, l, doubt, maybe, o, o >= added)
			l.Events.All++
			l.Events.By[outcome]++
			if of == window.Outcomes || outcome == window.Counted {
				of = outcome
			}
			f.bury(e, deadKey{key.epoch, key.partition, o}, outcome, maybe)
		}
		l.Outcomes[of]++
	}
	f.lines = append(f.lines, want)
}

// event returns the outcome of an event, and counts it.
func (f *reference) event(rec *record, l *window.Line, doubt, maybe bool, offset int64, added bool) window.Outcome {
	outcome := f.outcome(rec)
	if outcome == window.Counted {
		if is := f.remembers(rec); !doubt {
			outcome = is
		}
	}
	if outcome == window.Counted {
		l.Watermark = max(l.Watermark, min(rec.at, rec.time))
		f.count(rec, l.Slot(), offset, maybe, added)
	}
	return outcome
}

// bury notes the dead letter of an offset, which is that of its first event that has one.
func (f *reference) bury(rec *record, key deadKey, outcome window.Outcome, maybe bool) {
	switch outcome {
	case window.Late, window.Future, window.Malformed:
		if _, buried := f.dead[key]; !buried {
			f.dead[key] = wantedDead{rec, outcome, maybe}
		}
	}
}

// remembers returns the outcome of an event after the events before it.
func (f *reference) remembers(rec *record) window.Outcome {
	here, before := false, false
	if f.seen[0] != nil {
		id := f.text("e", rec.id)
		here, before = f.seen[0].has(id), f.seen[1].has(id)
		f.seen[0].add(id)
	}
	t := f.spec.Throttle
	if t != nil && !here {
		f.limited[0].allows(t, rec.user, min(rec.at, rec.time))
	}
	switch {
	case here || before:
		return window.Duplicate
	case t != nil && !f.limited[1].allows(t, rec.user, min(rec.at, rec.time)):
		return window.Throttled
	}
	return window.Counted
}

// outcome returns the outcome of a record as far as it does not depend on other
// records.
func (f *reference) outcome(rec *record) window.Outcome {
	switch {
	case rec.form == gap:
		return window.Gap
	case rec.unwanted:
		return window.Filtered
	case rec.form == broken:
		return window.Malformed
	case rec.at < rec.time-f.spec.Lateness:
		return window.Late
	case rec.at > rec.time+f.spec.Skew:
		return window.Future
	}
	return window.Counted
}

// group returns the number of a record's group.
func (f *reference) group(rec *record) int {
	switch len(f.spec.By) {
	case 0:
		return 0
	case 1:
		return rec.page
	}
	return rec.page*(countries+1) + max(rec.country, other) + 1
}

func (f *reference) key(dst []byte, k rowKey) []byte {
	var texts [2][]byte
	for n := range f.spec.By {
		switch page := k.group; {
		case k.group == other:
			texts[n] = []byte(window.Other)
		case n == 0:
			if len(f.spec.By) == 2 {
				page /= countries + 1
			}
			texts[n] = strconv.AppendInt([]byte{'/'}, int64(page), 10)
		case k.group%(countries+1) == 0:
			texts[n] = []byte("??")
		default:
			texts[n] = []byte(countryNames[k.group%(countries+1)-1])
		}
	}
	return appendKey(dst, k.window, texts[:len(f.spec.By)]...)
}

// count counts an event in its row. If the row is in doubt, it counts the event
// as possible in every row where it may be.
func (f *reference) count(rec *record, slot window.Slot, offset int64, maybe, added bool) {
	at := rec.at - rec.at%f.spec.Window
	group := f.group(rec)
	f.stamp = geo.Stamp{Time: int64(rec.at), Slot: uint64(slot), Offset: offset}
	named := slices.Contains(f.names, group)
	if !named && len(f.names) < f.spec.MaxGroups {
		f.names = append(f.names, group)
		named = true
	}
	switch {
	case maybe && len(f.spec.By) == 0: // without columns, Other has the same key as every group
		f.enter(rec, rowKey{at, group}, slot, false, added)
	case maybe:
		f.enter(rec, rowKey{at, group}, slot, false, added)
		f.enter(rec, rowKey{at, other}, slot, false, added)
	case named:
		f.enter(rec, rowKey{at, group}, slot, true, added)
	default:
		f.enter(rec, rowKey{at, other}, slot, true, added)
	}
	for n, m := range f.spec.Measures {
		if !m.Kind.ByMember || !rec.placed() {
			continue
		}
		// The JSON has hundredths; the float64 nearest to its text equals the
		// quotient.
		score, _ := geo.Encode(float64(rec.lon)/100, float64(rec.lat)/100)
		k := placeKey{n, at, string(f.text("p", rec.who))}
		is := place{f.stamp, score}
		w := f.places[k]
		if w.high.stamp.Compare(is.stamp) < 0 {
			w.high = is
		}
		if !maybe && w.low.stamp.Compare(is.stamp) < 0 {
			w.low = is
		}
		f.places[k] = w
	}
}

func (f *reference) enter(rec *record, k rowKey, slot window.Slot, sure, added bool) {
	n, ok := f.index[k]
	if !ok {
		n = len(f.rows)
		f.rows = append(f.rows, wanted{rowKey: k})
		f.index[k] = n
		f.low.add()
		if !f.exact {
			f.high.add()
		}
	}
	w := &f.rows[n]
	if len(w.hits) == 0 || w.hits[len(w.hits)-1].slot != slot {
		w.hits = append(w.hits, bounds{slot: slot})
	}
	h := &w.hits[len(w.hits)-1]
	h.high++
	if sure {
		h.low++
		f.sketch(&f.low, uint32(n), rec, added)
	}
	if !f.exact {
		f.sketch(&f.high, uint32(n), rec, true)
	}
}

// sketch adds an event to the sketches of a row.
func (f *reference) sketch(st *states, row uint32, rec *record, added bool) {
	for n, k := range st.of {
		if m := f.spec.Measures[n].Name; k != nil && (m != addedMeasure || added) && (m != farMeasure || rec.far()) {
			k.count(row, f, rec, m)
		}
	}
}

// text returns an id as in the record's JSON, valid until the next call.
func (f *reference) text(prefix string, n int) []byte {
	f.scratch = strconv.AppendInt(append(f.scratch[:0], prefix...), int64(n), 10)
	return f.scratch
}
