package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"weir/event"
	"weir/flow"
	"weir/window"
)

// Options override what the seed decides.
type Options struct {
	Without Set     // faults that stay off
	Steps   int     // steps with faults; 0: as the seed says
	Mistake Mistake // planted on purpose

	// Trace, if set, is called with each event of the run.
	Trace func(step int, what string)
}

// A Result is the result of a run.
type Result struct {
	Seed     uint64
	Options  Options
	On       Set // faults that the seed switched on
	Steps    int // steps with faults
	Totals   Totals
	Digest   uint64   // of everything that happened
	Problems []string // violations, at most maxProblems; there should be none
}

// Failed reports whether a violation was found.
func (r *Result) Failed() bool { return len(r.Problems) > 0 }

// Totals counts what happened in a run, or in many.
type Totals struct {
	Faults  [Faults]int // how often each happened
	Steps   int
	Events  int // records in the logs
	Inserts int
	Rows    int // in inserts

	Rollups   int // of one level, to their end
	Views     int // that were read
	Overtaken int // inserts that were made again because a round was opened meanwhile

	Replays int // offsets read again
	Cut     int // chunks whose rows lack counted events, because retention deleted the chunk's beginning
	Fenced  int // refused commits of removed members
	Peak    int // the most bytes that one process held
}

func (t *Totals) add(o *Totals) {
	for f := range t.Faults {
		t.Faults[f] += o.Faults[f]
	}
	t.Steps += o.Steps
	t.Events += o.Events
	t.Inserts += o.Inserts
	t.Rows += o.Rows
	t.Rollups += o.Rollups
	t.Views += o.Views
	t.Overtaken += o.Overtaken
	t.Replays += o.Replays
	t.Cut += o.Cut
	t.Fenced += o.Fenced
	t.Peak = max(t.Peak, o.Peak)
}

const (
	maxProblems = 8
	// settleLimit is how many steps may pass, once faults have stopped, until
	// everything is durable and committed. Runs need a tenth of it.
	settleLimit = 20_000
)

// A schedule is one run.
type schedule struct {
	r, faults  *rand.Rand // for the order of steps; for the faults
	rolls      *rand.Rand // for rollups and views
	rollEvery  int        // how rarely a process begins a rollup…
	wholeEvery int        // …and rolls up open windows, too
	mix        mix
	mistake    Mistake
	trace      func(step int, what string)

	old, spec *window.Spec // processes begin with old and end with spec
	workers   int
	batch     int64     // about the most offsets in a fetch
	budget    int       // bytes a process may hold
	flush     flow.Time // steps from one flush to the next
	upgraded  bool      // all processes run spec

	step     int
	ticks    int // steps that were not skipped
	topic    *topic
	past     []*topic // deleted
	producer producer
	group    *group
	network  *network
	sink     *sink
	members  []*member
	epochs   int // the highest epoch

	counted map[partitionEpoch]*topic // the topic that was read under an epoch of a partition
	warned  map[window.Slot]bool      // chunks of which a process reported that offsets were gone when it began to read
	added   []int64                   // by partition: from this offset on, all processes count the added measure

	buffer   []byte // the contents of the last fetch
	records  []event.Record
	handed   event.Batch
	totals   Totals
	digest   uint64
	problems []string
}

// Run runs the schedule of a seed.
func Run(seed uint64, o Options) Result {
	s := newSchedule(seed, o)
	steps := 100 + s.r.IntN(300)
	if o.Steps > 0 {
		steps = o.Steps
	}
	on := s.mix.on
	for _, feature := range []Fault{Dedupe, Cap, Where} {
		if on.Has(feature) {
			s.mix.count[feature]++ // a feature is on for the whole run
		}
	}
	s.guard(func() {
		for range steps {
			s.tick(true)
		}
		s.heal()
		if s.settle() {
			s.judge()
		}
	})
	for _, m := range s.members {
		m.roller.end()
	}
	s.totals.Faults, s.totals.Steps = s.mix.count, s.ticks
	return Result{Seed: seed, Options: o, On: on, Steps: steps, Totals: s.totals, Digest: s.digest, Problems: s.problems}
}

// guard turns a panic of the core into a violation.
func (s *schedule) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

func newSchedule(seed uint64, o Options) *schedule {
	// One random stream per purpose: if Shrink drops a fault, the records and most
	// of the order of steps stay the same.
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	s := &schedule{
		r: stream(1), faults: stream(2), mix: draw(stream(3), o.Without), mistake: o.Mistake, trace: o.Trace, rolls: stream(6),
		counted: map[partitionEpoch]*topic{}, warned: map[window.Slot]bool{}, digest: seed,
	}
	setup := stream(4)
	s.old, s.spec = newSpec(setup, &s.mix)
	s.workers = 1 + setup.IntN(2)
	s.batch = 2 << setup.IntN(5)
	s.budget = 80_000 + 80_000*s.workers + setup.IntN(50_000) // a few empty tables take half of it
	s.topic = newTopic(0, 1+setup.IntN(4))
	s.flush = flow.Time(1 + setup.IntN(8))
	s.producer = producer{r: stream(5), mix: &s.mix, spec: s.spec, now: begin}
	s.group = &group{s: s}
	s.network = &network{s: s}
	s.sink = newSink(s)
	s.wholeEvery = 3 + s.rolls.IntN(8)
	s.rollEvery = 1 + s.rolls.IntN(3)*s.rolls.IntN(4)
	if s.mistake == MadeTrusted && !o.Without.Has(LoseRounds) {
		// It shows where the rounds fall while processes remember windows that they made.
		s.mix.on = s.mix.on.With(LoseRounds)
		s.mix.every[LoseRounds], s.rollEvery, s.wholeEvery = 4, 1, 2
	}
	for range 1 + setup.IntN(3) {
		m := &member{s: s}
		s.members = append(s.members, m)
		m.start()
	}
	return s
}

// now returns the time on the clock of every process.
func (s *schedule) now() flow.Time { return flow.Time(s.step) }

// fail notes a violation.
func (s *schedule) fail(format string, args ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, fmt.Sprintf("step %d: ", s.step)+fmt.Sprintf(format, args...))
	}
}

// failSorted notes violations found in the order of a map, sorted.
func (s *schedule) failSorted(problems []string) {
	slices.Sort(problems)
	for _, p := range problems {
		s.fail("%s", p)
	}
}

// note adds a number to the digest.
func (s *schedule) note(x uint64) {
	s.digest = (s.digest ^ x) * 0x9e3779b97f4a7c15
	s.digest ^= s.digest >> 29
}

func (s *schedule) tracef(format string, args ...any) {
	if s.trace != nil {
		s.trace(s.step, fmt.Sprintf(format, args...))
	}
}

// tick is one step: time passes, records come, faults happen, due messages
// arrive, and two processes make a step.
func (s *schedule) tick(faults bool) {
	s.step++
	s.ticks++
	if faults {
		s.producer.now += event.Time(s.r.Int64N(int64(s.spec.Window) / 8))
		s.producer.bulky = s.sink.down && s.mix.on.Has(Memory)
		if s.r.IntN(2) == 0 {
			s.producer.append(s.topic.parts[s.r.IntN(len(s.topic.parts))], 1+s.r.IntN(6))
		}
		s.strike()
	}
	s.group.tick()
	s.network.tick()
	for range 2 {
		if m := s.members[s.r.IntN(len(s.members))]; m.alive && !m.paused {
			m.turn()
		}
	}
	s.rollup()
}

// epochOf returns the latest epoch under which the topic's partition was read; false
// if it was not.
func (s *schedule) epochOf(partition int) (partitionEpoch, bool) {
	for epoch := s.epochs; epoch >= 0; epoch-- {
		if key := (partitionEpoch{uint8(epoch), int32(partition)}); s.counted[key] == s.topic {
			return key, true
		}
	}
	return partitionEpoch{}, false
}

// reach returns the offset up to which a partition of the topic is durable.
func (s *schedule) reach(partition int) int64 {
	key, ok := s.epochOf(partition)
	if !ok {
		return 0
	}
	_, next := s.sink.reach(key)
	return next
}

// strained reports whether a slot's chunk is in doubt.
func (s *schedule) strained(slot window.Slot) bool {
	t := s.counted[partitionEpoch{slot.Epoch(), slot.Partition()}]
	if t == nil {
		return false
	}
	p := t.parts[slot.Partition()]
	return p.doubtful(slot.Chunk()) || p.thinned(slot.Chunk())
}

// version returns the spec of a process that starts now.
func (s *schedule) version() *window.Spec {
	if s.upgraded || s.old == s.spec {
		return s.spec
	}
	if s.faults.IntN(2) == 0 {
		s.mix.count[Rolling]++
		return s.spec
	}
	return s.old
}

// planned notes a plan: how much is read again.
func (s *schedule) planned(t *topic, p window.Plan) {
	s.totals.Replays += int(p.Replays)
	if p.Cut < p.Lost {
		s.warned[window.MakeSlot(p.Epoch, p.Partition, p.Start/s.spec.Chunk)] = true
	}
	s.tracef("partition %d: epoch %d, from %d, counted from %d, durable to %d, lost from %d", p.Partition, p.Epoch, p.Warm, p.Start, p.Durable, p.Lost)
}

// read makes the batch that a fetch returns: the records of [from, to), in a
// buffer that forget overwrites after they were counted.
func (s *schedule) read(p *partition, partition int32, from, to int64) *event.Batch {
	s.buffer, s.records = s.buffer[:0], s.records[:0]
	for o := from; o < to; o++ {
		rec := &p.records[o]
		if rec.form == gap || rec.compacted {
			continue
		}
		value := rec.value
		if value != nil {
			at := len(s.buffer)
			s.buffer = append(s.buffer, value...)
			value = s.buffer[at:len(s.buffer):len(s.buffer)]
		}
		s.records = append(s.records, event.Record{Offset: o, Time: rec.time, Value: value})
	}
	s.handed = event.Batch{Partition: partition, First: from, Next: to, Records: s.records}
	return &s.handed
}

// forget overwrites the fetch buffer, as the next fetch would.
func (s *schedule) forget() {
	clear(s.buffer)
}

// held checks a process's memory after each fetch, and which topic it counts.
func (s *schedule) held(r *run) {
	n := int(r.workers() + r.flow.Bytes())
	s.totals.Peak = max(s.totals.Peak, n)
	if s.mix.on.Has(Memory) && n > s.budget+slack {
		s.fail("a process holds %d bytes, its budget is %d", n, s.budget)
	}
}

// drained checks a process that has drained: everything that it read must be
// durable.
func (s *schedule) drained(r *run) {
	if r.restarts != s.sink.restarts {
		return // what it wrote is forgotten, and the next owner reads it again
	}
	for i, p := range r.plans {
		next := r.next[i]
		if next > max(p.Start, p.Durable) && !s.sink.durable(p.Epoch, p.Partition, next) {
			s.fail("a process has released partition %d at %d, which is not durable", p.Partition, next)
		}
	}
}

// slack is how far one fetch may exceed the budget: the first rows of a new
// table (some 90 KB with all measures: hashed ids lie far apart, in a chunk each), the records' dead letters, and the
// counts of open chunks, which no flush frees.
const slack = 140_000

// heal ends all faults.
func (s *schedule) heal() {
	s.tracef("faults stop")
	s.mix.on &= Set(0).With(Memory)
	s.sink.down, s.sink.up, s.group.down = false, 0, 0
	s.batch = 256 // the rest is read in larger batches
	s.topic.allowed = 0
	for _, p := range s.topic.parts {
		s.producer.endTransaction(p)
	}
	for _, m := range s.members {
		if m.alive && m.spec != s.spec {
			m.kill()
		}
	}
	s.upgraded = true
	for n := range s.topic.parts {
		s.added = append(s.added, s.reached(n))
	}
	for _, m := range s.members {
		m.wake()
		if !m.alive {
			m.start()
		}
	}
}

// reached returns the offset that the ledger of a partition has reached, or will
// have reached when all sent inserts have landed.
func (s *schedule) reached(partition int) int64 {
	next := int64(0)
	key, ok := s.epochOf(partition)
	if !ok {
		return 0
	}
	see := func(lines []window.Line) {
		for _, l := range lines {
			if l.Epoch == key.epoch && l.Partition == key.partition {
				next = max(next, l.Next)
			}
		}
	}
	see(s.sink.ledger[key])
	for _, i := range s.network.sent {
		see(i.lines)
	}
	return next
}

// settle lets the processes work until nothing is left to do. If that takes too long
// it notes a violation and returns false.
func (s *schedule) settle() bool {
	left, again := "", false
	for end := s.ticks + settleLimit; s.ticks < end; {
		s.tick(false)
		for _, m := range s.members {
			if !m.alive { // it got a SIGTERM just before the faults stopped
				m.start()
			}
		}
		if len(s.problems) > 0 {
			return false
		}
		switch left = s.unfinished(again); {
		case left == underWay:
			s.network.skip()
		case left != "":
		case again:
			return true
		default:
			// The last commit may have been lost. The next owner of the partition
			// commits again.
			again = true
			s.group.rebalance()
		}
	}
	s.fail("no progress: %d steps after the last fault %s", settleLimit, left)
	return false
}

// underWay is the text of unfinished for an insert that only the network still has.
const underWay = "an insert is under way"

// unfinished names something that is still to do; empty if there is nothing. With
// again, positions must be committed too, which holds after the generation that
// began at the end: see settle.
func (s *schedule) unfinished(again bool) string {
	if s.group.preparing {
		return "the group is rebalancing"
	}
	for _, m := range s.members {
		if m.phase != holding || m.run.phase != flow.Reading || !m.run.flow.Idle() {
			return "a process is not done"
		}
		if m.run.forgotten() {
			return "a process has not seen that the sink was started again"
		}
	}
	for n, p := range s.topic.parts {
		if s.reach(n) < p.end() {
			if p.start < p.end() {
				return "a partition is not durable to its end"
			}
			continue // no process has read any of it, and now it is gone
		}
		if c := s.group.committed[n]; again && c >= 0 && c < p.end() {
			return "a partition is not committed to its end"
		}
	}
	if len(s.network.sent) > 0 {
		return underWay
	}
	return ""
}

// allowed reports whether the operator has decided that a topic is to be counted.
func (s *schedule) allowed(t *topic) bool { return s.step >= t.allowed }

// reading notes which topic is counted under an epoch. Two topics under one
// epoch would share slots.
func (s *schedule) reading(r *run, partition int32) {
	if !s.allowed(r.topic) {
		s.fail("partition %d: a topic is counted that was not allowed", partition)
	}
	key := partitionEpoch{r.epochs[partition], partition}
	s.epochs = max(s.epochs, int(key.epoch))
	switch old := s.counted[key]; old {
	case nil:
		s.counted[key] = r.topic
	case r.topic:
	default:
		if s.mistake != EpochKept { // there the comparison must find it
			s.fail("partition %d: two topics are counted under epoch %d", partition, key.epoch)
		}
	}
}
