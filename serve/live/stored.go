package live

import (
	"cmp"
	"container/list"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// What the sink holds is kept in pieces: one window of one measure, merged over
// the groups that a question chose. A piece is as good as the sink's rows until
// a process writes to its window. Then:
//
//   - this process merges what it flushed itself into the piece, before it
//     frees the rows in memory (flushed). That needs no clock and no query;
//   - flushes of other processes show in the ledger, which is read at most once
//     a second (look). If another process has moved it, the pieces of the
//     windows that were written meanwhile are dropped, and read again for the
//     next question.
//
// Both apply to a piece that is being read too, so a read that begins before a
// flush and ends after it lacks nothing.
//
// The pieces of positions have no content of their own: see places.go.

const (
	// piecesMax is the longest range that is answered by pieces; the sink
	// merges longer ones.
	piecesMax = 2880

	// nearby is how many more windows are read on either side; see around.
	nearby = 16

	// rewritten is how long after this process wrote to a window it is likely to
	// write there again, so that its counts are worth being kept by slot.
	rewritten = time.Minute

	// forgotten is the time without a question after which a series is no longer
	// updated by flushes: pieces whose windows are written are dropped instead.
	forgotten = 10 * time.Second

	// unwatched is the time since the last look after which all pieces are
	// dropped, instead of asking which windows were written since.
	unwatched = 10 * time.Minute
)

// Measures below zero: the counts, as one number for a window, and by slot,
// which is what counts in memory can be merged with. What is partial is no
// matter of windows.
const (
	totalHits = -1
	slotHits  = -2
	partial   = -3
)

// A series is the pieces of one measure for one choice of groups.
type series struct {
	key    string
	m      int
	group  [][]byte
	pieces map[event.Time]*piece
	asked  time.Time
	places *places // of a measure of positions
}

// A piece is one window of a series. Everything but ready is guarded by
// Windows.mu; err and away may be read once ready is closed.
type piece struct {
	of    *series
	from  *source
	start event.Time
	ready chan struct{} // closed when it has been read, or not
	err   error
	away  bool          // the error is that of who read it: called off, or out of time
	age   *list.Element // nil: being read, or gone

	touched bool // by the flush that is being merged in
	found   bool
	value   merging            // what a measure comes to…
	total   uint64             // …or hits…
	slots   map[string][]count // …of which by group and slot
	bytes   int64
}

type count struct {
	slot window.Slot
	n    uint64
}

// stored is all pieces of all jobs.
type stored struct {
	recent list.List // of *piece, the one asked for last in front
	bytes  int64
	Stats
}

func (s *stored) init() { s.recent.Init() }

// progress is how far the sink's rows are known to have come.
type progress struct {
	next  map[window.Origin]int64   // by all processes, when last looked
	round uint64                    // current when the pieces were last held against the sink's rows
	when  time.Time                 // of the last look; zero: never
	own   map[window.Origin]stretch // by this process, up to its last flush
}

// A stretch is offsets [first, next).
type stretch struct{ first, next int64 }

// seriesKey tells series of a job apart.
func seriesKey(m int, group [][]byte) string { return string(appendChoice(nil, m, group)) }

func appendChoice(b []byte, m int, group [][]byte) []byte {
	b = binary.AppendVarint(b, int64(m))
	for _, g := range group {
		if g == nil {
			b = append(b, '*')
			continue
		}
		b = appendText(append(b, '='), g)
	}
	return b
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// pieces are the pieces of [from, until) for the groups of r, read where they
// are not known.
func (w *Windows) pieces(ctx context.Context, took *work, s *source, r *window.Range, m int, from, until event.Time) ([]*piece, error) {
	size := s.spec.Window
	from = s.ceil(from)
	for {
		var all, unknown []*piece
		w.mu.Lock()
		of := s.of(m, r.Group, until)
		for t := from; t < until; t += size {
			p, known := s.piece(of, t)
			all = append(all, p)
			if !known {
				unknown = append(unknown, p)
				w.stored.Misses++
				continue
			}
			w.stored.Hits++
			if p.age != nil {
				w.stored.recent.MoveToFront(p.age)
			}
		}
		if len(unknown) > 0 {
			for t, last := w.around(of, from, until, size); t < last; t += size {
				if p, known := s.piece(of, t); !known {
					unknown = append(unknown, p)
				}
			}
			slices.SortFunc(unknown, func(a, b *piece) int { return cmp.Compare(a.start, b.start) })
		}
		w.mu.Unlock()
		for len(unknown) > 0 { // stretches of neighbours, each with one query
			n := 1
			for n < len(unknown) && unknown[n].start == unknown[n-1].start+size {
				n++
			}
			_ = took.wait(func() error { w.read(ctx, s, unknown[:n]); return nil }) // errors are the pieces'
			unknown = unknown[n:]
		}
		again := false
		for _, p := range all {
			err := took.wait(func() error {
				select {
				case <-p.ready:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if err != nil {
				return nil, err
			}
			switch {
			case p.err == nil:
			case p.away && ctx.Err() == nil:
				again = true // the question that read it ran out of time; this one may have some left
			default:
				return nil, p.err
			}
		}
		if !again {
			return all, nil
		}
	}
}

// of finds or makes the series for a question. It is kept once it has a piece.
func (s *source) of(m int, group [][]byte, until event.Time) (of *series) {
	if s.byMember(m) {
		of = s.upTo(m, s.ceil(until))
	} else {
		key := seriesKey(m, group)
		if of = s.series[key]; of == nil {
			of = &series{key: key, m: m, group: group, pieces: map[event.Time]*piece{}}
		}
	}
	of.asked = time.Now()
	return of
}

// piece finds the piece of a window, or begins one that is to be read.
func (s *source) piece(of *series, start event.Time) (p *piece, known bool) {
	if p = of.pieces[start]; p != nil {
		return p, true
	}
	if of.m == totalHits { // slots will do
		slots := s.series[seriesKey(slotHits, of.group)]
		if slots != nil && slots.pieces[start] != nil && slots.pieces[start].age != nil {
			slots.asked = of.asked
			return slots.pieces[start], true
		}
	}
	p = &piece{of: of, from: s, start: start, ready: make(chan struct{})}
	if of.holdsSketches() {
		p.value = begin(&s.spec.Measures[of.m])
	}
	of.pieces[start] = p
	s.series[of.key] = of
	return p, false
}

// around is from where to where it is worth reading a series if windows within
// [from, until) must be read: it takes the sink hardly longer, and they are what
// is asked for next.
func (w *Windows) around(of *series, from, until, size event.Time) (first, last event.Time) {
	switch {
	case of.places != nil: // has nothing from its edge on
	case of.m < 0 && oneGroup(of.group):
		return max(0, from-nearby*size), until + nearby*size
	case until > w.now(): // these are not yet
		return from, until + nearby*size
	}
	return from, until
}

// read reads neighbours of one series from the sink.
func (w *Windows) read(ctx context.Context, s *source, ps []*piece) {
	of := ps[0].of
	r := &window.Range{From: ps[0].start, Until: ps[len(ps)-1].start + s.spec.Window, Group: of.group}
	// merge has f merge something into the piece of a window.
	merge := func(start event.Time, f func(p *piece) error) error {
		i := int((start - r.From) / s.spec.Window)
		if start < r.From || i >= len(ps) || ps[i].start != start {
			return nil // not a window of this job: a row of another origin
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		ps[i].found = true
		return f(ps[i])
	}
	var err error
	switch {
	case of.m == totalHits:
		err = s.sink.Totals(ctx, r, func(start event.Time, n uint64) {
			_ = merge(start, func(p *piece) error { p.total += n; return nil })
		})
	case of.m == slotHits:
		t := window.NewTable(s.spec)
		if err = s.sink.Counts(ctx, r, t); err == nil {
			t.Seal()
			var key []byte
			var group [][]byte
			for row := range t.Rows {
				group = row.Group(group[:0])
				key = groupKey(key[:0], group)
				_ = merge(row.Window(), func(p *piece) error { p.mergeSlots(key, row); return nil })
			}
		}
	case of.places != nil:
		last := new(geo.Last)
		if err = s.sink.Places(ctx, r, of.m, last); err == nil {
			w.mu.Lock()
			of.places.last.Merge(last)
			w.mu.Unlock()
		}
	default:
		err = s.sink.States(ctx, r, of.m, func(start event.Time, state []byte) error {
			return merge(start, func(p *piece) error { return p.value.mergeState(state) })
		})
		if err != nil {
			err = fmt.Errorf("measure %s: %w", s.spec.Measures[of.m].Name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range ps {
		p.err, p.away = err, err != nil && ctx.Err() != nil
		switch {
		case of.pieces[p.start] != p: // its window was written meanwhile: good for those who wait, not to keep
		case err != nil:
			w.drop(p)
		default:
			p.age = w.stored.recent.PushFront(p)
			w.weigh(p)
		}
		close(p.ready)
	}
	w.evict()
}

// weigh updates the recorded size of a kept piece.
func (w *Windows) weigh(p *piece) {
	const own = 300 // the struct, its entry in the map and in the list
	n := int64(own)
	if p.of.holdsSketches() {
		n += p.value.bytes()
	}
	for group, slots := range p.slots {
		n += int64(len(group)) + 64 + 16*int64(cap(slots))
	}
	w.stored.bytes += n - p.bytes
	p.bytes = n
	if of := p.of; of.places != nil {
		w.stored.bytes += of.places.weigh()
	}
}

// drop removes a piece. Callers that hold it may go on using it.
func (w *Windows) drop(p *piece) {
	delete(p.of.pieces, p.start)
	if len(p.of.pieces) == 0 && p.from.series[p.of.key] == p.of {
		delete(p.from.series, p.of.key)
		if p.of.places != nil {
			w.stored.bytes -= p.of.places.bytes
			p.of.places.bytes = 0
		}
	}
	if p.age != nil {
		w.stored.recent.Remove(p.age)
		w.stored.bytes -= p.bytes
		p.age, p.bytes = nil, 0
	}
}

// room is how many bytes pieces may take now.
func (w *Windows) room() int64 {
	free := w.cfg.Memory / 5 * 4
	for _, s := range w.jobs {
		free -= s.job.Status().MemoryBytes
	}
	answers, _ := w.answers.held()
	snapshots, _ := w.snapshots.held()
	return min(free, w.cfg.Memory/4) - answers - snapshots
}

// evict makes room: it drops the pieces whose last question is the longest ago.
func (w *Windows) evict() {
	if w.stored.bytes == 0 {
		return
	}
	for room := w.room(); w.stored.bytes > room; {
		last := w.stored.recent.Back()
		if last == nil {
			return
		}
		w.drop(last.Value.(*piece))
		w.stored.Evicted++
	}
}

// flushed merges what this process has flushed into the pieces.
func (w *Windows) flushed(s *source, c *window.Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range c.Lines {
		l := &c.Lines[i]
		o := window.Origin{Partition: l.Partition, Epoch: l.Epoch}
		// A line begins where this process began. If that is beyond what it had
		// flushed, another process flushed what is between.
		own, ok := s.seen.own[o]
		if !ok || l.First > own.next || l.Next < own.first {
			own = stretch{l.First, l.Next}
		}
		s.seen.own[o] = stretch{min(own.first, l.First), max(own.next, l.Next)}
	}
	now := time.Now()
	maps.DeleteFunc(s.written, func(_ event.Time, at time.Time) bool { return now.Sub(at) > rewritten })
	for row := range c.Table.Rows {
		s.written[row.Window()] = now
		s.sent = max(s.sent, row.Window())
	}
	if len(s.series) == 0 {
		return
	}
	var touched []*piece
	// at is the piece of a series that something flushed belongs to, if one is
	// kept and still wanted.
	at := func(of *series, start event.Time) *piece {
		p := of.pieces[start]
		switch {
		case p == nil:
		case p.touched:
		case of.m == totalHits || now.Sub(of.asked) > forgotten:
			w.drop(p)
			return nil
		default:
			p.found, p.touched = true, true
			touched = append(touched, p)
		}
		return p
	}
	exact := map[string]*series{} // by the key of a row that one belongs to
	var wild []*series            // of many groups
	var measures []int            // of exact
	for _, of := range s.series {
		switch {
		case of.places != nil:
			of.places.last.Gather(0, c.Table.Places(of.m), func(start int64) bool { return at(of, event.Time(start)) != nil })
		case !oneGroup(of.group):
			wild = append(wild, of)
		default:
			exact[of.key] = of
			if !slices.Contains(measures, of.m) {
				measures = append(measures, of.m)
			}
		}
	}
	var group [][]byte
	var key, text []byte
	take := func(of *series, row window.Row) {
		switch p := at(of, row.Window()); {
		case p == nil:
		case of.m == slotHits:
			text = groupKey(text[:0], group)
			p.mergeSlots(text, row)
		default:
			p.value.mergeRow(row, of.m)
		}
	}
	for row := range c.Table.Rows {
		group = row.Group(group[:0])
		for _, m := range measures {
			key = appendSeriesKey(key[:0], m, group)
			if of := exact[string(key)]; of != nil {
				take(of, row)
			}
		}
		for _, of := range wild {
			if (&window.Range{Group: of.group}).Match(group) {
				take(of, row)
			}
		}
	}
	for _, p := range touched {
		p.touched = false
		if p.value != nil {
			p.value.settle()
		}
		if p.age != nil {
			w.weigh(p)
		}
	}
	w.evict()
}

// lookAge is how long the result of a look at the ledger is used.
const lookAge = time.Second

// look checks whether other processes have flushed, and drops the pieces that
// they have changed. A sink that does not answer soon counts as away. While it
// is away, only one question at a time tries it again, now and then.
func (w *Windows) look(ctx context.Context, s *source) (none struct{}, from origin, err error) {
	if err := w.stillAway(s); err != nil {
		return none, from, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	none, from, err = w.looks.get(ctx, s.spec.Job, func(*work) (struct{}, error) { return none, w.lookNow(ctx, s) })
	w.tried(ctx, s, err)
	return none, from, err
}

func (w *Windows) lookNow(ctx context.Context, s *source) error {
	next, round, err := s.sink.Progress(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	others := false
	for o, n := range next {
		own, known := s.seen.own[o], s.seen.next[o]
		others = others || n > known && (n > own.next || own.first > known)
	}
	// A round may be less than one before if weir_rollups was truncated.
	since, lost := min(s.seen.round, round), time.Since(s.seen.when) > unwatched
	w.mu.Unlock()
	var touched []event.Time
	if others && !lost {
		if touched, err = s.sink.Touched(ctx, since); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range s.series {
		if lost {
			for _, p := range of.pieces {
				w.drop(p)
			}
			continue
		}
		for _, start := range touched {
			if p := of.pieces[start]; p != nil {
				w.drop(p)
				w.stored.Stale++
			}
		}
	}
	s.seen.next, s.seen.when = next, time.Now()
	if others || lost { // only what was held against the rows is as of this round
		s.seen.round = round
	}
	return nil
}

// holdsSketches reports whether its pieces have values: those of counts and of
// positions have not.
func (of *series) holdsSketches() bool { return of.m >= 0 && of.places == nil }

// oneGroup reports whether a choice of groups is of a single one.
func oneGroup(group [][]byte) bool {
	for _, g := range group {
		if g == nil {
			return false
		}
	}
	return true
}

func appendSeriesKey(b []byte, m int, group [][]byte) []byte {
	b = binary.AppendVarint(b, int64(m))
	for _, g := range group {
		b = appendText(append(b, '='), g)
	}
	return b
}

// groupKey names a group among the counts of a window.
func groupKey(b []byte, group [][]byte) []byte {
	for _, g := range group {
		b = appendText(b, g)
	}
	return b
}

// mergeSlots merges a row's counts.
func (p *piece) mergeSlots(group []byte, row window.Row) {
	have := p.slots[string(group)]
	before := len(have)
next:
	for slot, n := range row.Hits {
		for i := range have[:before] {
			if have[i].slot == slot {
				p.total += max(n, have[i].n) - have[i].n
				have[i].n = max(n, have[i].n)
				continue next
			}
		}
		have = append(have, count{slot, n})
		p.total += n
	}
	if p.slots == nil {
		p.slots = map[string][]count{}
	}
	p.slots[string(group)] = have
}

// lacks is by how much merging the rows in memory would raise the total.
func (p *piece) lacks(mem snapshot, r *window.Range) (n uint64) {
	var key []byte
	for row := range mem.matching(&window.Range{From: p.start, Until: p.start + 1, Group: r.Group}) {
		key = groupKey(key[:0], row.group)
		have := p.slots[string(key)]
	next:
		for slot, c := range row.Hits {
			for i := range have {
				if have[i].slot == slot {
					n += max(c, have[i].n) - have[i].n
					continue next
				}
			}
			n += c
		}
	}
	return n
}

// Stats has figures about what is kept, for metrics.
type Stats struct {
	Hits, Misses uint64 // windows that an answer found known, and those that were read
	Stale        uint64 // windows forgotten because another process wrote to them
	Evicted      uint64 // windows forgotten to make room
	Partial      uint64 // answers made without the sink
	Windows      int    // kept now…
	Bytes        int64  // …and about what all that is kept takes
}

// Stats are as of now.
func (w *Windows) Stats() Stats {
	answers, _ := w.answers.held()
	snapshots, _ := w.snapshots.held()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stored.Stats
	s.Windows, s.Bytes = w.stored.recent.Len(), w.stored.bytes+answers+snapshots
	return s
}
