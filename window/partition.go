package window

import (
	"bytes"
	"slices"

	"weir/event"
	"weir/internal/cacheline"
	"weir/internal/hashtable"
)

// A Partition is the state of one Kafka partition that an operator counts: the
// next offset and its chunk, which groups of the chunk keep their name, which
// ids were seen, and the counts of the chunk being read.
//
// Everything in it but the memory of ids and the limiters starts empty at the beginning
// of a chunk. Therefore every process that reads a chunk from its beginning
// gets the same counts.
type Partition struct {
	_         cacheline.Pad
	spec      *Spec
	partition int32
	epoch     uint8
	topicID   [16]byte

	next    int64 // next offset to decide
	start   int64 // offsets below it are warm-up
	durable int64 // offsets below it were durable before this owner began

	// The chunk being read.
	first     int64 // first offset of it that was read
	outcomes  [Outcomes]uint64
	events    Events
	watermark event.Time
	groups    interner
	cells     []cell
	tallies   []Tally                 // by measure; nil for one that is not Additive
	index     hashtable.Table[uint32] // cells by (window, group)
	dirty     []uint32                // cells whose count has changed since the last Take

	seen, before memory // ids of this chunk and the one before; nil without dedupe

	// The limiters of the keys since the beginning of this chunk, and since that of the
	// one before; nil without throttle. The latter decide.
	young, old *throttler

	moved   bool       // next has moved since the last Take
	highest event.Time // watermark of the chunks before; only shown, never stored
	record  event.Time // Kafka time of the last record; only shown, never stored
	_       cacheline.Pad
}

// A cell is the count of one (window, group) in the chunk.
type cell struct {
	window event.Time
	group  uint32
	count  uint32 // a chunk has less than 2^31 events
	row    uint32 // the group's row in the operator's table…
	gen    uint32 // …of this generation
}

// newPartition makes the state of a partition as the plan says.
func newPartition(spec *Spec, p Plan) *Partition {
	pt := &Partition{
		spec: spec, partition: p.Partition, epoch: p.Epoch, topicID: p.TopicID,
		next: p.Warm, start: p.Start, durable: p.Durable, first: p.Warm, moved: true,
	}
	if p.Committed < 0 {
		pt.durable-- // the group has no position yet, so committing Durable itself is useful
	}
	pt.groups.limit = spec.MaxGroups
	for i := range spec.Measures {
		m, tally := &spec.Measures[i], Tally(nil)
		if m.Kind.Additive {
			tally = m.Kind.Tally(m)
		}
		pt.tallies = append(pt.tallies, tally)
	}
	pt.seen, pt.before = newMemory(spec), newMemory(spec)
	pt.young, pt.old = newThrottler(spec.Throttle), newThrottler(spec.Throttle)
	return pt
}

// chunk returns the index of the chunk that holds the next offset.
func (pt *Partition) chunk() int64 { return pt.next / pt.spec.Chunk }

// warming reports whether the next offset only warms the memory of ids.
func (pt *Partition) warming() bool { return pt.next < pt.start }

func (pt *Partition) line() Line {
	return Line{
		Partition: pt.partition, Epoch: pt.epoch, Chunk: pt.first / pt.spec.Chunk, First: pt.first, Next: pt.next,
		Outcomes: pt.outcomes, Events: pt.events, Watermark: pt.watermark, TopicID: pt.topicID,
		Saved: pt.save(),
	}
}

// turn begins the chunk at pt.next. The operator has collected the one before.
func (pt *Partition) turn() {
	pt.first = pt.next
	pt.highest = max(pt.highest, pt.watermark)
	pt.outcomes, pt.events = [Outcomes]uint64{}, Events{}
	pt.watermark = 0
	pt.groups.reset()
	pt.cells, pt.dirty = pt.cells[:0], pt.dirty[:0]
	pt.index.Reset()
	for _, t := range pt.tallies {
		if t != nil {
			t.Reset()
		}
	}
	if pt.seen != nil {
		pt.seen, pt.before = pt.before, pt.seen
		pt.seen.Reset()
	}
	if pt.young != nil {
		pt.young, pt.old = pt.old, pt.young
		pt.young.reset()
	}
}

// slot returns the slot of the chunk being read.
func (pt *Partition) slot() Slot {
	return MakeSlot(pt.epoch, pt.partition, pt.first/pt.spec.Chunk)
}

// report puts into the table what has changed since the last call: counts and tallies,
// each as the total of its chunk so far.
func (pt *Partition) report(to *Table) {
	slot := pt.slot()
	for _, i := range pt.dirty {
		c := &pt.cells[i]
		to.hits = append(to.hits, hit{c.row, slot, uint64(c.count)})
	}
	for m, t := range pt.tallies {
		if t == nil {
			continue
		}
		for _, i := range pt.dirty {
			t.Report(i, slot, to.columns[m], pt.cells[i].row)
		}
	}
	pt.dirty = pt.dirty[:0]
}

// repeat adds an id to the memory of this chunk and reports whether it was seen
// in this chunk, or in the one before. It adds repeated ids too: the content of
// a chunk's memory must not depend on the chunk before it, so that a warm-up
// can rebuild it.
func (pt *Partition) repeat(id id) (here, before bool) {
	return pt.seen.TestAndAdd(id), pt.before.Has(id)
}

// ofChunk returns those of some records, the first of which is in the chunk being read, that are in it.
func (pt *Partition) ofChunk(records []event.Record) []event.Record {
	end := (pt.chunk() + 1) * pt.spec.Chunk
	if records[len(records)-1].Offset < end {
		return records
	}
	return records[:slices.IndexFunc(records, func(r event.Record) bool { return r.Offset >= end })]
}

// decide gives the events of a block their outcomes. Those that count are live then.
func (pt *Partition) decide(d *Decoder) {
	d.decode()
	if pt.spec.LooksBack() {
		for _, e := range d.live {
			if f := pt.look(d, e); f != Counted {
				d.refuse(e, f, "")
			}
		}
		d.settle()
	}
}

// look returns the outcome of an event that would be Counted by itself, after what the
// partition remembers of others.
//
// The young limiters must not depend on the chunk before, so that a warm-up can rebuild
// them: they also see an event that is a repeat of one in the chunk before.
func (pt *Partition) look(d *Decoder, e Entry) Outcome {
	at, here, before := pt.clock(d, e), false, false
	if pt.seen != nil {
		here, before = pt.repeat(d.ids[e])
	}
	if here {
		return Duplicate
	}
	if pt.young != nil {
		pt.young.allow(d.keys[e], at)
	}
	switch {
	case before:
		return Duplicate
	case pt.old != nil && !pt.old.allow(d.keys[e], at):
		return Throttled
	}
	return Counted
}

// clock returns the time of an event that moves the limiters and the watermark: at most the time
// of its record. A client chooses the time of an event, so one with a fast clock would otherwise
// use up the limits of the next minutes, and pass the ends of windows that are still open.
func (pt *Partition) clock(d *Decoder, e Entry) event.Time { return min(d.times[e], d.record(e)) }

// pass moves the watermark to a counted event.
func (pt *Partition) pass(d *Decoder, e Entry) { pt.watermark = max(pt.watermark, pt.clock(d, e)) }

// cell finds or makes the cell of a window and a group.
func (pt *Partition) cell(window event.Time, g *group, id uint32) *cell {
	if g.cell != 0 && pt.cells[g.cell-1].window == window {
		return &pt.cells[g.cell-1]
	}
	hash := rowHash(window, uint64(id)*0xff51afd7ed558ccd)
	at := pt.index.First(hash)
	for ; at >= 0; at = pt.index.Next(at) {
		i := *pt.index.At(at)
		if c := &pt.cells[i]; c.group == id && c.window == window {
			g.cell = i + 1
			return c
		}
	}
	pt.index.Insert(at, hash, uint32(len(pt.cells)))
	pt.cells = append(pt.cells, cell{window: window, group: id})
	for _, t := range pt.tallies {
		if t != nil {
			t.Grow(len(pt.cells))
		}
	}
	g.cell = uint32(len(pt.cells))
	return &pt.cells[g.cell-1]
}

// Bytes returns about how many bytes the partition holds in memory.
func (pt *Partition) Bytes() int {
	n := cap(pt.cells)*24 + pt.index.Bytes() + cap(pt.dirty)*4 + pt.groups.bytes()
	for _, t := range pt.tallies {
		if t != nil {
			n += t.Bytes()
		}
	}
	if pt.seen != nil {
		n += pt.seen.Bytes() + pt.before.Bytes()
	}
	if pt.young != nil {
		n += pt.young.bytes() + pt.old.bytes()
	}
	return n
}

// interner numbers the groups of one chunk in the order of their first offset.
// Once limit groups have numbers, a new group gets the number of Other. Every
// process that reads the chunk from its beginning gets the same numbers.
type interner struct {
	limit  int
	groups []group
	keys   []byte
	index  hashtable.Table[uint32] // groups by key
	other  uint32                  // group + 1; 0: not needed yet
	beyond uint64                  // how many events went to Other since the last Take; only shown, never stored
}

type group struct {
	hash     uint64
	key, len uint32
	cell     uint32 // the last used cell of the group + 1: most events hit the same window
}

func (in *interner) reset() {
	in.groups, in.keys, in.other = in.groups[:0], in.keys[:0], 0
	in.index.Reset()
}

func (in *interner) key(g *group) []byte { return in.keys[g.key:][:g.len] }

func (in *interner) bytes() int { return cap(in.groups)*24 + cap(in.keys) + in.index.Bytes() }

// id returns the number of the group, and adds the group if it is new.
func (in *interner) id(key []byte, hash uint64, other []byte) uint32 {
	at := in.find(key, hash)
	if at >= 0 {
		return *in.index.At(at)
	}
	if in.named() < in.limit {
		return in.add(at, key, hash)
	}
	if in.other == 0 {
		hash := groupHash(other)
		if at := in.find(other, hash); at >= 0 { // as the name of a group in the log
			in.other = *in.index.At(at) + 1
		} else {
			in.other = in.add(at, other, hash) + 1
		}
	}
	in.beyond++
	return in.other - 1
}

// find returns the slot of a group in the index, or a negative number for add. Of keys of one length, up to
// eight bytes, no two have one hash, so that their bytes need not be compared.
func (in *interner) find(key []byte, hash uint64) (at int) {
	for at = in.index.First(uint32(hash)); at >= 0; at = in.index.Next(at) {
		g := &in.groups[*in.index.At(at)]
		if g.hash == hash && int(g.len) == len(key) && (len(key) <= 8 || bytes.Equal(in.key(g), key)) {
			break
		}
	}
	return at
}

// named returns how many groups keep their name.
func (in *interner) named() int {
	if in.other != 0 && int(in.other) > in.limit {
		return len(in.groups) - 1
	}
	return len(in.groups)
}

func (in *interner) add(at int, key []byte, hash uint64) uint32 {
	i := uint32(len(in.groups))
	in.index.Insert(at, uint32(hash), i)
	in.groups = append(in.groups, group{hash: hash, key: uint32(len(in.keys)), len: uint32(len(key))})
	in.keys = append(in.keys, key...)
	return i
}
