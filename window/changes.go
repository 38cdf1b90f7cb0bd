package window

import (
	"bytes"
	"cmp"
	"slices"

	"weir/event"
)

// Changes is what a flush must merge into the sink, so that everything before Next
// is durable. Two Changes can be merged with each other, in any order and any number
// of times: writing the result is the same as writing both.
type Changes struct {
	Table *Table       // sketches and counts by (window, group)
	Lines []Line       // of the ledger, one for each chunk and first offset
	Dead  []DeadLetter // records that were not counted, with the reason
	Next  []Position   // what may be committed once everything above is durable
	Sent  *Sent        // rows besides those of Table, which the sink has already; nil: none

	// Outcomes counts the records decided since the last Take, with replays and
	// without the warm-up. It is for metrics only and never stored.
	Outcomes [Outcomes]uint64
	// Events counts the events of these records in the same way, for a job with Each.
	Events Events
	// Capped is how many counted records went to the group Other. It is for
	// metrics only and never stored.
	Capped uint64
	// Skipped is, by measure, how many bad values Measure.Bad left out. It is for metrics only and never stored.
	Skipped []uint64
	// Timeless is how many events are of records without a time of their own. It is for metrics only and never stored.
	Timeless uint64
}

// Sent are rows that a sink has inserted and not acknowledged. A process that loses them counts their
// events again, because no line covers them.
type Sent struct {
	Table *Table
	Round uint64 // the earliest in which they were inserted: see package rounds
}

// Inserted notes that the sink has inserted the rows of Table, in a round.
func (c *Changes) Inserted(round uint64) {
	if c.Sent == nil {
		c.Sent, c.Table = &Sent{c.Table, round}, NewTable(c.Table.spec)
		return
	}
	c.Sent.Table.Merge(c.Table)
	c.Table.Reset()
	c.Sent.Round = min(c.Sent.Round, round)
}

// Tables returns the tables that have rows.
func (c *Changes) Tables() (all []*Table) {
	if c.Sent != nil {
		all = append(all, c.Sent.Table)
	}
	return append(all, c.Table)
}

// A Line is one ledger entry: the offsets [First, Next) of a chunk that were
// read, and how many had which outcome. Next − First is the sum of the
// Outcomes. First is the chunk's first offset, unless retention had deleted
// that: a later First makes a line of its own, because counts that begin at
// different offsets cannot be compared. Two lines with equal keys merge to the
// maximum of each number.
type Line struct {
	Partition   int32
	Epoch       uint8
	Chunk       int64
	First, Next int64
	Outcomes    [Outcomes]uint64
	Events      Events     // of the records; only with Spec.Each
	Watermark   event.Time // greatest event time counted in the chunk, each at most that of its record; 0 if none
	TopicID     [16]byte
	Saved       string // see saved.go; the greater one is the later one
}

// Slot returns the slot that has the counts of the line.
func (l *Line) Slot() Slot { return MakeSlot(l.Epoch, l.Partition, l.Chunk) }

func (l Line) compareKey(o Line) int {
	return cmp.Or(cmp.Compare(l.Partition, o.Partition), cmp.Compare(l.Epoch, o.Epoch),
		cmp.Compare(l.Chunk, o.Chunk), cmp.Compare(l.First, o.First))
}

func (l *Line) merge(o *Line) {
	l.Next = max(l.Next, o.Next)
	l.Watermark = max(l.Watermark, o.Watermark)
	for f := range l.Outcomes {
		l.Outcomes[f] = max(l.Outcomes[f], o.Outcomes[f])
	}
	l.Events.Raise(&o.Events)
	l.Saved = max(l.Saved, o.Saved)
}

// lineBytes is about how many bytes a Line takes in memory.
const lineBytes = 224

// A DeadLetter is a record that was not counted, or all records of an
// unreadable batch that belong to one Line: then Offset is that of the first
// one, and Reason says so. With Spec.Each it is the first event of its record that was late,
// future or malformed, and Reason says which one, and how many more there are. Its key is
// (Epoch, Partition, Offset): two with the same key are equal.
type DeadLetter struct {
	Partition int32
	Epoch     uint8
	Offset    int64
	Outcome   Outcome
	Reason    string // in words, with the name of the field
	Time      event.Time
	Payload   []byte // the value of the record, or its event, cut to 16 KiB
	Size      int    // length of that; Payload was cut if it is shorter
}

func (d DeadLetter) compareKey(o DeadLetter) int {
	return cmp.Or(cmp.Compare(d.Partition, o.Partition), cmp.Compare(d.Epoch, o.Epoch), cmp.Compare(d.Offset, o.Offset))
}

// A Position is the first offset of a partition that is not durable.
type Position struct {
	Partition int32
	Offset    int64
}

// Empty reports whether there is nothing to write and nothing to commit.
func (c *Changes) Empty() bool {
	return c.Table.Len() == 0 && c.Table.byMember() == 0 && len(c.Lines) == 0 && len(c.Dead) == 0 && len(c.Next) == 0
}

// Bytes returns about how many bytes the changes hold in memory.
func (c *Changes) Bytes() int {
	n := len(c.Lines)*lineBytes + len(c.Next)*16
	for _, t := range c.Tables() {
		n += t.Bytes()
	}
	for i := range c.Lines {
		n += len(c.Lines[i].Saved)
	}
	for i := range c.Dead {
		n += 96 + len(c.Dead[i].Payload)
	}
	return n
}

// Merge merges o into c: changes of another worker, or older ones whose insert
// failed or whose answer was lost. One of the two may have Sent. Of o only the table may be used afterwards, after a Reset.
func (c *Changes) Merge(o *Changes) {
	c.Table.Merge(o.Table)
	if c.Sent == nil {
		c.Sent = o.Sent
	}
	c.Lines = mergeSorted(append(c.Lines, o.Lines...), Line.compareKey, (*Line).merge)
	c.Dead = mergeSorted(append(c.Dead, o.Dead...), DeadLetter.compareKey, func(*DeadLetter, *DeadLetter) {})
	c.Next = mergeSorted(append(c.Next, o.Next...),
		func(a, b Position) int { return cmp.Compare(a.Partition, b.Partition) },
		func(a, b *Position) { a.Offset = max(a.Offset, b.Offset) })
	for f := range c.Outcomes {
		c.Outcomes[f] += o.Outcomes[f]
	}
	c.Events.plus(&o.Events)
	c.Capped += o.Capped
	c.Timeless += o.Timeless
	if c.Skipped == nil {
		c.Skipped = o.Skipped
	} else {
		for i, n := range o.Skipped {
			c.Skipped[i] += n
		}
	}
}

// mergeSorted sorts s by key and merges the elements with equal keys, in place.
func mergeSorted[T any](s []T, compare func(a, b T) int, merge func(into, from *T)) []T {
	slices.SortFunc(s, compare)
	n := 0
	for i := range s {
		if n > 0 && compare(s[n-1], s[i]) == 0 {
			merge(&s[n-1], &s[i])
			continue
		}
		s[n] = s[i]
		n++
	}
	clear(s[n:])
	return s[:n]
}

func dead(pt *Partition, rec *event.Record, outcome Outcome, reason string) DeadLetter {
	payload := rec.Value
	if len(payload) > maxPayload {
		payload = payload[:maxPayload]
	}
	return DeadLetter{
		Partition: pt.partition, Epoch: pt.epoch, Offset: rec.Offset,
		Outcome: outcome, Reason: reason, Time: rec.Time, Payload: bytes.Clone(payload), Size: len(rec.Value),
	}
}
