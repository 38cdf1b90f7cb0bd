package sim

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"weir/event"
	"weir/flow/rounds"
	"weir/sketches/geo"
	"weir/window"
)

// A sink is ClickHouse as weir uses it: tables whose rows merge by key. It
// receives bytes, as over a network, so that a later change of a Table does not
// change a sent insert.
type sink struct {
	s    *schedule
	down bool
	up   int // step at which it works again

	rows   []storedRow
	index  map[string]int // by window and group
	states states
	slots  map[window.Slot]uint64 // sum over rows

	places map[placeKey]place
	dead   map[deadKey]window.DeadLetter
	ledger map[partitionEpoch][]window.Line // by first offset

	rolled rollups

	restarts int // how often it went back
	backup   *backup

	tokens map[uint64]bool // for a planted mistake only
}

type storedRow struct {
	key   string
	hits  []hit
	state uint32 // number in states

	start    int64    // of its window, in seconds
	total    uint64   // sum of hits
	acked    []uint64 // by hit: how much of it a writer was told is there
	sure     uint64   // their sum
	stamp    uint64   // the latest round in which it was written
	rolled   uint64   // what the first rollup has
	rolledIn uint64   // the latest round in which that was written; 0: never
	numbers  numbers  // what it has of measures
	flushed  flushed  // of the whole rows that gave numbers
	long     int      // its row of the second rollup
}

// numbers are those of the measures that count ids: users and, if there is one, the added measure.
type numbers [2]uint64

func (n *numbers) raise(o numbers) { n[0], n[1] = max(n[0], o[0]), max(n[1], o[1]) }

// flushed is the greatest pair of how many events a whole row had and how many measures, and the sum of
// these events: of rows that are not merged yet, and so counted twice if an insert is repeated.
type flushed struct {
	events   uint64
	measures int
	copies   uint64
}

type hit struct {
	slot  window.Slot
	count uint64
}

type placeKey struct {
	measure int
	window  event.Time
	member  string
}

type place struct {
	stamp geo.Stamp
	score uint64
}

type deadKey struct {
	epoch     uint8
	partition int32
	offset    int64
}

type partitionEpoch struct {
	epoch     uint8
	partition int32
}

func newSink(s *schedule) *sink {
	k := &sink{
		s: s, index: map[string]int{}, states: newStates(s.spec), slots: map[window.Slot]uint64{},
		places: map[placeKey]place{}, dead: map[deadKey]window.DeadLetter{}, ledger: map[partitionEpoch][]window.Line{},
	}
	if s.mistake == TopsMerged {
		k.states.mergeTops()
	}
	return k
}

// An insert is one request: rows of one table.
type insert struct {
	run          *run // the run that waits for the answer; nil if it is gone
	land, answer int  // steps
	err          error
	keep         float64 // share of the rows that is applied
	token        uint64

	at       rounds.Stamping // of rows
	asks     bool            // it is of rows, perhaps none, and the round is read after it
	rows     []sentRow
	whole    []sentRow // rows whose numbers the rollup gets
	measures []int     // the measure of the spec, by state of a row
	data     []byte
	hits     []hit
	places   []sentPlace
	dead     []window.DeadLetter
	lines    []window.Line
}

// sentRow is a row in an insert: its key and states are spans of data.
type sentRow struct {
	key    []byte
	hits   []hit
	states [][]byte
	stored int // the row of the sink that it was merged into
	numbers
}

type sentPlace struct {
	key   placeKey
	place place
}

// A write is the sequence of inserts that makes changes durable: rows, then the numbers of
// whole ones, positions, dead letters, ledger. Each is sent when the previous one is
// answered.
type write struct {
	stages  []*insert
	at      int
	inserts bool         // it makes nothing durable
	sent    *window.Sent // rows that it makes durable besides; nil: none
}

// next sends the next insert, or reports that there is none.
func (w *write) next(s *schedule, r *run) (done bool) {
	if w.at == len(w.stages) {
		return true
	}
	w.at++
	i := w.stages[w.at-1]
	i.run = r
	if len(i.rows) > 0 {
		i.at = r.m.roller.rows.Begin(r.m.roller.last(s))
	}
	s.network.send(i)
	s.totals.Inserts++
	return false
}

// acknowledged reports whether the insert that was answered last is there in the sense
// of package rounds. If a round was opened meanwhile, it sends it again.
func (w *write) acknowledged(s *schedule, r *run) (bool, error) {
	i := w.stages[w.at-1]
	if !i.asks || w.inserts {
		return true, nil
	}
	if s.sink.down {
		return false, errRefused
	}
	now := r.m.roller.read(s)
	if len(i.rows) > 0 && !i.at.Passes(now) && s.mistake != NeverOvertaken {
		again := *i // the network still has the other one
		again.err = nil
		w.stages[w.at-1] = &again
		s.network.send(&again)
		s.totals.Inserts++
		s.totals.Overtaken++
		return false, nil
	}
	there := []*insert{i}
	switch {
	case w.sent == nil:
	case rounds.Overtaken(w.sent.Round, now) && s.mistake != SentTrusted:
		rows, _ := s.encodeRows(r, r.m.spec, w.sent.Table)
		w.stages = slices.Insert(w.stages, w.at, rows)
		s.totals.Overtaken++
	default:
		there = append(there, r.sent...)
	}
	w.sent = nil
	for _, i := range there {
		for n := range i.rows {
			s.sink.rows[i.rows[n].stored].acknowledge(i.rows[n].hits)
		}
	}
	return true, nil
}

// acknowledge notes counts that a writer was told are there.
func (r *storedRow) acknowledge(hits []hit) {
	for len(r.acked) < len(r.hits) {
		r.acked = append(r.acked, 0)
	}
	for _, h := range hits {
		for n := range r.hits {
			if r.hits[n].slot == h.slot && r.acked[n] < h.count {
				r.sure += h.count - r.acked[n]
				r.acked[n] = h.count
			}
		}
	}
}

// encode encodes changes as the inserts of a write.
func (s *schedule) encode(r *run, c *window.Changes) *write {
	w := &write{sent: c.Sent}
	s.encodeTable(r, w, c)
	if len(c.Dead) > 0 {
		w.stages = append(w.stages, &insert{dead: slices.Clone(c.Dead)})
	}
	if len(c.Lines) > 0 {
		w.stages = append(w.stages, &insert{lines: slices.Clone(c.Lines)})
	}
	if s.mistake == LedgerFirst {
		slices.Reverse(w.stages)
	}
	return w
}

// encodeInsert encodes the rows of changes, and the positions.
func (s *schedule) encodeInsert(r *run, c *window.Changes) *write {
	w := &write{inserts: true}
	s.encodeTable(r, w, c)
	return w
}

// encodeTable appends the inserts of rows, of numbers and of positions to a write.
func (s *schedule) encodeTable(r *run, w *write, c *window.Changes) {
	if c.Table.Len() > 0 || c.Sent != nil {
		rows, numbers := s.encodeRows(r, r.m.spec, c.Table)
		rows.token = r.cheat.token(c)
		if w.stages = append(w.stages, rows); len(numbers.whole) > 0 && !w.inserts {
			w.stages = append(w.stages, numbers)
		}
	}
	for m := range r.m.spec.Measures {
		if places := c.Table.Positions(m); places != nil && places.Len() > 0 {
			i := &insert{}
			places.Each(func(at int64, member []byte, st geo.Stamp, score uint64) bool {
				i.places = append(i.places, sentPlace{placeKey{m, event.Time(at), string(member)}, place{st, score}})
				return true
			})
			w.stages = append(w.stages, i)
		}
	}
}

// encodeRows encodes the rows of a table and, as another insert, the numbers of those that are whole. A sink
// decides by the cost whether to write these.
func (s *schedule) encodeRows(r *run, spec *window.Spec, t *window.Table) (i, numbers *insert) {
	i = &insert{asks: true, rows: make([]sentRow, 0, t.Len())}
	for m := range spec.Measures {
		if !spec.Measures[m].Kind.ByMember {
			i.measures = append(i.measures, m)
		}
	}
	var group [2][]byte
	states := make([][]byte, 0, t.Len()*len(i.measures))
	numbers = &insert{measures: i.measures}
	gives := s.rolls.IntN(4) > 0
	// Slices of data stay valid when data moves to a larger array.
	i.data = make([]byte, 0, 64*t.Len())
	for row := range t.Rows {
		from := len(i.data)
		i.data = appendKey(i.data, row.Window(), row.Group(group[:0])...)
		sent := sentRow{key: i.data[from:len(i.data):len(i.data)]}
		at := len(i.hits)
		for slot, n := range row.Hits {
			i.hits = append(i.hits, s.mistake.hit(r, sent.key, hit{slot, n}))
		}
		sent.hits = i.hits[at:len(i.hits):len(i.hits)]
		at = len(states)
		for _, m := range i.measures {
			from := len(i.data)
			i.data = row.AppendState(i.data, m)
			states = append(states, i.data[from:len(i.data):len(i.data)])
		}
		sent.states = states[at:len(states):len(states)]
		if gives && row.Whole() {
			sent.numbers = s.numbers(spec, row.Number)
			numbers.whole = append(numbers.whole, sent)
		}
		i.rows = append(i.rows, sent)
	}
	s.totals.Rows += len(i.rows)
	return i, numbers
}

// appendKey appends a row's key: its window and the texts of its group.
func appendKey(dst []byte, at event.Time, group ...[]byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(at))
	for _, text := range group {
		dst = append(dst, text...)
		dst = append(dst, 0)
	}
	return dst
}

// keyWindow returns the window of a key.
func keyWindow(key string) event.Time { return event.Time(binary.BigEndian.Uint64([]byte(key[:8]))) }

// apply merges an insert into the tables. Of a partial insert any rows may be
// missing, because ClickHouse divides a block by the table's partitions. The
// ledger has no partitions: of lines sent in several blocks, the first ones
// land.
func (k *sink) apply(i *insert) {
	s := k.s
	missing := func() bool { return i.keep < 1 && s.faults.Float64() >= i.keep }
	if s.mistake == Tokens && len(i.rows) > 0 {
		if k.tokens[i.token] {
			return
		}
		if k.tokens == nil {
			k.tokens = map[uint64]bool{}
		}
		k.tokens[i.token] = true
	}
	for n := range i.rows {
		if !missing() {
			k.merge(&i.rows[n], i.measures, i.at.Stamp)
		}
	}
	for n := range i.whole {
		if !missing() {
			k.finish(&i.whole[n], len(i.measures))
		}
	}
	for _, p := range i.places {
		if old, ok := k.places[p.key]; !missing() && (!ok || old.stamp.Compare(p.place.stamp) < 0) {
			k.places[p.key] = p.place
		}
	}
	for _, d := range i.dead {
		if missing() {
			continue
		}
		key := deadKey{d.Epoch, d.Partition, d.Offset}
		if old, ok := k.dead[key]; ok && (old.Outcome != d.Outcome || old.Reason != d.Reason || old.Time != d.Time || string(old.Payload) != string(d.Payload) || old.Size != d.Size) {
			s.fail("dead letter %v was %s (%s), now is %s (%s)", key, old.Outcome, old.Reason, d.Outcome, d.Reason)
		}
		k.dead[key] = d
	}
	for n := range i.lines[:int(float64(len(i.lines))*i.keep)] {
		k.enter(&i.lines[n])
	}
	s.note(uint64(len(i.rows))<<48 | uint64(len(i.dead))<<24 | uint64(len(i.lines)))
}

func (k *sink) merge(row *sentRow, measures []int, stamp uint64) {
	s := k.s
	n, ok := k.index[string(row.key)]
	if !ok {
		n = len(k.rows)
		k.rows = append(k.rows, storedRow{key: string(row.key), state: k.states.add()})
		k.index[k.rows[n].key] = n
		k.entered(n)
	}
	stored := &k.rows[n]
	row.stored = n
	stored.stamp = max(stored.stamp, stamp)
	for _, h := range row.hits {
		more := stored.merge(h, s.mistake)
		k.slots[h.slot] += more
		stored.total += more
	}
	if s.mistake == LastWins {
		stored.state = k.states.add()
	}
	for at, m := range measures {
		if err := k.states.merge(stored.state, m, row.states[at]); err != nil {
			s.fail("state of measure %s: %v", s.spec.Measures[m].Name, err)
		}
	}
}

// finish merges the numbers of a whole row into the rollup. Its state row is there.
func (k *sink) finish(row *sentRow, measures int) {
	n, ok := k.index[string(row.key)]
	if !ok {
		k.s.fail("the rollup gets the numbers of row %s, which is not there", name(row.key))
		return
	}
	stored, is := &k.rows[n], flushed{measures: measures}
	for _, h := range row.hits {
		is.events += h.count
	}
	stored.rolled = max(stored.rolled, is.events)
	stored.numbers.raise(row.numbers)
	is.copies = stored.flushed.copies + is.events
	if old := stored.flushed; cmp.Or(cmp.Compare(old.events, is.events), cmp.Compare(old.measures, is.measures)) > 0 {
		is.events, is.measures = old.events, old.measures
	}
	stored.flushed = is
}

// numbers returns what of has of the measures that count ids.
func (s *schedule) numbers(spec *window.Spec, of func(m int) uint64) (n numbers) {
	n[0] = of(0)
	if last := len(spec.Measures) - 1; spec.Measures[last].Name == addedMeasure {
		n[1] = of(last)
	}
	return n
}

// merge merges a count and returns by how much the row's count changed.
func (r *storedRow) merge(h hit, m Mistake) uint64 {
	for n := len(r.hits) - 1; n >= 0; n-- {
		if old := &r.hits[n]; old.slot == h.slot {
			before := old.count
			switch m {
			case Increments, Tokens:
				old.count += h.count
			case LastWins:
				old.count = h.count
			default:
				old.count = max(old.count, h.count)
			}
			return old.count - before
		}
	}
	r.hits = append(r.hits, h)
	return h.count
}

// enter merges a ledger line. The rows that it covers must be there already.
func (k *sink) enter(l *window.Line) {
	k.s.epochs = max(k.s.epochs, int(l.Epoch))
	key := partitionEpoch{l.Epoch, l.Partition}
	if l.First == l.Next {
		k.backup = nil // that an epoch is in use is not forgotten: docs/proof.md says why
	}
	lines := k.ledger[key]
	n, found := slices.BinarySearchFunc(lines, l, func(a window.Line, b *window.Line) int {
		return cmp.Or(cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.First, b.First))
	})
	if !found {
		k.ledger[key] = slices.Insert(lines, n, *l)
	} else {
		old := &lines[n]
		old.Next = max(old.Next, l.Next)
		old.Watermark = max(old.Watermark, l.Watermark)
		if slices.Compare(old.TopicID[:], l.TopicID[:]) < 0 {
			old.TopicID = l.TopicID
		}
		for f := range old.Outcomes {
			old.Outcomes[f] = max(old.Outcomes[f], l.Outcomes[f])
		}
		old.Events.Raise(&l.Events)
		old.Saved = max(old.Saved, l.Saved)
	}
	have, strained := uint64(0), false
	for slot := l.Slot(); slot < l.Slot()+window.Slot(max(1, l.Block(k.s.spec.Chunk))); slot++ {
		have, strained = have+k.slots[slot], strained || k.s.strained(slot)
	}
	if have < l.Hits() && !strained {
		k.s.fail("a ledger line says %d events of partition %d, chunk %d were counted; the rows hold %d", l.Hits(), l.Partition, l.Chunk, have)
	}
}

// folds returns what one line can stand for, as a process reads it.
func (k *sink) folds() (all []window.Past) {
	for _, key := range slices.SortedFunc(maps.Keys(k.ledger), func(a, b partitionEpoch) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.partition, b.partition))
	}) {
		f := window.Folder{Chunk: k.s.spec.Chunk}
		for _, l := range k.ledger[key] {
			f.Add(window.Past{Line: l})
		}
		all = append(all, f.Folds()...)
	}
	return all
}

// remove deletes what folds cover.
func (k *sink) remove(folds []window.Past) {
	for _, f := range folds {
		key := partitionEpoch{f.Epoch, f.Partition}
		k.ledger[key] = slices.DeleteFunc(slices.Clone(k.ledger[key]), func(l window.Line) bool { return f.Covers(&l) })
	}
}

// known returns the ledger's state of a partition.
func (k *sink) known(partition int32) *window.Known {
	var known *window.Known
	for epoch := range k.s.epochs + 1 {
		for _, l := range k.ledger[partitionEpoch{uint8(epoch), partition}] {
			known = known.With(l.Known())
		}
	}
	return known
}

// knowledge returns the ledger's state of all partitions.
func (k *sink) knowledge() map[int32]window.Known {
	all := map[int32]window.Known{}
	for key := range k.ledger {
		all[key.partition] = *k.known(key.partition)
	}
	return all
}

// knows reports whether the ledger has a line of a topic's partition.
func (k *sink) knows(partition int32, t *topic) bool {
	for known := k.known(partition); known != nil; known = known.Earlier {
		if known.TopicID == t.id {
			return true
		}
	}
	return false
}

// reach returns the offset that a partition's ledger has reached without a hole, and
// the offset where it begins; 0, 0 if there is none. A line that only opens the
// partition does not count for where it begins.
func (k *sink) reach(key partitionEpoch) (first, next int64) {
	for n, l := range k.ledger[key] {
		switch {
		case n == 0 || first == next:
			first, next = l.First, l.Next
		case l.First <= next:
			next = max(next, l.Next)
		default:
			return first, next
		}
	}
	return first, next
}

// durable reports whether everything before an offset is in the tables.
func (k *sink) durable(epoch uint8, partition int32, offset int64) bool {
	_, next := k.reach(partitionEpoch{epoch, partition})
	return next >= offset
}
