package window

import (
	"fmt"
	"slices"

	"weir/event"
	"weir/internal/cacheline"
)

// An Operator counts some partitions of a job for one worker: it has the state of
// each partition and the table that they share. It is not safe for concurrent use:
// other goroutines send its worker a closure, which runs between batches.
type Operator struct {
	_          cacheline.Pad
	spec       *Spec
	decoder    *Decoder
	partitions map[int32]*Partition
	other      []byte // the key of the group Other

	table     *Table
	spare     *Table // an empty table to use again
	gen       uint32 // number of the table: a cell's row is valid only with the same number
	lines     []Line
	dead      []DeadLetter
	deadBytes int
	outcomes  [Outcomes]uint64
	events    Events

	// By event of the decoder's block, if it counts: its row of the table, and its cell of the partition.
	rows, cells [BlockSize]uint32
	each        eachSum // of the record whose events are being decided
	_           cacheline.Pad
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
	o := &Operator{spec: spec, decoder: d, partitions: map[int32]*Partition{}, table: NewTable(spec), gen: 1}
	for range spec.By {
		o.other = appendDimension(o.other, []byte(Other), len(spec.By))
	}
	return o, nil
}

// Start begins to count a partition. If retention deleted offsets that were not counted,
// Start records them as a gap first. If the plan Opens an epoch, the next Take has
// the line that says so.
func (o *Operator) Start(p Plan) {
	pt := newPartition(o.spec, p)
	o.partitions[p.Partition] = pt
	if p.Saved != "" {
		o.restore(pt, p.Saved)
	}
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

// Stop ends the counting of a partition. What was counted since the last Take is in
// the next Take.
func (o *Operator) Stop(partition int32) {
	if pt := o.partitions[partition]; pt != nil {
		o.collect(pt)
		delete(o.partitions, partition)
	}
}

// Progress says how far a partition has been read.
type Progress struct {
	Next      int64      // next offset to decide
	Watermark event.Time // greatest event time counted since Start, each at most that of its record; 0: none yet
	Record    event.Time // Kafka time of the last record decided
}

// Progress returns how far a partition has been read; zero for one that the operator
// does not count. The status shows it and a backfill ends by it; no row depends on it.
func (o *Operator) Progress(partition int32) Progress {
	pt := o.partitions[partition]
	if pt == nil {
		return Progress{}
	}
	return Progress{Next: pt.next, Watermark: max(pt.highest, pt.watermark), Record: pt.record}
}

// Bytes returns about how many bytes the operator holds in memory.
func (o *Operator) Bytes() int {
	n := o.table.Bytes() + o.deadBytes + len(o.lines)*lineBytes
	if o.spare != nil {
		n += o.spare.Bytes()
	}
	for _, pt := range o.partitions {
		n += pt.Bytes()
	}
	return n
}

// Rows returns the number of (window, group) rows since the last Take.
func (o *Operator) Rows() int { return o.table.Len() }

// Observe decides every offset of the batch. It skips offsets that are decided
// already, so a fetch may overlap the one before. It is an error if the operator
// does not count the partition of the batch.
//
// If a record needs a schema that the operator does not have, the error is an
// *event.UnknownSchema, and the offsets from that record on are not decided. After Learn,
// Observe of the same batch goes on there.
func (o *Operator) Observe(b *event.Batch) error {
	pt := o.partitions[b.Partition]
	if pt == nil {
		return fmt.Errorf("window: job %s: a batch of partition %d, which this operator does not count", o.spec.Job, b.Partition)
	}
	if b.Next <= pt.next {
		return nil
	}
	pt.moved = true
	o.decoder.partition, o.decoder.epoch = pt.partition, pt.epoch
	if b.Unreadable != "" {
		o.refuse(pt, b)
		return nil
	}
	records := b.Records
	for len(records) > 0 && records[0].Offset < pt.next {
		records = records[1:]
	}
	for len(records) > 0 {
		o.skip(pt, records[0].Offset)
		n, err := o.decide(pt, pt.ofChunk(records))
		if err != nil {
			return err
		}
		records = records[n:]
	}
	o.skip(pt, b.Next)
	return nil
}

// Learn tells the operator a schema that Observe has asked for.
func (o *Operator) Learn(id event.SchemaID, s *event.Schema) { o.decoder.reader.Learn(id, s) }

// skip moves a partition to an offset, over offsets that have no record.
func (o *Operator) skip(pt *Partition, to int64) {
	for pt.next < to {
		step := min(to, (pt.chunk()+1)*o.spec.Chunk)
		if !pt.warming() { // if there is a warm-up, Start is the beginning of a chunk
			o.outcome(pt, Gap, int(step-pt.next))
		}
		o.advance(pt, step)
	}
}

// outcome notes that n offsets of a partition have an outcome.
func (o *Operator) outcome(pt *Partition, f Outcome, n int) {
	pt.outcomes[f] += uint64(n)
	o.outcomes[f] += uint64(n)
}

// refuse gives the offsets of an unreadable batch the outcome Malformed. One dead
// letter stands for all of them that share a ledger line: there may be millions, and
// nothing is known that tells them apart. It has the first of these offsets, which
// is the same for every process that writes the line.
func (o *Operator) refuse(pt *Partition, b *event.Batch) {
	o.skip(pt, b.First)
	for pt.next < b.Next {
		step := min(b.Next, (pt.chunk()+1)*o.spec.Chunk)
		if !pt.warming() {
			n := uint64(step - pt.next)
			o.outcome(pt, Malformed, int(n))
			if o.spec.Each != "" {
				pt.events.add(Malformed, n)
				o.events.add(Malformed, n)
			}
			reason := b.Unreadable
			if n > 1 {
				reason = fmt.Sprintf("%s; this stands for offsets %d to %d", reason, pt.next, step-1)
			}
			o.deadLetter(pt, &event.Record{Offset: pt.next, Time: b.Time}, Malformed, reason)
		}
		pt.record = b.Time
		o.advance(pt, step)
	}
}

// advance moves a partition to an offset: the next one or, over a gap, a later one.
// At the end of a chunk it collects the counts and the ledger line, which are final
// then.
func (o *Operator) advance(pt *Partition, to int64) {
	warm := pt.warming()
	pt.next = to
	if to&(o.spec.Chunk-1) == 0 {
		if !warm {
			o.collect(pt)
		}
		pt.turn()
	}
}

// decide decides the first of some records of a chunk, those that fit into a block, and counts those that are
// Counted. It returns how many are decided.
func (o *Operator) decide(pt *Partition, records []event.Record) (n int, err error) {
	d := o.decoder
	n, err = d.readBlock(records)
	pt.decide(d)
	warm := pt.warming() // then they only go to what the partition remembers
	if !warm {
		o.count(pt)
		if o.spec.Each != "" {
			o.sumUp(pt)
		} else {
			o.sort(pt)
		}
	}
	if n == 0 {
		return 0, err
	}
	last := &records[n-1]
	if !warm {
		o.outcome(pt, Gap, int(last.Offset+1-pt.next)-n)
	}
	pt.record = last.Time
	o.advance(pt, last.Offset+1)
	return n, err
}

// sort notes the outcomes of the records of the block, and makes the dead letters.
func (o *Operator) sort(pt *Partition) {
	d := o.decoder
	o.outcome(pt, Counted, len(d.live))
	if len(d.live) == len(d.events) {
		return
	}
	for e := range d.events {
		f := d.outcomes[e]
		if f == Counted {
			continue
		}
		o.outcome(pt, f, 1)
		if f.dead() {
			o.deadLetter(pt, &d.events[e], f, d.reasons[e])
		}
	}
}

// count counts the live events of the block.
func (o *Operator) count(pt *Partition) {
	d := o.decoder
	for _, e := range d.live {
		pt.pass(d, e)
		id := pt.groups.id(d.groups[e], groupHash(d.groups[e]), o.other)
		g := &pt.groups.groups[id]
		c := pt.cell(d.windows[e], g, id)
		if c.gen != o.gen {
			c.gen = o.gen
			c.row = o.table.row(d.windows[e], pt.groups.key(g), g.hash)
			if c.count > 0 {
				o.table.rows[c.row].partial = true
			}
			pt.dirty = append(pt.dirty, g.cell-1)
		}
		c.count++
		o.rows[e], o.cells[e] = c.row, g.cell-1
	}
	for m := range d.readings {
		r, to, at := &d.readings[m], Store(o.table.columns[m]), &o.rows
		if r.additive {
			to, at = pt.tallies[m], &o.cells
		}
		if events, rows := r.counted(d, at); len(events) > 0 {
			r.Add(to, rows, events)
		}
	}
}

func (o *Operator) deadLetter(pt *Partition, rec *event.Record, outcome Outcome, reason string) {
	d := dead(pt, rec, outcome, reason)
	o.dead = append(o.dead, d)
	o.deadBytes += 96 + len(d.Payload)
}

// collect moves the new counts of a partition into the table, and its ledger line to
// the lines. It is called at the end of a chunk, by Take, and by Stop.
func (o *Operator) collect(pt *Partition) {
	if pt.warming() || pt.next <= pt.first {
		return
	}
	pt.report(o.table)
	o.lines = append(o.lines, pt.line())
}

// Take returns everything that was counted since the last Take, and leaves the
// operator with an empty table. The Changes share nothing with the operator.
func (o *Operator) Take() *Changes {
	c := &Changes{Table: o.table, Outcomes: o.outcomes, Events: o.events, Skipped: o.decoder.skipped, Timeless: o.decoder.timeless}
	o.decoder.skipped, o.decoder.timeless = make([]uint64, len(o.spec.Measures)), 0
	for _, p := range o.sorted() {
		pt := o.partitions[p]
		if !pt.moved {
			continue
		}
		pt.moved = false
		c.Capped += pt.groups.beyond
		pt.groups.beyond = 0
		o.collect(pt)
		if pt.next > pt.durable {
			c.Next = append(c.Next, Position{p, pt.next})
		}
	}
	c.Lines, c.Dead = o.lines, o.dead
	o.lines, o.dead, o.deadBytes, o.outcomes = nil, nil, 0, [Outcomes]uint64{}
	o.events = Events{}
	o.gen++
	o.table, o.spare = o.spare, nil
	if o.table == nil {
		o.table = NewTable(o.spec)
	}
	return c
}

// Reuse gives the operator a table that it may empty and use again.
func (o *Operator) Reuse(t *Table) {
	if o.spare == nil {
		t.Reset()
		o.spare = t
	}
}

// sorted returns the partitions that the operator counts, in order, so that no row
// depends on the order of a map.
func (o *Operator) sorted() []int32 {
	ps := make([]int32, 0, len(o.partitions))
	for p := range o.partitions {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
