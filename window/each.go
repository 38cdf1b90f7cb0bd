package window

import (
	"fmt"

	"weir/event"
)

// With Spec.Each a record is an array of events. Each event has an outcome, decided as if it
// were a record of its own with the time of its record. The record's offset has one outcome
// as every offset has: Counted if any of its events is, else that of its first event. A record
// whose events cannot be told apart is malformed and stands for one malformed event;
// one that has no events is filtered.
//
// A record is observed as a whole, and a Take comes between batches. So no state has a part
// of a record's events, and each process that reads a chunk from its beginning gets the
// same numbers of events too.

// MaxEachChunk bounds Spec.Chunk with Each, so that a chunk has less than 2^31 events: package
// histogram counts them with 31 bits, other kinds with 32.
const MaxEachChunk = 1 << 13

// Events says what was done with the events of records, for a job with Spec.Each; all are 0
// for others.
type Events struct {
	All uint64      // how many there are: the sum of By
	By  [Gap]uint64 // by outcome
}

// Hits returns how many events of the line's records were counted: what the rows hold of
// them. Without Each that is how many records were.
func (l *Line) Hits() uint64 {
	if l.Events != (Events{}) {
		return l.Events.By[Counted]
	}
	return l.Outcomes[Counted]
}

// Even reports whether the events of a line add up, and go with its outcomes: a record that is
// counted has at least one event that is.
func (l *Line) Even() bool {
	sum := uint64(0)
	for _, n := range l.Events.By {
		sum += n
	}
	if sum != l.Events.All {
		return false
	}
	records, events := l.Outcomes[Counted], l.Events.By[Counted]
	return sum == 0 || records <= events && (records > 0) == (events > 0)
}

// add counts n events.
func (e *Events) add(f Outcome, n uint64) {
	e.All += n
	e.By[f] += n
}

// plus adds up two.
func (e *Events) plus(o *Events) {
	e.All += o.All
	for f := range e.By {
		e.By[f] += o.By[f]
	}
}

// Raise makes each number the greater one of two: how lines with equal keys merge.
func (e *Events) Raise(o *Events) {
	e.All = max(e.All, o.All)
	for f := range e.By {
		e.By[f] = max(e.By[f], o.By[f])
	}
}

// An eachBlock says of which records the events of a block are.
type eachBlock struct {
	events []event.Record // see Decoder.events
	shares []share        // in the order of the log

	// The record whose events are being read, and the one of them that comes next.
	opened   bool
	next, of int
	reason   string
}

// A share is what a block has of a record: the events [from, to) of the block. The first of them is the one with number
// first of all the record has. With a reason, the record is malformed.
type share struct {
	rec             *event.Record
	from, to, first int
	of              int
	last            bool // it has the last of them
	reason          string
}

// readEach is read for records that are arrays of events. The events of the record behind those that it returns may
// be in the block in part, and go on in the next one.
func (d *Decoder) readEach(records []event.Record) (n int, err error) {
	b := &d.each
	d.begin(b.opened)
	b.events, b.shares = b.events[:0], b.shares[:0]
	for ; n < len(records) && !d.full(len(b.events)); n++ {
		rec := &records[n]
		if !b.opened {
			if d.selects {
				if err = d.selectSchema(rec); err != nil {
					break
				}
			}
			b.next = 0
			b.of, b.reason = d.open(rec)
		}
		s := share{rec: rec, from: len(b.events), first: b.next, of: b.of, reason: b.reason}
		for ; b.next < b.of && !d.full(len(b.events)); b.next++ {
			e := len(b.events)
			b.events = b.events[:e+1]
			of := &b.events[e]
			of.Offset, of.Time, of.Value = rec.Offset, rec.Time, d.reader.Event(b.next)
			d.add(e, of.Value, d.reader.ReadEvent(b.next, d.row(Entry(e))[:d.scanned]))
		}
		s.to, s.last = len(b.events), b.next == b.of
		b.shares = append(b.shares, s)
		if b.opened = !s.last; b.opened {
			break
		}
	}
	d.events = b.events
	return n, err
}

// open finds the events of a record. With a reason, the record is malformed.
func (d *Decoder) open(rec *event.Record) (events int, reason string) {
	if d.empty(rec) {
		if d.tombstone(rec) {
			return 0, ""
		}
		return 0, emptyValue
	}
	events, err := d.reader.Open(rec)
	if err != nil {
		if d.reader.NoArray(err) && d.leftOut(rec, d.before) {
			return 0, ""
		}
		return 0, d.reader.Explain(rec.Value, err)
	}
	return events, ""
}

// An eachSum is what was decided about the events of a record.
type eachSum struct {
	outcome Outcome // of the record
	by      [Gap]uint64
	bad     struct { // the first event that becomes a dead letter
		at     int
		value  []byte
		reason string
		Outcome
	}
}

// sumUp notes the outcomes of the events of the block, and of the records whose last event is in it.
func (o *Operator) sumUp(pt *Partition) {
	d, sum := o.decoder, &o.each
	for i := range d.each.shares {
		s := &d.each.shares[i]
		if s.first == 0 {
			*sum = eachSum{outcome: Filtered}
		}
		for e := s.from; e < s.to; e++ {
			f, at := d.outcomes[e], s.first+e-s.from
			if bad := &sum.bad; f.dead() && bad.Outcome == Counted {
				bad.at, bad.value, bad.Outcome, bad.reason = at, d.events[e].Value, f, d.reasons[e]
			}
			sum.by[f]++
			if at == 0 || f == Counted {
				sum.outcome = f
			}
		}
		switch {
		case !s.last:
			continue
		case s.reason != "":
			sum.outcome, sum.by[Malformed] = Malformed, 1
			o.deadLetter(pt, s.rec, Malformed, s.reason)
		case sum.bad.Outcome != Counted:
			o.deadEvent(pt, s)
		}
		for f, n := range sum.by {
			pt.events.add(Outcome(f), n)
			o.events.add(Outcome(f), n)
		}
		o.outcome(pt, sum.outcome, 1)
	}
}

// OfEvent begins the part of a dead letter's reason that says which event of its record it
// is.
const OfEvent = event.Place + "event "

// deadEvent makes the dead letter of a record of which an event was not counted. There is one
// for each record, which holds its first such event.
func (o *Operator) deadEvent(pt *Partition, s *share) {
	by, bad := &o.each.by, &o.each.bad
	reason := bad.reason + fmt.Sprintf(OfEvent+"%d of %d in the record", bad.at+1, s.of)
	if more := by[Late] + by[Future] + by[Malformed] - 1; more > 0 {
		reason += fmt.Sprintf(", which has %d more that are late, future or malformed", more)
	}
	o.deadLetter(pt, &event.Record{Offset: s.rec.Offset, Time: s.rec.Time, Value: bad.value}, bad.Outcome, reason)
}
