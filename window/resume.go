package window

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"weir/event"
)

// Known is what the ledger says about one partition: the latest epoch, the id
// of the topic that it counts, and the durable offsets [First, Next).
type Known struct {
	Epoch       uint8
	TopicID     [16]byte
	First, Next int64

	Saved string // Line.Saved, the greatest

	Blank Span // of the lines that counted no event, such as those of gaps: the last one's offsets

	Earlier *Known // the same of the epoch before this one; nil if there is none
}

// A Span is the offsets [First, Next).
type Span struct{ First, Next int64 }

// Known returns what one line says.
func (l *Line) Known() Known {
	k := Known{Epoch: l.Epoch, TopicID: l.TopicID, First: l.First, Next: l.Next, Saved: l.Saved}
	if l.Hits() == 0 && l.First < l.Next {
		k.Blank = Span{l.First, l.Next}
	}
	return k
}

// With returns k with the entry e of one epoch added, and does not change k or e.
// Entries of the same epoch are merged; epochs may be added in any order. A nil k
// has no entry.
func (k *Known) With(e Known) *Known {
	switch {
	case k == nil || e.Epoch > k.Epoch:
		e.Earlier = k
		return &e
	case e.Epoch < k.Epoch:
		l := *k
		l.Earlier = k.Earlier.With(e)
		return &l
	}
	l := *k
	switch { // an empty line, which opened the epoch, says only Next
	case l.First >= l.Next:
		l.First = e.First
	case e.First < e.Next:
		l.First = min(l.First, e.First)
	}
	l.Next, l.Saved = max(l.Next, e.Next), max(l.Saved, e.Saved)
	if e.Blank.Next > l.Blank.Next || e.Blank.Next == l.Blank.Next && e.Blank.First < l.Blank.First {
		l.Blank = e.Blank
	}
	if bytes.Compare(e.TopicID[:], l.TopicID[:]) > 0 {
		l.TopicID = e.TopicID
	}
	return &l
}

// Of returns the entry of the latest epoch that counts the topic with an id, or nil.
func (k *Known) Of(topicID [16]byte) *Known {
	for k != nil && event.OtherTopic(k.TopicID, topicID) {
		k = k.Earlier
	}
	return k
}

// openEpoch returns the epoch in which a partition begins that the ledger does not have of its
// topic, and the id of another topic if the ledger counts only others. The first partition of a
// topic takes an epoch after all others, and the rest of the topic follows it. So the choice is
// made once for the topic, and a process that reads the ledger later makes the same one.
func openEpoch(ledger map[int32]Known, a event.Assignment) (epoch int, other *[16]byte) {
	first, last := -1, -1 // epochs of this topic, of any
	for _, k := range ledger {
		last, other = max(last, int(k.Epoch)), &k.TopicID
		for e := k.Of(a.TopicID); e != nil; e = e.Earlier.Of(a.TopicID) {
			if first < 0 || int(e.Epoch) < first {
				first = int(e.Epoch)
			}
		}
	}
	if first < 0 {
		return last + 1, other
	}
	if k, ok := ledger[a.Partition]; ok { // which counts other topics
		first = max(first, int(k.Epoch)+1)
	}
	return first, nil
}

// A Policy is what the job's configuration says about losses.
type Policy struct {
	SkipLost bool // if retention has deleted the position: record the gap and go on
	NewEpoch bool // if the topic was recreated: count it under a new epoch
}

// A Plan says from where to read a partition, and which offsets to count.
type Plan struct {
	Partition int32
	Epoch     uint8
	TopicID   [16]byte

	Warm    int64 // first offset to fetch; those below Start only warm Dedupe and Throttle
	Start   int64 // first offset that is counted: the beginning of a chunk, of the log, or where Saved ends
	Durable int64 // offsets below it were durable before; commits never fall below it
	Lost    int64 // offsets [Lost, Start) were deleted by retention before they were read; Lost == Start: none
	Cut     int64 // offsets [Cut, Lost) of the chunk of Start were counted before, and retention has deleted them; Cut == Lost: none
	Replays int64 // offsets that are counted again, to the same numbers

	Saved string // the state of the partition at Start; "": it is empty

	Twice int64 // how many records at most are counted twice: by an earlier epoch and by this one

	Committed int64 // the group's committed offset; -1: none, then Durable itself is to be committed

	// Opens says that the ledger has no line of this epoch yet. Operator.Start makes
	// an empty one, which must be durable before anything is read. Otherwise this
	// could happen: rows are written, the topic is recreated (or the records
	// expire), and the next owner, which finds no line, counts other records under
	// the same slots.
	Opens bool
}

// The reasons why a partition cannot be read from its position. Each stops the
// partition until the operator decides; nothing is skipped silently.
var (
	// ErrRetention: the log no longer holds the next offset to count.
	ErrRetention = errors.New("retention passed the position")
	// ErrBeyondEnd: the position is beyond the end of the log, so the log was
	// truncated, or the topic was deleted and created again.
	ErrBeyondEnd = errors.New("the position is beyond the end of the log")
	// ErrRecreated: the topic's id is not the one in the ledger; its offsets
	// mean other records.
	ErrRecreated = errors.New("the topic was deleted and created again")
	// ErrEpochs: the eight bits of the epoch are used up.
	ErrEpochs = errors.New("no epoch left: raise the job's version")
	// ErrPartition: the sixteen bits of the partition are exceeded.
	ErrPartition = errors.New("partition number above 65535")
)

// Resume decides from where a partition is read, by what the ledger says of all partitions.
//
// The ledger counts the topic, or none yet, or the policy allows a new epoch: that is decided for
// the topic, so a partition that the ledger does not have is no reason to begin.
// The position is the lower of the committed offset and the end of what the
// ledger says is durable. Reading starts at the beginning of the chunk that
// contains the position. What was counted before is counted again to the same
// numbers, and merging equal numbers changes nothing.
func (s *Spec) Resume(a event.Assignment, ledger map[int32]Known, p Policy) (Plan, error) {
	plan := Plan{Partition: a.Partition, TopicID: a.TopicID, Committed: a.Committed}
	fail := func(err error, format string, args ...any) (Plan, error) {
		return Plan{}, fmt.Errorf("job %s, partition %d: %w: "+format, append([]any{s.Job, a.Partition, err}, args...)...)
	}
	if a.Partition > 1<<16-1 {
		return fail(ErrPartition, "%d", a.Partition)
	}
	position := a.Committed
	open := func(epoch int) error { // which is not in use
		plan.Epoch, plan.Opens, position = uint8(epoch), true, a.LogStart
		if epoch > math.MaxUint8 {
			return ErrEpochs
		}
		return nil
	}
	latest, ok := ledger[a.Partition]
	known := &latest
	if !ok {
		known = nil
	}
	// Usually this is the latest epoch. If not, a topic of before is read again, or another process has
	// counted a new one since, of which this process does not know yet.
	known = known.Of(a.TopicID)
	if known == nil {
		epoch, other := openEpoch(ledger, a)
		if other != nil && !p.NewEpoch {
			return fail(ErrRecreated, "topic id %x, in the ledger %x", a.TopicID, *other)
		}
		// If the group has a position nevertheless, the tables were dropped or
		// restored. What is still in the log is counted again.
		if err := open(epoch); err != nil {
			return fail(err, "epoch 255 is in the ledger")
		}
	} else {
		plan.Epoch = known.Epoch
		if position < 0 || position > known.Next {
			position = known.Next // Kafka deletes the offsets of unused groups; the ledger keeps them
		}
		if known.Next > a.LogEnd {
			twice := max(0, a.LogEnd-max(a.LogStart, known.First))
			if !p.NewEpoch {
				return fail(ErrBeyondEnd, "position %d, log ends at %d; of the %d records that are left, up to %d were counted before, which a new epoch counts a second time",
					known.Next, a.LogEnd, a.LogEnd-a.LogStart, twice)
			}
			if err := open(int(latest.Epoch) + 1); err != nil {
				return fail(err, "epoch 255 is in the ledger")
			}
			plan.Twice = twice
		}
	}
	plan.Durable, plan.Lost = position, position
	if known != nil && !plan.Opens && position < a.LogStart {
		// The group is behind the ledger, for example because a commit was lost. What
		// expired in between is durable, so this is no loss and makes no gap.
		position = max(position, min(known.Next, a.LogStart))
		plan.Lost = position
	}
	if position < a.LogStart {
		if !p.SkipLost {
			return fail(ErrRetention, "position %d, log starts at %d, %d records are gone", position, a.LogStart, a.LogStart-position)
		}
		plan.Start, plan.Warm, plan.Cut = a.LogStart, a.LogStart, plan.Lost
		if !plan.Opens {
			plan.Cut = min(plan.Lost, known.counted(a.LogStart&^(s.Chunk-1)))
		}
		return plan, nil
	}
	if plan.Opens {
		known = nil
	}
	plan.from(s, position, a.LogStart, known)
	return plan, nil
}

// from sets where to read so that counting goes on at position: at the beginning
// of its chunk, of the one before for Dedupe and Throttle, or where the ledger has the state of the chunk. known is the ledger's
// state of the plan's epoch; nil: it has none.
func (p *Plan) from(s *Spec, position, logStart int64, known *Known) {
	chunk := position &^ (s.Chunk - 1)
	p.Start = max(chunk, logStart)
	p.Lost, p.Cut, p.Warm = p.Start, p.Start, p.Start
	if known != nil {
		p.Cut = min(p.Start, known.counted(chunk))
	}
	if s.LooksBack() {
		p.Warm = max(chunk-s.Chunk, logStart, 0)
	}
	if known != nil {
		if next, ok := s.resumes(known.Saved); ok && next >= chunk && next <= position && next >= logStart {
			p.Start, p.Saved = next, known.Saved
			p.Warm, p.Lost, p.Cut = p.Start, p.Start, p.Start
		}
	}
	p.Replays = position - p.Start
}

// counted returns the first offset of a chunk of which the ledger may have counted events:
// behind what the ledger does not have, and what is blank there.
func (k *Known) counted(chunk int64) int64 {
	at := max(chunk, k.First)
	if k.Blank.First <= at {
		at = max(at, k.Blank.Next)
	}
	return at
}

// keyCheck returns a number that tells two hash keys apart and does not reveal
// the key.
func keyCheck(key *[16]byte) uint64 {
	sum := sha256.Sum256(append([]byte("weir hash key"), key[:]...))
	return binary.LittleEndian.Uint64(sum[:])
}
