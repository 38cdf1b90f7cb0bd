package window

import (
	"bytes"
	"cmp"
	"slices"

	"weir/event"
)

// Changes is what a flush must join into the sink so that nothing before Next
// is owed any more. It is a join-semilattice element itself: joining two, in
// any order and any number of times, means the same as writing both.
type Changes struct {
	Table *Table       // sketches and counts by (window, group)
	Lines []Line       // ledger, one line a chunk and first offset
	Dead  []DeadLetter // lost to the counts, kept with the reason
	Next  []Position   // what may be committed once everything above is durable

	// Outcomes counts the records decided since the last Take, warm-up excluded
	// and replays included: for metrics only, never stored.
	Outcomes [Outcomes]uint64
	// Capped is how many of the counted went to Other for want of a name of
	// their own: likewise.
	Capped uint64
}

// A Line is one ledger entry: how far a chunk was read, starting where, and
// what became of each offset. Next − First is the sum of the Outcomes. First is
// the chunk's first offset unless retention had already taken it: then a
// later First makes a line of its own, because counts that start elsewhere
// are not comparable. All figures join by maximum.
type Line struct {
	Partition   int32
	Epoch       uint8
	Chunk       int64
	First, Next int64
	Outcomes    [Outcomes]uint64
	Watermark   event.Time // greatest event time counted in the chunk; 0 if none
	TopicID     [16]byte
}

// An Origin is a partition in an epoch of its topic: what an offset belongs to.
type Origin struct {
	Partition int32
	Epoch     uint8
}

// Slot is the slot whose counts the line speaks of.
func (l *Line) Slot() Slot { return MakeSlot(l.Epoch, l.Partition, l.Chunk) }

func (l Line) compareKey(o Line) int {
	return cmp.Or(cmp.Compare(l.Partition, o.Partition), cmp.Compare(l.Epoch, o.Epoch),
		cmp.Compare(l.Chunk, o.Chunk), cmp.Compare(l.First, o.First))
}

func (l *Line) join(o *Line) {
	l.Next = max(l.Next, o.Next)
	l.Watermark = max(l.Watermark, o.Watermark)
	for f := range l.Outcomes {
		l.Outcomes[f] = max(l.Outcomes[f], o.Outcomes[f])
	}
}

// A DeadLetter is a record that reached no count, or all the records of an
// unreadable batch that belong to one Line: then Offset is that of the first,
// and Reason says so. (Epoch, Partition, Offset) is its key: repeats are equal
// and collapse.
type DeadLetter struct {
	Partition int32
	Epoch     uint8
	Offset    int64
	Outcome   Outcome
	Reason    string // in words, naming the field
	Time      event.Time
	Payload   []byte // the record's value, cut to 16 KiB
	Size      int    // bytes of the record's value; more than len(Payload): it was cut
}

func (d DeadLetter) compareKey(o DeadLetter) int {
	return cmp.Or(cmp.Compare(d.Partition, o.Partition), cmp.Compare(d.Epoch, o.Epoch), cmp.Compare(d.Offset, o.Offset))
}

// A Position is the next offset of a partition that is still owed.
type Position struct {
	Partition int32
	Offset    int64
}

// Empty reports whether there is nothing to write and nothing to commit.
func (c *Changes) Empty() bool {
	return c.Table.Len() == 0 && c.Table.byMember() == 0 && len(c.Lines) == 0 && len(c.Dead) == 0 && len(c.Next) == 0
}

// Bytes is about what the changes hold in memory.
func (c *Changes) Bytes() int {
	n := c.Table.Bytes() + len(c.Lines)*160 + len(c.Next)*16
	for i := range c.Dead {
		n += 96 + len(c.Dead[i].Payload)
	}
	return n
}

// Join takes o into c: another worker's changes, or older ones whose insert
// failed or whose answer was lost. o must not be used afterwards.
func (c *Changes) Join(o *Changes) {
	c.Table.Join(o.Table)
	c.Lines = joinSorted(append(c.Lines, o.Lines...), Line.compareKey, (*Line).join)
	c.Dead = joinSorted(append(c.Dead, o.Dead...), DeadLetter.compareKey, func(*DeadLetter, *DeadLetter) {})
	c.Next = joinSorted(append(c.Next, o.Next...),
		func(a, b Position) int { return cmp.Compare(a.Partition, b.Partition) },
		func(a, b *Position) { a.Offset = max(a.Offset, b.Offset) })
	for f := range c.Outcomes {
		c.Outcomes[f] += o.Outcomes[f]
	}
	c.Capped += o.Capped
}

// joinSorted sorts s by key and joins the elements of equal key, in place.
func joinSorted[T any](s []T, compare func(a, b T) int, join func(into, from *T)) []T {
	slices.SortFunc(s, compare)
	n := 0
	for i := range s {
		if n > 0 && compare(s[n-1], s[i]) == 0 {
			join(&s[n-1], &s[i])
			continue
		}
		s[n] = s[i]
		n++
	}
	clear(s[n:])
	return s[:n]
}

func dead(l *lane, rec *event.Record, outcome Outcome, reason string) DeadLetter {
	payload := rec.Value
	if len(payload) > maxPayload {
		payload = payload[:maxPayload]
	}
	return DeadLetter{
		Partition: l.partition, Epoch: l.epoch, Offset: rec.Offset,
		Outcome: outcome, Reason: reason, Time: rec.Time, Payload: bytes.Clone(payload), Size: len(rec.Value),
	}
}
