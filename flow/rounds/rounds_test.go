package rounds

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/event"
)

// A model is one table of rows and its rollup: each statement is one step, and steps of
// writers and rollups interleave in any order. Mistakes planted around the protocol are
// found, so the model can fail.
type model struct {
	r        *rand.Rand
	opened   uint64
	done     uint64
	rows     []modelRow
	mistakes string
}

type modelRow struct {
	window int64
	stamp  uint64
	there  bool // visible
	acked  bool // its writer was told so
	rolled bool // the rollup holds it
}

var (
	errMissed = errors.New("a row is acknowledged, and neither rolled up nor in the live tail")
	errDead   = errors.New("the process is dead")
	errFailed = errors.New("the statement failed")
)

// writer is one flush of one row: it inserts and reads the round, until it is
// not overtaken. Now and then it dies.
func (m *model) writer(yield func() bool) {
	var w Writer
	i := len(m.rows)
	m.rows = append(m.rows, modelRow{window: m.r.Int64N(4)})
	for s := w.Begin(m.opened); ; {
		if !yield() {
			return
		}
		// A row of the same key merges with what is there by maximum.
		m.rows[i].stamp, m.rows[i].there = max(m.rows[i].stamp, s.Stamp), true
		if !yield() || m.r.IntN(20) == 0 {
			return
		}
		now := m.opened
		if !yield() {
			return
		}
		if s.Passes(now) || m.mistakes == "never overtaken" {
			m.rows[i].acked = true
			return
		}
	}
}

// process rolls up again and again, and remembers in which round it made a window. A
// rollup may fail anywhere; a process that dies forgets.
func (m *model) process(yield func() bool) {
	made := &Made{}
	for m.rollup(yield, made) {
		if m.r.IntN(20) == 0 {
			return
		}
	}
}

// rollup returns false if the process is not to go on.
func (m *model) rollup(yield func() bool, made *Made) bool {
	db := &statements{model: m, yield: yield, made: made, before: m.opened, round: m.opened, since: m.done}
	if !yield() {
		return false
	}
	// Windows of one second that end by the watermark are complete: any number of the four.
	done, err := Advance(db, db.before, Choice{Length: 1, Done: db.since, Watermark: event.Time(m.r.IntN(6)) * 1000, Made: made})
	switch {
	case errors.Is(err, errDead) || !yield():
		return false
	case err == nil:
		m.done = max(m.done, done)
		made.Prune(max(done, db.since))
	}
	return true
}

// statements are the statements of one rollup.
type statements struct {
	*model
	yield         func() bool
	made          *Made
	before, round uint64 // the current round when it began, and now
	since         uint64
	first         []Window // what it saw before it opened a round
}

func (s *statements) Touched() ([]Window, error) {
	if !s.yield() {
		return nil, errDead
	}
	if s.mistakes == "looks before it opens" && s.round > s.before {
		return s.first, nil
	}
	at := map[int64]int{}
	var list []Window
	for _, row := range s.rows {
		if !row.there || row.stamp < s.since {
			continue
		}
		n, ok := at[row.window]
		if !ok {
			n = len(list)
			list = append(list, Window{row.window, row.stamp, row.stamp})
			at[row.window] = n
		}
		list[n].First, list[n].Last = min(list[n].First, row.stamp), max(list[n].Last, row.stamp)
	}
	s.first = slices.Clone(list)
	if s.mistakes == "forgets what it leaves" {
		for n := range list {
			list[n].First = max(list[n].First, s.round+1)
		}
	}
	if s.mistakes == "leaves out rows of the round of the making" {
		for n := range list {
			list[n].Last -= min(list[n].Last, 1)
		}
	}
	return list, nil
}

func (s *statements) Open(round uint64) error {
	if !s.yield() {
		return errDead
	}
	s.round = round
	s.opened = max(s.opened, round)
	if s.mistakes == "notes before it rolls up" {
		s.done = max(s.done, round)
	}
	return nil
}

func (s *statements) Make(list []Window) error {
	for _, w := range list {
		if s.mistakes == "remembers before it rolls up" {
			if s.made.in == nil {
				s.made.in = map[int64]uint64{}
			}
			s.made.in[w.Start] = s.round
		}
		if !s.yield() {
			return errDead
		}
		if s.r.IntN(40) == 0 {
			return errFailed
		}
		for i := range s.rows {
			if s.rows[i].there && s.rows[i].window == w.Start {
				s.rows[i].rolled = true
			}
		}
	}
	return nil
}

func (m *model) run(steps int) error {
	type actor struct {
		next func() (struct{}, bool)
		stop func()
	}
	var actors []actor
	start := func(f func(yield func() bool)) {
		next, stop := iter.Pull(func(yield func(struct{}) bool) { f(func() bool { return yield(struct{}{}) }) })
		actors = append(actors, actor{next, stop})
	}
	defer func() {
		for _, a := range actors {
			a.stop()
		}
	}()
	for range steps {
		switch m.r.IntN(16) {
		case 0, 1:
			start(m.writer)
		case 2:
			start(m.process)
		}
		if len(actors) == 0 {
			continue
		}
		// A few run, the others stall.
		at := m.r.IntN(min(len(actors), 4))
		if m.r.IntN(30) == 0 {
			at = m.r.IntN(len(actors))
		}
		if _, more := actors[at].next(); !more {
			actors = slices.Delete(actors, at, at+1)
		}
		for _, row := range m.rows {
			if row.acked && !row.rolled && row.stamp < m.done {
				return errMissed
			}
		}
	}
	return nil
}

// TestRounds: no interleaving of writers and rollups, with stalls and deaths,
// misses an acknowledged row; and the same model with a mistake does.
func TestRounds(t *testing.T) {
	schedules := func(mistake string) (at int, err error) {
		for seed := range uint64(3000) {
			m := &model{r: rand.New(rand.NewPCG(seed, 14)), mistakes: mistake}
			if err := m.run(250); err != nil {
				return int(seed), err
			}
		}
		return 0, nil
	}
	if seed, err := schedules(""); err != nil {
		t.Errorf("schedule %d: %v", seed, err)
	}
	for _, mistake := range []string{
		"never overtaken", "looks before it opens", "notes before it rolls up",
		"forgets what it leaves", "leaves out rows of the round of the making", "remembers before it rolls up",
	} {
		seed, err := schedules(mistake)
		if err == nil {
			t.Errorf("with a mistake planted (%s) nothing is missed", mistake)
		}
		t.Logf("%s: schedule %d", mistake, seed)
	}
}
