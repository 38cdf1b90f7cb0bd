package window

import (
	"bytes"

	"weir/event"
	"weir/sketches/bloom"
)

// A Lane is one partition's pure decisions: which chunk and slot an offset
// belongs to, its outcome, which groups keep their name, which ids were seen,
// and the counts of the chunk being read.
//
// Everything in it but the dedup filter starts empty at the beginning of a
// chunk, which is what makes a chunk's counts the same for whoever reads it
// from there.
type Lane struct {
	spec      *Spec
	partition int32
	epoch     uint8
	topicID   [16]byte

	next  int64 // next offset to decide
	start int64 // offsets below it are warm-up
	owed  int64 // what was durable before this owner

	// The chunk being read.
	first     int64 // first offset of it that was read
	outcomes  [Outcomes]uint64
	watermark event.Time
	groups    interner
	cells     []cell
	index     []uint32 // open addressing over (window, group): cell + 1
	dirty     []uint32 // cells counted into since the last Take

	seen, before *bloom.Filter // ids of this chunk and the one before; nil without dedupe

	moved   bool       // next has moved since the last Take
	highest event.Time // watermark of the chunks before: for people, never stored
	record  event.Time // Kafka time of the last record: likewise
}

// A cell is the count of one (window, group) in the chunk.
type cell struct {
	window event.Time
	group  uint32
	count  uint32 // a chunk has at most 2^30 offsets
	row    uint32 // the group's row in the operator's table…
	gen    uint32 // …of this generation
}

func newLane(spec *Spec, p Plan) *lane {
	l := new(lane)
	l.begin(spec, p)
	return l
}

// begin makes the zero Lane that of a plan.
func (l *Lane) begin(spec *Spec, p Plan) {
	*l = Lane{
		spec: spec, partition: p.Partition, epoch: p.Epoch, topicID: p.TopicID,
		next: p.Warm, start: p.Start, owed: p.Owed, first: p.Warm, moved: true,
	}
	if p.Committed < 0 {
		l.owed-- // the group has no position: Owed itself is news to it
	}
	l.groups.limit = spec.MaxGroups
	if d := spec.Dedupe; d != nil {
		// Either filter may be wrong about a new id, so each gets half.
		l.seen = bloom.New(int(spec.Chunk), d.Error/2)
		l.before = bloom.New(int(spec.Chunk), d.Error/2)
	}
}

// chunk is the index of the chunk that holds the next offset.
func (l *Lane) chunk() int64 { return l.next / l.spec.Chunk }

// warming reports whether the next offset only warms the filters.
func (l *Lane) warming() bool { return l.next < l.start }

func (l *Lane) line() Line {
	return Line{
		Partition: l.partition, Epoch: l.epoch, Chunk: l.first / l.spec.Chunk, First: l.first, Next: l.next,
		Outcomes: l.outcomes, Watermark: l.watermark, TopicID: l.topicID,
	}
}

// turn begins the chunk at l.next. The owner has sealed the one before.
func (l *Lane) turn() {
	l.first = l.next
	l.highest = max(l.highest, l.watermark)
	l.outcomes = [Outcomes]uint64{}
	l.watermark = 0
	l.groups.reset()
	l.cells, l.dirty = l.cells[:0], l.dirty[:0]
	clear(l.index)
	if l.seen != nil {
		l.seen, l.before = l.before, l.seen
		l.seen.Reset()
	}
}

// appendHits appends the counts that are new since it was last called, each as
// the whole of its chunk so far.
func (l *Lane) appendHits(dst []hit) []hit {
	slot := MakeSlot(l.epoch, l.partition, l.first/l.spec.Chunk)
	for _, i := range l.dirty {
		c := &l.cells[i]
		dst = append(dst, hit{c.row, slot, uint64(c.count)})
	}
	l.dirty = l.dirty[:0]
	return dst
}

// repeat notes an id and reports whether it was seen in this chunk or in the
// one before. A repeat is noted all the same: what a chunk's filter holds must
// not depend on the chunk before it, or a warm-up could not rebuild it.
func (l *Lane) repeat(id uint64) bool {
	return l.seen.TestAndAdd(id) || l.before.Has(id)
}

// cell finds or makes the cell of a window and a group.
func (l *Lane) cell(window event.Time, g *group, id uint32) *cell {
	if g.cell != 0 && l.cells[g.cell-1].window == window {
		return &l.cells[g.cell-1]
	}
	if 4*(len(l.cells)+1) > 3*len(l.index) {
		l.index = make([]uint32, max(256, 2*len(l.index)))
		for i := range l.cells {
			*l.free(l.cells[i].window, l.cells[i].group) = uint32(i) + 1
		}
	}
	at := l.free(window, id)
	if *at == 0 {
		l.cells = append(l.cells, cell{window: window, group: id})
		*at = uint32(len(l.cells))
	}
	g.cell = *at
	return &l.cells[*at-1]
}

// free is the index entry of a cell, or the empty one where it belongs.
func (l *Lane) free(window event.Time, id uint32) *uint32 {
	mask := uint64(len(l.index) - 1)
	for i := rowHash(window, uint64(id)*0xff51afd7ed558ccd) & mask; ; i = (i + 1) & mask {
		at := &l.index[i]
		if *at == 0 || l.cells[*at-1].group == id && l.cells[*at-1].window == window {
			return at
		}
	}
}

// Bytes is about what the lane holds in memory.
func (l *Lane) Bytes() int {
	n := cap(l.cells)*24 + cap(l.index)*4 + cap(l.dirty)*4 + l.groups.bytes()
	if l.seen != nil {
		n += l.seen.Bytes() + l.before.Bytes()
	}
	return n
}

// interner numbers the groups of one chunk in the order of their first
// offset. From the limit on, a new group gets the number of Other: first come,
// first named, which whoever reads the chunk from its beginning repeats.
type interner struct {
	limit  int
	groups []group
	keys   []byte
	index  []uint32 // group + 1
	other  uint32   // group + 1; 0: not needed yet
	beyond uint64   // how often the limit took a name since the last Take: for people, never stored
}

type group struct {
	hash     uint64
	key, len uint32
	cell     uint32 // the lane's cell last used + 1: most events hit the same window
}

func (in *interner) reset() {
	in.groups, in.keys, in.other = in.groups[:0], in.keys[:0], 0
	clear(in.index)
}

func (in *interner) key(g *group) []byte { return in.keys[g.key:][:g.len] }

func (in *interner) bytes() int { return cap(in.groups)*24 + cap(in.keys) + cap(in.index)*4 }

// id is the number of the group, which is made if it is new.
func (in *interner) id(key []byte, hash uint64, other []byte) uint32 {
	if 4*(len(in.groups)+2) > 3*len(in.index) {
		in.index = make([]uint32, max(256, 2*len(in.index)))
		for i := range in.groups {
			at := in.groups[i].hash & uint64(len(in.index)-1)
			for in.index[at] != 0 {
				at = (at + 1) & uint64(len(in.index)-1)
			}
			in.index[at] = uint32(i) + 1
		}
	}
	mask := uint64(len(in.index) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := in.index[i]
		if e == 0 {
			if in.named() < in.limit {
				return in.add(key, hash, i)
			}
			if in.other == 0 {
				// Other may stand in the index already, as somebody's own name.
				in.other = in.overflow(other)
			}
			in.beyond++
			return in.other - 1
		}
		if g := &in.groups[e-1]; g.hash == hash && bytes.Equal(in.key(g), key) {
			return e - 1
		}
	}
}

// named is how many groups keep their name.
func (in *interner) named() int {
	if in.other != 0 && int(in.other) > in.limit {
		return len(in.groups) - 1
	}
	return len(in.groups)
}

func (in *interner) add(key []byte, hash, at uint64) uint32 {
	in.index[at] = uint32(len(in.groups)) + 1
	in.groups = append(in.groups, group{hash: hash, key: uint32(len(in.keys)), len: uint32(len(key))})
	in.keys = append(in.keys, key...)
	return uint32(len(in.groups)) - 1
}

// overflow is the number + 1 of the group Other.
func (in *interner) overflow(other []byte) uint32 {
	hash := groupHash(other)
	mask := uint64(len(in.index) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := in.index[i]
		if e == 0 {
			return in.add(other, hash, i) + 1
		}
		if g := &in.groups[e-1]; g.hash == hash && bytes.Equal(in.key(g), other) {
			return e
		}
	}
}
