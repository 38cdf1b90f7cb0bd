package window

import (
	"fmt"

	"weir/event"
)

// A Judge says what an Operator decides about each record, and counts nothing. It is for
// tools that show records. It is not safe for concurrent use.
type Judge struct {
	spec       *Spec
	decoder    *Decoder
	partitions map[int32]*Partition
	verdict    Verdict
	found      Found
}

// Found is what the events that a judge has had verdicts about have for the job.
type Found struct {
	Paths    map[string]uint64 // events with a value, by each path that the job reads
	Measures []Values          // of the events that count, by measure
	Timeless uint64            // events of records without a time of their own
}

// Values are those that a measure takes.
type Values struct {
	All     uint64
	Empty   uint64 // texts
	Quoted  uint64 // texts, as serializers of JSON write keys and headers
	Rounded uint64 // with digits beyond the scale
	Skipped uint64 // besides: values that it cannot take, with bad: skip
}

// A Verdict is the outcome of one record, or of the records of an unreadable batch.
type Verdict struct {
	Partition int32
	Offset    int64
	Records   int64      // 1; for an unreadable batch how many offsets it has from Offset on
	Record    event.Time // the record's time in Kafka
	Size      int        // length of its value
	Outcome   Outcome    // not Gap
	// With Spec.Each a verdict is about an event: the Event-th, from 1, of the Events that the record has, and
	// Size is its length. Both are 0 if the record has none, or none that can be told apart.
	Event, Events int
	Reason        string // in words; empty for Counted
	// Waits says that the record has no outcome yet, because its schema cannot be had: see Pass.
	Waits bool

	// Decoded says whether the record was read as an event, so that what follows is known:
	// not for Malformed and Filtered.
	Decoded bool
	Time    event.Time // the event's time
	Window  event.Time // start of its window
	ID      [2]uint64  // what Dedupe knows its id by; 0 without Dedupe
	Key     [2]uint64  // the same of Throttle and its key
	// Group is a text for each of Spec.By, also for an event that the operator counts under
	// Other. The texts are views, valid during the call of tell only.
	Group [][]byte
}

// NewJudge makes a judge without partitions. The spec must be valid.
func NewJudge(spec *Spec) (*Judge, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	d, err := newDecoder(spec)
	if err != nil {
		return nil, fmt.Errorf("window: job %s: %w", spec.Job, err)
	}
	j := &Judge{spec: spec, decoder: d, partitions: map[int32]*Partition{}}
	j.found = Found{map[string]uint64{}, make([]Values, len(spec.Measures)), 0}
	for _, path := range d.paths {
		j.found.Paths[path] = 0
	}
	return j, nil
}

// Found returns what was found so far.
func (j *Judge) Found() *Found { return &j.found }

// Before returns the offset from which a judge must read, so that its verdicts from an
// offset on are the outcomes that the ledger counts: that offset itself, or the beginning
// of the chunk before if the outcomes depend on it.
func (s *Spec) Before(offset int64) int64 {
	if !s.LooksBack() {
		return offset
	}
	return max(0, offset&^(s.Chunk-1)-s.Chunk)
}

// Start begins a partition. The judge has no verdicts for the offsets [from, first), only
// remembers them for Dedupe and Throttle.
func (j *Judge) Start(partition int32, from, first int64) {
	j.partitions[partition] = newPartition(j.spec, Plan{Partition: partition, Warm: from, Start: first})
}

// Observe passes the verdict of each record of the batch to tell, in the order of
// offsets. It skips those that it has judged already. It returns the first error of tell;
// the batch counts as judged up to that record. A partition that was not started is an
// error. A schema that is unknown is an error as for Operator.Observe.
func (j *Judge) Observe(b *event.Batch, tell func(*Verdict) error) error {
	pt := j.partitions[b.Partition]
	if pt == nil {
		return fmt.Errorf("window: job %s: a batch of partition %d, which this judge was not told to read", j.spec.Job, b.Partition)
	}
	if b.Unreadable != "" {
		j.advance(pt, b.First)
		if first := max(pt.next, pt.start); first < b.Next {
			j.advance(pt, b.Next)
			j.verdict = Verdict{Partition: b.Partition, Offset: first, Records: b.Next - first, Record: b.Time, Outcome: Malformed, Reason: b.Unreadable}
			return tell(&j.verdict)
		}
	}
	j.decoder.partition, j.decoder.epoch = pt.partition, pt.epoch
	for i := range b.Records {
		rec := &b.Records[i]
		if rec.Offset < pt.next {
			continue
		}
		j.advance(pt, rec.Offset)
		warm := pt.warming()
		for done := 0; done == 0; { // a block has the events of one record, so that tell can stop behind each
			var err error
			if done, err = j.decoder.readBlock(b.Records[i : i+1]); err != nil {
				return err
			}
			pt.decide(j.decoder)
			j.look(warm)
			if done > 0 {
				j.advance(pt, rec.Offset+1)
			}
			if warm {
				continue
			}
			if err := j.tell(rec, tell); err != nil {
				return err
			}
		}
	}
	j.advance(pt, b.Next)
	return nil
}

// look notes what the events of the block have, unless they are only remembered, and clears it: an event that cannot
// be read has no values, but those of the block before.
func (j *Judge) look(warm bool) {
	d := j.decoder
	for e := range Entry(len(d.events)) {
		for at, path := range d.paths {
			if !d.Absent(e, at) && !warm {
				j.found.Paths[path]++
			}
		}
	}
	for m := range d.readings {
		r, of, to := &d.readings[m], &j.spec.Measures[m], &j.found.Measures[m]
		for _, e := range r.takes {
			if d.outcomes[e] == Counted && !warm {
				to.add(d.Value(e, r.at), of)
			}
		}
		to.Skipped += d.skipped[m]
	}
	j.found.Timeless += d.timeless
	d.timeless = 0
	clear(d.skipped)
	clear(d.vals[:len(d.events)*d.width])
}

func (to *Values) add(v *event.Value, of *Measure) {
	to.All++
	if n := len(v.Bytes); v.Type == event.String && n == 0 {
		to.Empty++
	} else if v.Type == event.String && n > 1 && v.Bytes[0] == '"' && v.Bytes[n-1] == '"' {
		to.Quoted++
	}
	if _, _, exact := v.Scaled(of.Scale); of.Round && !exact {
		to.Rounded++
	}
}

// tell passes the verdicts about the events of the block to tell, or the one about the record if it has no events.
func (j *Judge) tell(rec *event.Record, tell func(*Verdict) error) error {
	d := j.decoder
	for e := range d.events {
		j.judge(&d.events[e], d.outcomes[e], d.reasons[e], Entry(e))
		if j.spec.Each != "" {
			s := &d.each.shares[0]
			j.verdict.Event, j.verdict.Events = s.first+e+1, s.of
		}
		if err := tell(&j.verdict); err != nil {
			return err
		}
	}
	if len(d.events) > 0 || d.each.shares[0].of > 0 {
		return nil
	}
	outcome, reason := Malformed, d.each.shares[0].reason
	if reason == "" {
		outcome, reason = Filtered, "it has no events"
	}
	j.verdict = Verdict{Partition: d.partition, Offset: rec.Offset, Records: 1, Record: rec.Time, Size: len(rec.Value), Outcome: outcome, Reason: reason}
	return tell(&j.verdict)
}

// Learn tells the judge a schema that Observe has asked for.
func (j *Judge) Learn(id event.SchemaID, s *event.Schema) { j.decoder.reader.Learn(id, s) }

// Pass goes past the record that needs a schema which cannot be had, for the given reason, and
// passes a verdict to tell that says so. An operator waits there instead.
func (j *Judge) Pass(b *event.Batch, u *event.UnknownSchema, reason string, tell func(*Verdict) error) error {
	pt := j.partitions[b.Partition]
	warm := pt.warming()
	j.advance(pt, u.Offset+1)
	for i := range b.Records {
		if rec := &b.Records[i]; rec.Offset == u.Offset && !warm {
			j.judge(rec, Malformed, reason, 0)
			j.verdict.Waits = true
			return tell(&j.verdict)
		}
	}
	return nil
}

// judge sets the verdict of an event of the block, or of a record.
func (j *Judge) judge(rec *event.Record, outcome Outcome, reason string, e Entry) {
	v, d := &j.verdict, j.decoder
	group := v.Group[:0]
	*v = Verdict{Partition: d.partition, Offset: rec.Offset, Records: 1, Record: rec.Time, Size: len(rec.Value), Outcome: outcome, Reason: reason}
	switch outcome {
	case Malformed:
		return
	case Counted:
		v.Reason = ""
	case Filtered:
		v.Reason = "a condition of where does not hold"
		return
	case Duplicate:
		v.Reason = "its id was seen in this chunk or the one before"
	case Throttled:
		v.Reason = "beyond the limit of its key"
	}
	v.Decoded, v.Time, v.Window, v.Group = true, d.times[e], d.windows[e], splitGroup(group, d.groups[e], len(j.spec.By))
	v.ID, v.Key = d.ids[e], d.keys[e]
}

// advance moves a partition to an offset, through the ends of chunks.
func (j *Judge) advance(pt *Partition, to int64) {
	for pt.next < to {
		pt.next = min(to, (pt.chunk()+1)*j.spec.Chunk)
		if pt.next&(j.spec.Chunk-1) == 0 {
			pt.turn()
		}
	}
}
