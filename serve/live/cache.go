package live

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"sync"
	"time"

	"weir/event"
	"weir/window"
)

// A cache keeps what the sink holds, in entries: one window of one measure, merged
// over the groups that a question chose. An entry is as good as the sink's rows until
// a process writes to its window. Then:
//
//   - this process merges what it flushed itself into the entry, before it frees the
//     rows in memory (flushed). That needs no clock and no query;
//   - flushes of other processes show in the ledger (freshness.go): the entries of the
//     windows that were written are dropped, and read again for the next question.
//
// Both apply to an entry that is being read too, so a read that begins before a
// flush and ends after it lacks nothing.
//
// The cache owns one lock. It guards everything in the cache and its jobCaches, series and
// entries, with the exceptions that entry names. Methods take the lock, except those whose
// comment says that the lock is held.
//
// The entries of positions have no content of their own: see positions.go.
type cache struct {
	memory int64                        // the memory budget of the process; 0: nothing is cached
	taken  func() (jobs, answers int64) // how much of it is taken, see Windows.taken

	mu     sync.Mutex
	recent list.List // of *entry, the one asked for last in front
	bytes  int64
	stats  Stats
}

// A jobCache is the part of a cache that is about one job.
type jobCache struct {
	all    *cache
	spec   *window.Spec
	series map[string]*series

	written map[event.Time]time.Time // when this process last wrote to which window
	sent    event.Time               // the latest window that the sink may have rows of
	seen    progress
}

// A series is the entries of one measure for one choice of groups.
type series struct {
	id        string
	job       *jobCache
	m         int
	group     [][]byte
	entries   map[event.Time]*entry
	asked     time.Time
	positions *positions // of a measure by member
}

// An entry is one window of a series. Without the lock, of and ready may be read, and err
// and away once ready is closed.
type entry struct {
	of    *series
	start event.Time
	ready chan struct{} // closed when the entry was read, or could not be
	err   error
	away  bool          // err is that of a question that was called off or out of time, not of the sink
	place *list.Element // in cache.recent; nil: being read, or dropped

	touched bool // by the flush that is being merged in
	found   bool
	value   merging                // what a measure comes to…
	total   uint64                 // …or hits…
	slots   map[string][]slotCount // …of which by group and slot
	bytes   int64
}

type slotCount struct {
	slot window.Slot
	n    uint64
}

const (
	// nearby is how many more windows are read on either side; see around.
	nearby = 16

	// rewritten is how long after this process wrote to a window it is likely to
	// write there again, so that its counts are worth being kept by slot.
	rewritten = time.Minute

	// forgotten is the time without a question after which a series is no longer
	// updated by flushes: entries whose windows are written are dropped instead.
	forgotten = 10 * time.Second
)

func newCache(memory int64, taken func() (jobs, answers int64)) *cache {
	return &cache{memory: memory, taken: taken}
}

// job returns the cache of a job that begins at a time.
func (c *cache) job(spec *window.Spec, now event.Time) *jobCache {
	return &jobCache{
		all: c, spec: spec, series: map[string]*series{}, written: map[event.Time]time.Time{},
		sent: now - now%spec.Window, seen: progress{own: map[window.Origin]offsets{}},
	}
}

// enabled reports whether anything is cached.
func (j *jobCache) enabled() bool { return j.all.memory > 0 }

// ceil returns the first start of a window at a time or after it.
func (j *jobCache) ceil(t event.Time) event.Time {
	if off := t % j.spec.Window; off > 0 {
		t += j.spec.Window - off
	}
	return t
}

// find returns the entries of the windows that start in [from, until), for a measure
// and a choice of groups. missing are those of them, and of windows nearby, that the
// caller has to read, oldest first; others may be being read.
func (j *jobCache) find(m int, group [][]byte, from, until, now event.Time) (all, missing []*entry) {
	c, size := j.all, j.spec.Window
	c.mu.Lock()
	defer c.mu.Unlock()
	of := j.of(m, group, until)
	for t := from; t < until; t += size {
		e, known := j.entry(of, t)
		all = append(all, e)
		if !known {
			missing = append(missing, e)
			c.stats.Misses++
			continue
		}
		c.stats.Hits++
		if e.place != nil {
			c.recent.MoveToFront(e.place)
		}
	}
	if len(missing) > 0 {
		for t, last := of.around(from, until, now); t < last; t += size {
			if e, known := j.entry(of, t); !known {
				missing = append(missing, e)
			}
		}
		slices.SortFunc(missing, func(a, b *entry) int { return cmp.Compare(a.start, b.start) })
	}
	return all, missing
}

// of finds or makes the series for a question. It is kept once it has an entry. The
// lock is held.
func (j *jobCache) of(m int, group [][]byte, until event.Time) (of *series) {
	if m >= 0 && j.spec.Measures[m].Kind.ByMember() {
		of = j.positionsUpTo(m, j.ceil(until))
	} else {
		id := seriesID(m, group)
		if of = j.series[id]; of == nil {
			of = &series{id: id, job: j, m: m, group: group, entries: map[event.Time]*entry{}}
		}
	}
	of.asked = time.Now()
	return of
}

// entry finds the entry of a window, or makes one that is to be read. The lock is
// held.
func (j *jobCache) entry(of *series, start event.Time) (e *entry, known bool) {
	if e = of.entries[start]; e != nil {
		return e, true
	}
	if of.m == totalHits { // counts by slot have the total too
		slots := j.series[seriesID(slotHits, of.group)]
		if slots != nil && slots.entries[start].cached() {
			slots.asked = of.asked
			return slots.entries[start], true
		}
	}
	e = &entry{of: of, start: start, ready: make(chan struct{})}
	if of.holdsSketches() {
		e.value = begin(j.spec, of.m)
	}
	of.entries[start] = e
	j.series[of.id] = of
	return e, false
}

// around returns the range that is read if windows within [from, until) must be read:
// reading a few neighbours as well takes the sink hardly longer, and they are likely to be
// asked for next.
func (of *series) around(from, until, now event.Time) (first, last event.Time) {
	size := of.job.spec.Window
	switch {
	case of.positions != nil: // has nothing from its edge on
	case of.m < 0 && oneGroup(of.group):
		return max(0, from-nearby*size), until + nearby*size
	case until > now: // the windows after now have no rows yet
		return from, until + nearby*size
	}
	return from, until
}

// cached reports whether an entry is kept: not nil, not dropped and not being read.
func (e *entry) cached() bool { return e != nil && e.place != nil }

// holdsSketches reports whether the entries have values: those of counts and of
// positions have not.
func (of *series) holdsSketches() bool { return of.m >= 0 && of.positions == nil }

// seriesID tells the series of a job apart.
func seriesID(m int, group [][]byte) string { return string(appendChoice(nil, m, group)) }

// groupID names a group among the counts of a window.
func groupID(b []byte, group [][]byte) []byte {
	for _, g := range group {
		b = appendText(b, g)
	}
	return b
}

// merge lets f merge something that was read into the entry of a window, which is
// one of es, neighbours that are being read. Other windows are ignored: a row of
// another origin.
func (c *cache) merge(es []*entry, start event.Time, f func(e *entry) error) error {
	first, size := es[0].start, es[0].of.job.spec.Window
	i := int((start - first) / size)
	if start < first || i >= len(es) || es[i].start != start {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	es[i].found = true
	return f(es[i])
}

// read ends the reading of entries. away says that the question that read them was
// called off or out of time.
func (c *cache) read(es []*entry, err error, away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range es {
		e.err, e.away = err, err != nil && away
		switch {
		case e.of.entries[e.start] != e: // its window was written meanwhile: right for the questions that wait, not to be cached
		case err != nil:
			c.drop(e)
		default:
			e.place = c.recent.PushFront(e)
			c.weigh(e)
		}
		close(e.ready)
	}
	c.evict()
}

// weigh updates the recorded size of a cached entry. The lock is held.
func (c *cache) weigh(e *entry) {
	const own = 300 // the struct, its entry in the map and in the list
	n := int64(own)
	if e.of.holdsSketches() {
		n += e.value.bytes()
	}
	for group, slots := range e.slots {
		n += int64(len(group)) + 64 + 16*int64(cap(slots))
	}
	c.bytes += n - e.bytes
	e.bytes = n
	if of := e.of; of.positions != nil {
		c.bytes += of.positions.weigh()
	}
}

// drop removes an entry. Questions that hold it may go on using it. The lock is held.
func (c *cache) drop(e *entry) {
	of := e.of
	delete(of.entries, e.start)
	if len(of.entries) == 0 && of.job.series[of.id] == of {
		delete(of.job.series, of.id)
		if of.positions != nil {
			c.bytes -= of.positions.bytes
			of.positions.bytes = 0
		}
	}
	if e.place != nil {
		c.recent.Remove(e.place)
		c.bytes -= e.bytes
		e.place, e.bytes = nil, 0
	}
}

// room returns how many bytes the entries may take now.
func (c *cache) room() int64 {
	jobs, answers := c.taken()
	return min(c.memory/5*4-jobs, c.memory/4) - answers
}

// evict makes room: it drops the entries whose last question is the longest ago. The
// lock is held.
func (c *cache) evict() {
	if c.bytes == 0 {
		return
	}
	for room := c.room(); c.bytes > room; {
		last := c.recent.Back()
		if last == nil {
			return
		}
		c.drop(last.Value.(*entry))
		c.stats.Evicted++
	}
}

// figures returns the statistics, without what answers and snapshots take.
func (c *cache) figures() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Windows, s.Bytes = c.recent.Len(), c.bytes
	return s
}

// mergeInto merges what entries hold into a value, and reports whether there is
// anything.
func (j *jobCache) mergeInto(v merging, entries []*entry) (found bool) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	return mergeEntries(v, entries)
}

// mergeEntries is mergeInto while the lock is held.
func mergeEntries(v merging, entries []*entry) (found bool) {
	var values []merging
	for _, e := range entries {
		if e.found {
			values = append(values, e.value)
		}
	}
	v.mergeAll(values)
	return len(values) > 0
}

// total returns the number of events of entries of hits.
func (j *jobCache) total(entries []*entry) (n uint64) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	for _, e := range entries {
		n += e.total
	}
	return n
}

// totalWith returns the number of events of entries by slot, merged with the rows in
// memory.
func (j *jobCache) totalWith(entries []*entry, mem snapshot, r *window.Range) (n uint64) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	for _, e := range entries {
		n += e.total + e.lacks(mem, r)
	}
	return n
}

// appendWritten appends the windows of a range that this process wrote to lately.
func (j *jobCache) appendWritten(starts []event.Time, r *window.Range) []event.Time {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	for start, at := range j.written {
		if start >= r.From && start < r.Until && time.Since(at) < rewritten {
			starts = append(starts, start)
		}
	}
	return starts
}

// mergeSlots merges a row's counts.
func (e *entry) mergeSlots(group []byte, row window.Row) {
	have := e.slots[string(group)]
	before := len(have)
next:
	for slot, n := range row.Hits {
		for i := range have[:before] {
			if have[i].slot == slot {
				e.total += max(n, have[i].n) - have[i].n
				have[i].n = max(n, have[i].n)
				continue next
			}
		}
		have = append(have, slotCount{slot, n})
		e.total += n
	}
	if e.slots == nil {
		e.slots = map[string][]slotCount{}
	}
	e.slots[string(group)] = have
}

// lacks returns by how much merging the rows in memory would raise the total.
func (e *entry) lacks(mem snapshot, r *window.Range) (n uint64) {
	var id []byte
	for row := range mem.matching(&window.Range{From: e.start, Until: e.start + 1, Group: r.Group}) {
		id = groupID(id[:0], row.group)
		have := e.slots[string(id)]
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

// flushed merges what this process has flushed into the cache. A job calls it after
// the sink has acknowledged the changes, and before it frees their rows.
func (j *jobCache) flushed(changes *window.Changes) {
	c := j.all
	c.mu.Lock()
	defer c.mu.Unlock()
	j.seen.flushed(changes.Lines)
	now := time.Now()
	maps.DeleteFunc(j.written, func(_ event.Time, at time.Time) bool { return now.Sub(at) > rewritten })
	for row := range changes.Table.Rows {
		j.written[row.Window()] = now
		j.sent = max(j.sent, row.Window())
	}
	if len(j.series) == 0 {
		return
	}
	u := update{job: j, now: now}
	u.positions(changes.Table)
	u.rows(changes.Table)
	for _, e := range u.touched {
		e.touched = false
		if e.value != nil {
			e.value.settle()
		}
		if e.place != nil {
			c.weigh(e)
		}
	}
	c.evict()
}

// An update is one flush while it is merged into the cache, under the lock.
type update struct {
	job     *jobCache
	now     time.Time
	touched []*entry
}

// entry returns the entry of a series that something flushed belongs to, if one is
// kept and still wanted.
func (u *update) entry(of *series, start event.Time) *entry {
	e := of.entries[start]
	switch {
	case e == nil:
	case e.touched:
	case of.m == totalHits || u.now.Sub(of.asked) > forgotten:
		u.job.all.drop(e)
		return nil
	default:
		e.found, e.touched = true, true
		u.touched = append(u.touched, e)
	}
	return e
}

// positions merges the positions of a table.
func (u *update) positions(t *window.Table) {
	for _, of := range u.job.series {
		if of.positions != nil {
			of.positions.last.Gather(0, t.Places(of.m), func(start int64) bool { return u.entry(of, event.Time(start)) != nil })
		}
	}
}

// rows merges the rows of a table. A series of one group is found by the row's group;
// the series of many groups are compared with each row.
func (u *update) rows(t *window.Table) {
	exact := map[string]*series{}
	var many []*series
	var measures []int // of exact
	for _, of := range u.job.series {
		switch {
		case of.positions != nil:
		case !oneGroup(of.group):
			many = append(many, of)
		default:
			exact[of.id] = of
			if !slices.Contains(measures, of.m) {
				measures = append(measures, of.m)
			}
		}
	}
	var group [][]byte
	var id, text []byte
	take := func(of *series, row window.Row) {
		switch e := u.entry(of, row.Window()); {
		case e == nil:
		case of.m == slotHits:
			text = groupID(text[:0], group)
			e.mergeSlots(text, row)
		default:
			e.value.mergeRow(row, of.m)
		}
	}
	for row := range t.Rows {
		group = row.Group(group[:0])
		for _, m := range measures {
			id = appendChoice(id[:0], m, group)
			if of := exact[string(id)]; of != nil {
				take(of, row)
			}
		}
		for _, of := range many {
			if (&window.Range{Group: of.group}).Match(group) {
				take(of, row)
			}
		}
	}
}
