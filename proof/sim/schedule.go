package sim

import (
	"math/rand/v2"
	"runtime/debug"

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

// settleLimit is how many steps may pass, once faults have stopped, until
// everything is durable and committed. Runs need a tenth of it.
const settleLimit = 20_000

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
	ledger    flow.Time // steps from one flush that makes everything durable to the next
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
		buffer: []byte{}, // so that no record with an empty value seems to have none
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
	s.ledger = flow.Time(1+setup.IntN(5)) * s.flush
	return s
}

// now returns the time on the clock of every process.
func (s *schedule) now() flow.Time { return flow.Time(s.step) }

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
