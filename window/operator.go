package window

import (
	"fmt"
	"slices"

	"weir/event"
)

// blockSize is how many counted events are collected before the sketches see
// them: enough to make the loop over each measure tight, little enough to
// stay in the first-level cache.
const blockSize = 512

// An Operator is what one worker owns of a job: the lanes of its partitions
// and the table they share. It is not safe for concurrent use, and needs not
// be: others send its worker a closure between batches.
type Operator struct {
	spec    *Spec
	decoder *decoder
	lanes   map[int32]*lane
	other   []byte // the key of the group Other

	table     *Table
	spare     *Table // an acknowledged one, for reuse
	gen       uint32 // of table: tells a lane's cells whose rows they hold
	lines     []Line
	dead      []DeadLetter
	deadBytes int
	outcomes  [Outcomes]uint64

	collected int // events since apply
}

// NewOperator makes an operator without partitions. The spec must be valid.
func NewOperator(spec *Spec) (*Operator, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	d, err := newDecoder(spec)
	if err != nil {
		return nil, fmt.Errorf("window: job %s: %w", spec.Job, err)
	}
	o := &Operator{spec: spec, decoder: d, lanes: map[int32]*lane{}, table: NewTable(spec), gen: 1}
	for range spec.By {
		o.other = appendDimension(o.other, []byte(Other), len(spec.By))
	}
	return o, nil
}

// Start takes a partition in hand. If retention took offsets that were owed,
// they are written down as a gap first. If the plan Opens an epoch, the next
// Take has the line that says so.
func (o *Operator) Start(p Plan) {
	l := newLane(o.spec, p)
	o.lanes[p.Partition] = l
	if p.Opens {
		o.lines = append(o.lines, Line{Partition: p.Partition, Epoch: p.Epoch, Chunk: p.Start / o.spec.Chunk, First: p.Start, Next: p.Start, TopicID: p.TopicID})
	}
	for from := p.Lost; from < p.Start; {
		to := min((from/o.spec.Chunk+1)*o.spec.Chunk, p.Start)
		line := Line{Partition: p.Partition, Epoch: p.Epoch, Chunk: from / o.spec.Chunk, First: from, Next: to, TopicID: p.TopicID}
		line.Outcomes[Gap] = uint64(to - from)
		o.outcomes[Gap] += line.Outcomes[Gap]
		o.lines = append(o.lines, line)
		from = to
	}
}

// Stop lets go of a partition. What was counted since the last Take is still
// in the next one; Take first if it must be flushed.
func (o *Operator) Stop(partition int32) {
	if l := o.lanes[partition]; l != nil {
		o.harvest(l)
		delete(o.lanes, partition)
	}
}

// Progress is how far a partition in hand was read.
type Progress struct {
	Next      int64      // next offset to decide
	Watermark event.Time // greatest event time counted since Start; 0: none yet
	Record    event.Time // Kafka time of the last record decided
}

// Progress is for people and for the end of a backfill: no row depends on it.
// It is zero for a partition that is not in hand.
func (o *Operator) Progress(partition int32) Progress {
	l := o.lanes[partition]
	if l == nil {
		return Progress{}
	}
	return Progress{Next: l.next, Watermark: max(l.highest, l.watermark), Record: l.record}
}

// Bytes is about what the operator holds in memory.
func (o *Operator) Bytes() int {
	n := o.table.Bytes() + o.deadBytes + len(o.lines)*160
	if o.spare != nil {
		n += o.spare.Bytes()
	}
	for _, l := range o.lanes {
		n += l.Bytes()
	}
	return n
}

// Rows is the number of (window, group) rows since the last Take.
func (o *Operator) Rows() int { return o.table.Len() }

// Observe decides every offset of the batch. Offsets already decided are
// passed over, so a fetch may overlap the one before. A batch of a partition
// that is not in hand is an error of the caller's.
func (o *Operator) Observe(b *event.Batch) error {
	l := o.lanes[b.Partition]
	if l == nil {
		return fmt.Errorf("window: job %s: a batch of partition %d, which is not in hand", o.spec.Job, b.Partition)
	}
	if b.Next <= l.next {
		return nil
	}
	l.moved = true
	o.decoder.partition, o.decoder.epoch = l.partition, l.epoch
	if b.Unreadable != "" {
		o.refuse(l, b)
		return nil
	}
	for i := range b.Records {
		rec := &b.Records[i]
		if rec.Offset < l.next {
			continue
		}
		o.skip(l, rec.Offset)
		if l.warming() {
			o.warm(l, rec)
		} else {
			outcome := o.decide(l, rec)
			l.outcomes[outcome]++
			o.outcomes[outcome]++
		}
		l.record = rec.Time
		o.advance(l, rec.Offset+1)
	}
	o.skip(l, b.Next)
	o.apply()
	return nil
}

// skip moves the lane to an offset over others that have no record.
func (o *Operator) skip(l *lane, to int64) {
	for l.next < to {
		step := min(to, (l.chunk()+1)*o.spec.Chunk)
		if !l.warming() { // Start is a chunk's beginning if anything is warmed
			l.outcomes[Gap] += uint64(step - l.next)
			o.outcomes[Gap] += uint64(step - l.next)
		}
		o.advance(l, step)
	}
}

// refuse gives the offsets of a batch that cannot be read their outcome. One dead
// letter stands for all of them that share a ledger line: there may be
// millions, and all that is known of them is the same. It has the first of
// them, which is the same for every process that writes that line.
func (o *Operator) refuse(l *lane, b *event.Batch) {
	o.skip(l, b.First)
	for l.next < b.Next {
		step := min(b.Next, (l.chunk()+1)*o.spec.Chunk)
		if !l.warming() {
			n := uint64(step - l.next)
			l.outcomes[Malformed] += n
			o.outcomes[Malformed] += n
			reason := b.Unreadable
			if n > 1 {
				reason = fmt.Sprintf("%s; this stands for offsets %d to %d", reason, l.next, step-1)
			}
			o.bury(l, &event.Record{Offset: l.next, Time: b.Time}, Malformed, reason)
		}
		l.record = b.Time
		o.advance(l, step)
	}
}

// advance moves the lane on by one or, over gaps, by many; at the end of a
// chunk its counts and its ledger line are final.
func (o *Operator) advance(l *lane, to int64) {
	warm := l.warming()
	l.next = to
	if to&(o.spec.Chunk-1) == 0 {
		if !warm {
			o.harvest(l)
		}
		l.turn()
	}
}

// decide gives a record its outcome and, if it counts, counts it.
func (o *Operator) decide(l *lane, rec *event.Record) Outcome {
	d := o.decoder
	outcome, reason := d.decode(rec)
	if outcome != Counted {
		if outcome != Filtered {
			o.bury(l, rec, outcome, reason)
		}
		return outcome
	}
	if l.seen != nil && l.repeat(d.id) {
		return Duplicate
	}
	l.watermark = max(l.watermark, d.time)
	id := l.groups.id(d.group, groupHash(d.group), o.other)
	g := &l.groups.groups[id]
	c := l.cell(d.window, g, id)
	if c.gen != o.gen {
		c.gen = o.gen
		c.row = o.table.row(d.window, l.groups.key(g), g.hash)
		l.dirty = append(l.dirty, g.cell-1)
	}
	c.count++
	o.collect(c.row)
	return Counted
}

// warm lets a record of the chunk before pass the same decisions, for the
// ids the filter must hold.
func (o *Operator) warm(l *lane, rec *event.Record) {
	if l.seen == nil {
		return
	}
	if outcome, _ := o.decoder.decode(rec); outcome == Counted {
		l.repeat(o.decoder.id)
	}
}

func (o *Operator) bury(l *lane, rec *event.Record, outcome Outcome, reason string) {
	d := dead(l, rec, outcome, reason)
	o.dead = append(o.dead, d)
	o.deadBytes += 96 + len(d.Payload)
}

// collect has each measure that takes the decoded event keep it for a row.
func (o *Operator) collect(row uint32) {
	feeds := o.decoder.feeds
	for m := range feeds {
		if f := &feeds[m]; f.takes {
			f.rows[f.n] = row
			f.n++
		}
	}
	if o.collected++; o.collected >= blockSize {
		o.apply()
	}
}

// apply hands the block to the columns, one measure after the other.
func (o *Operator) apply() {
	o.collected = 0
	for m := range o.decoder.feeds {
		o.decoder.feeds[m].flush(o.table.columns[m])
	}
}

// harvest moves the lane's new counts into the table and its ledger line to
// the lines: at the end of a chunk, at a Take, and when the partition leaves.
func (o *Operator) harvest(l *lane) {
	if l.warming() || l.next <= l.first {
		return
	}
	o.table.hits = l.appendHits(o.table.hits)
	o.lines = append(o.lines, l.line())
}

// Take hands out everything since the last Take and leaves the operator an
// empty table. The Changes are the caller's; nothing in them is shared.
func (o *Operator) Take() *Changes {
	o.apply()
	c := &Changes{Table: o.table, Outcomes: o.outcomes}
	for _, p := range o.partitions() {
		l := o.lanes[p]
		if !l.moved {
			continue
		}
		l.moved = false
		c.Capped += l.groups.beyond
		l.groups.beyond = 0
		o.harvest(l)
		if l.next > l.owed {
			c.Next = append(c.Next, Position{p, l.next})
		}
	}
	c.Lines, c.Dead = o.lines, o.dead
	o.lines, o.dead, o.deadBytes, o.outcomes = nil, nil, 0, [Outcomes]uint64{}
	o.table, o.spare = o.spare, nil
	if o.table == nil {
		o.table = NewTable(o.spec)
	}
	o.gen++
	return c
}

// Reuse gives an acknowledged table back.
func (o *Operator) Reuse(t *Table) {
	if o.spare == nil {
		t.Reset()
		o.spare = t
	}
}

// partitions is what is in hand, in order: the order of a map must not be
// able to reach a row.
func (o *Operator) partitions() []int32 {
	ps := make([]int32, 0, len(o.lanes))
	for p := range o.lanes {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
