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

// open finds the events of a record. With a reason, the record is malformed.
func (d *Decoder) open(rec *event.Record) (events int, reason string) {
	if len(rec.Value) == 0 && (rec.Value == nil || !d.selects) { // a message of no events is empty
		return 0, emptyValue
	}
	events, err := d.reader.Open(rec)
	if err != nil {
		return 0, err.Error()
	}
	return events, ""
}

// eventOutcome returns the outcome of event i of the opened record, as outcome does of a record.
func (pt *Partition) eventOutcome(d *Decoder, rec *event.Record, i int) (Outcome, string) {
	if err := d.reader.ReadEvent(i, d.vals[:d.scanned]); err != nil {
		return Malformed, err.Error()
	}
	outcome, reason := d.decodeValues(rec)
	if outcome == Counted {
		outcome = pt.look(d)
	}
	return outcome, reason
}

// warmEach shows the events of a record to what the partition remembers.
func (pt *Partition) warmEach(d *Decoder, rec *event.Record) {
	n, _ := d.open(rec)
	for i := range n {
		pt.eventOutcome(d, rec, i)
	}
}

// decideEach returns the outcome of a record, and counts its events.
func (o *Operator) decideEach(pt *Partition, rec *event.Record) Outcome {
	d := o.decoder
	n, reason := d.open(rec)
	if reason != "" {
		pt.events.add(Malformed, 1)
		o.events.add(Malformed, 1)
		o.deadLetter(pt, rec, Malformed, reason)
		return Malformed
	}
	var by [Gap]uint64
	var bad struct { // the first event that becomes a dead letter
		at      int
		outcome Outcome
		reason  string
	}
	outcome := Filtered
	for i := range n {
		f, reason := pt.eventOutcome(d, rec, i)
		if f == Counted {
			o.count(pt)
		} else if f.dead() && bad.outcome == Counted {
			bad.at, bad.outcome, bad.reason = i, f, reason
		}
		by[f]++
		if i == 0 || f == Counted {
			outcome = f
		}
	}
	for f, n := range by {
		pt.events.add(Outcome(f), n)
		o.events.add(Outcome(f), n)
	}
	if bad.outcome != Counted {
		o.deadEvent(pt, rec, bad.at, n, by[Late]+by[Future]+by[Malformed]-1, bad.outcome, bad.reason)
	}
	return outcome
}

// OfEvent begins the part of a dead letter's reason that says which event of its record it
// is.
const OfEvent = "; event "

// deadEvent makes the dead letter of a record of which an event was not counted. There is one
// for each record, which holds its first such event; more is how many others it has.
func (o *Operator) deadEvent(pt *Partition, rec *event.Record, at, events int, more uint64, outcome Outcome, reason string) {
	reason += fmt.Sprintf(OfEvent+"%d of %d in the record", at+1, events)
	if more > 0 {
		reason += fmt.Sprintf(", which has %d more that are late, future or malformed", more)
	}
	o.deadLetter(pt, &event.Record{Offset: rec.Offset, Time: rec.Time, Value: o.decoder.reader.Event(at)}, outcome, reason)
}

// observeEach passes the verdicts of a record to tell: one for each of its events, or one for the
// record if it has none.
func (j *Judge) observeEach(pt *Partition, rec *event.Record, tell func(*Verdict) error) error {
	d := j.decoder
	n, reason := d.open(rec)
	if n == 0 {
		outcome := Malformed
		if reason == "" {
			outcome, reason = Filtered, "it has no events"
		}
		j.verdict = Verdict{Partition: pt.partition, Offset: rec.Offset, Records: 1, Record: rec.Time, Size: len(rec.Value), Outcome: outcome, Reason: reason}
		return tell(&j.verdict)
	}
	for i := range n {
		outcome, reason := pt.eventOutcome(d, rec, i)
		j.judge(pt.partition, rec, outcome, reason)
		j.verdict.Event, j.verdict.Events, j.verdict.Size = i+1, n, len(d.reader.Event(i))
		if err := tell(&j.verdict); err != nil {
			return err
		}
	}
	return nil
}
