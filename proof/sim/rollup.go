package sim

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"weir/event"
	"weir/flow/rounds"
	"weir/window"
)

// Rollups as sinks/clickhouse makes them, with the same package rounds: the first level
// has the windows of the state rows, and the numbers of whole ones; the second is made from the first. Any process may
// roll up at any time, some at once. Each statement is a step: a process may be killed or
// stopped between any two, and a statement may be refused, land late, or land without
// an answer. Of the measures the first level has the numbers of those that count ids. Counts stand for
// everything else that a row has, because one statement reads and writes all of it.

// longer is how many windows of the first level a window of the second has.
const longer = 4

// rollups is what the store has of the rollups, besides the rows themselves.
type rollups struct {
	opened  uint64 // the current round
	done    [2]uint64
	long    []longRow
	index   map[string]int // of long
	landing []landing
	view    *view // being read
}

// A longRow is a row of the second level.
type longRow struct {
	start  int64 // of its window, in seconds
	from   []int // rows of the sink
	rolled uint64
}

// A landing is a statement that the store will apply.
type landing struct {
	step  int
	apply func()
}

// round returns the current round as the store has it.
func (k *rollups) round() uint64 { return max(k.opened, k.done[0], k.done[1]) }

// entered adds a new row of the sink.
func (k *sink) entered(n int) {
	row := &k.rows[n]
	row.start = int64(keyWindow(row.key)) / 1000
	start := row.start - row.start%(longer*k.s.length())
	key := string(appendKey(nil, event.Time(start), []byte(row.key[8:])))
	long, ok := k.rolled.index[key]
	if !ok {
		long = len(k.rolled.long)
		k.rolled.long = append(k.rolled.long, longRow{start: start})
		if k.rolled.index == nil {
			k.rolled.index = map[string]int{}
		}
		k.rolled.index[key] = long
	}
	k.rolled.long[long].from = append(k.rolled.long[long].from, n)
	row.long = long
}

// length is the length of a window of the first level, in seconds.
func (s *schedule) length() int64 { return int64(s.spec.Window) / 1000 }

// A roller is what a process keeps for its rollups, and the one that is under way.
type roller struct {
	spec    *window.Spec
	current rounds.Current
	asked   int // step
	made    [2]rounds.Made
	rows    rounds.Writer // of state rows
	rolled  rounds.Writer // of rows of a rollup
	next    func() (struct{}, bool)
	stop    func()
}

// read reads the current round.
func (p *roller) read(s *schedule) uint64 {
	p.current.Read(s.sink.rolled.round())
	p.asked = s.step
	return p.current.Round
}

// fresh is how many steps old the round may be that a writer stamps rows with.
const fresh = 8

// last returns the current round, as it was read a short time ago.
func (p *roller) last(s *schedule) uint64 {
	if s.step-p.asked < fresh || s.sink.down {
		return p.current.Round
	}
	return p.read(s)
}

// turn lets the process make the next step of its rollup, or begin one.
func (p *roller) turn(s *schedule) {
	if p.next == nil {
		if s.rolls.IntN(s.rollEvery) > 0 {
			return
		}
		p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
			rolling := &rolling{s: s, p: p, yield: func() bool { return yield(struct{}{}) }}
			rolling.err = rolling.roll(s.rolls.IntN(s.wholeEvery) == 0)
		})
	}
	if _, more := p.next(); !more {
		p.next, p.stop = nil, nil
	}
}

// end ends the rollup that is under way, wherever it is.
func (p *roller) end() {
	if p.stop != nil {
		p.stop()
		p.next, p.stop = nil, nil
	}
}

// A rolling is a rollup of both levels.
type rolling struct {
	s     *schedule
	p     *roller
	yield func() bool // lets a step pass; false: the process is dead
	err   error
}

var errDead = errors.New("the process is dead")

// roll does what sinks/clickhouse Sink.Rollup does.
func (r *rolling) roll(past bool) error {
	s, k := r.s, &r.s.sink.rolled
	for level := range k.done {
		if !r.yield() {
			return errDead
		}
		if s.sink.down {
			return errRefused
		}
		opened, done, made := r.p.read(s), k.done[level], &r.p.made[level]
		if s.mistake != MadeTrusted {
			made.Trust(r.p.current, done)
		}
		c := rounds.Choice{
			Length: s.length(), Done: done, Past: past, Whole: past || s.rolls.IntN(s.wholeEvery) == 0, Again: s.rolls.IntN(16) == 0,
			Watermark: s.producer.now - event.Time(s.rolls.Int64N(4*int64(s.spec.Window))), Made: made,
		}
		if level > 0 {
			c.Length *= longer
		}
		since := done
		if c.Again {
			since -= min(since, s.rolls.Uint64N(8))
		}
		now, err := rounds.Advance(&statements{rolling: r, level: level, since: since}, opened, c)
		if err != nil {
			return err
		}
		if now > done && r.p.spec == s.spec { // a process that lacks a measure notes nothing
			if err := r.write(func() { k.done[level] = max(k.done[level], now) }); err != nil {
				return err
			}
		}
		made.Prune(max(now, done))
		s.totals.Rollups++
		s.note(now)
	}
	if s.rolls.IntN(4) > 0 {
		return nil
	}
	return r.fold()
}

// fold does what sinks/clickhouse Sink.Fold does. The process may stall, or die, between any two steps.
func (r *rolling) fold() error {
	s := r.s
	if !r.yield() {
		return errDead
	}
	if s.sink.down {
		return errRefused
	}
	folds := s.sink.folds()
	remove := func() error { return r.write(func() { s.sink.remove(folds) }) }
	if s.mistake == FoldedFirst {
		if err := remove(); err != nil {
			return err
		}
	}
	for _, f := range folds {
		if !f.Fresh {
			continue
		}
		if err := r.write(func() { s.sink.enter(&f.Line) }); err != nil {
			return err
		}
		s.totals.Folds++
	}
	return remove()
}

// statements are what a rollup asks of the simulated database, with a mistake if one is planted.
type statements struct {
	*rolling
	level        int
	since, round uint64
	before       []rounds.Window
	right        map[int64]bool // CheckedFirst: before the round is open
}

func (r *statements) Touched() ([]rounds.Window, error) {
	if !r.yield() {
		return nil, errDead
	}
	if r.s.sink.down {
		return nil, errRefused
	}
	if r.s.mistake == LooksFirst && r.round > 0 {
		return r.before, nil
	}
	r.before = r.s.sink.touched(r.level, r.since)
	if r.round == 0 {
		r.right = r.s.sink.right(r.p.spec)
	}
	list := slices.Clone(r.before)
	if r.s.mistake == TailForgotten {
		for n := range list {
			list[n].First = max(list[n].First, r.since+1<<30) // it holds nothing back
		}
	}
	return list, nil
}

func (r *statements) Open(round uint64) error {
	k := &r.s.sink.rolled
	r.round = round
	err := r.write(func() {
		k.opened = max(k.opened, round)
		if r.s.mistake == NotedFirst {
			k.done[r.level] = max(k.done[r.level], round)
		}
	})
	if err == nil {
		r.p.current.Read(round)
		r.p.asked = r.s.step
	}
	return err
}

func (r *statements) Make(list []rounds.Window) error {
	s := r.s
	if r.level == 0 {
		if !r.yield() {
			return errDead
		}
		if s.sink.down {
			return errRefused
		}
		if s.mistake != CheckedFirst {
			r.right = s.sink.right(r.p.spec)
		}
		for _, w := range list {
			if r.right[w.Start] {
				s.totals.Taken++
			}
		}
	}
	for at := r.p.rolled.Begin(r.p.last(s)); ; {
		for rest := list; len(rest) > 0; {
			n := 1 + s.rolls.IntN(len(rest))
			if err := r.write(s.sink.merged(r, rest[:n], at.Stamp)); err != nil {
				return err
			}
			rest = rest[n:]
		}
		if s.sink.down {
			return errRefused
		}
		if at.Passes(r.p.read(s)) {
			return nil
		}
	}
}

// right returns the windows of which whole rows gave all numbers: of each row those of as many events as it has,
// and of the measures that the process counts.
func (k *sink) right(spec *window.Spec) map[int64]bool {
	measures := 0
	for i := range spec.Measures {
		if !spec.Measures[i].Kind.ByMember {
			measures++
		}
	}
	right, differ := map[int64]bool{}, map[int64]uint64{}
	for n := range k.rows {
		row := &k.rows[n]
		ok := row.flushed.events == row.total && row.flushed.measures == measures
		switch k.s.mistake {
		case WindowChecked:
			differ[row.start] += row.flushed.copies - row.total
			continue
		case HitsChecked:
			ok = row.rolled == row.total
		case MeasuresUnchecked:
			ok = row.flushed.events == row.total
		}
		if !ok {
			differ[row.start]++
		}
	}
	for n := range k.rows {
		right[k.rows[n].start] = differ[k.rows[n].start] == 0
	}
	return right
}

// number returns the numbers of a row's states, of the measures that the process counts.
func (k *sink) number(row *storedRow, spec *window.Spec) numbers {
	return k.s.numbers(spec, func(m int) uint64 { return k.states.of[m].(*poolKeeper).pool.(*hllPool).Count(row.state) })
}

// write sends a statement that writes, and waits until it is applied and answered.
func (r *rolling) write(apply func()) error {
	s, k, m := r.s, &r.s.sink.rolled, &r.s.mix
	step := s.step
	var err error
	switch {
	case s.sink.down, m.strikes(s.rolls, Refuse, 8):
		return errRefused
	case m.strikes(s.rolls, LoseAnswer, 8):
		err = errLost
	case m.strikes(s.rolls, LandLate, 8):
		step += 4 + s.rolls.IntN(1+s.rolls.IntN(300))
		err = errTimeout
	case m.strikes(s.rolls, Slow, 4):
		step += s.rolls.IntN(30)
	}
	landed := false
	k.landing = append(k.landing, landing{step, func() { landed = true; apply() }})
	if err == nil {
		for !landed {
			if !r.yield() {
				return errDead
			}
		}
	}
	if !r.yield() {
		return errDead
	}
	return err
}

// touched returns the windows of a level's source with rows of a round or later.
func (k *sink) touched(level int, since uint64) (list []rounds.Window) {
	see := func(start int64, stamp uint64) {
		if stamp < since {
			return
		}
		n, found := slices.BinarySearchFunc(list, start, func(w rounds.Window, start int64) int { return cmp.Compare(w.Start, start) })
		if !found {
			list = slices.Insert(list, n, rounds.Window{Start: start, First: stamp, Last: stamp})
		}
		list[n].First, list[n].Last = min(list[n].First, stamp), max(list[n].Last, stamp)
	}
	for n := range k.rows {
		switch row := &k.rows[n]; {
		case level == 0:
			see(row.start, row.stamp)
		case row.rolledIn > 0:
			see(k.rolled.long[row.long].start, row.rolledIn)
		}
	}
	return list
}

// merged reads the rows that some windows are made of, and returns what writes the
// windows. Windows that are right already are only stamped, for the second level.
func (k *sink) merged(of *statements, list []rounds.Window, stamp uint64) (apply func()) {
	type result struct {
		row     int
		hits    uint64
		numbers numbers
	}
	var results []result
	in := func(start int64) bool {
		return slices.ContainsFunc(list, func(w rounds.Window) bool { return w.Start == start })
	}
	if of.level == 0 {
		for n := range k.rows {
			switch row := &k.rows[n]; {
			case !in(row.start), of.right[row.start] && k.s.mistake == Unstamped:
			case of.right[row.start]:
				results = append(results, result{row: n})
			default:
				results = append(results, result{n, row.total, k.number(row, of.p.spec)})
			}
		}
		return func() {
			for _, r := range results {
				row := &k.rows[r.row]
				row.rolled, row.rolledIn = max(row.rolled, r.hits), max(row.rolledIn, stamp)
				row.numbers.raise(r.numbers)
			}
		}
	}
	for n := range k.rolled.long {
		if l := &k.rolled.long[n]; in(l.start) {
			hits := uint64(0)
			for _, i := range l.from {
				hits += k.rows[i].rolled
			}
			results = append(results, result{row: n, hits: hits})
		}
	}
	return func() {
		for _, r := range results {
			l := &k.rolled.long[r.row]
			l.rolled = max(l.rolled, r.hits)
		}
	}
}

// A view is one reading of both views, as schema/view.sql and totals.sql read: first up
// to which rounds the rollups are done, then the live tail, then the rollups. Steps
// pass in between.
type view struct {
	floor []uint64 // by row: what was acknowledged before it began
	done  [2]uint64
	stage int
	tail  []uint64       // by row
	stale map[int64]bool // windows of the second level that are in its live tail
	first []uint64       // by row: the first level of these, read before the second
}

// read makes the next step of reading the views, and checks the result: nothing less than
// was acknowledged before, and nothing more than the rows have.
func (k *sink) read() {
	s, v := k.s, k.rolled.view
	if v == nil {
		if s.rolls.IntN(8) > 0 {
			return
		}
		v = &view{floor: make([]uint64, len(k.rows)), done: k.rolled.done}
		for n := range k.rows {
			v.floor[n] = k.rows[n].sure
		}
		k.rolled.view = v
		return
	}
	v.stage++
	switch v.stage {
	case 1:
		v.tail, v.stale = make([]uint64, len(k.rows)), map[int64]bool{}
		touched := map[int64]bool{}
		for n := range k.rows {
			row := &k.rows[n]
			if row.stamp >= v.done[0] {
				touched[row.start] = true
				v.stale[k.rolled.long[row.long].start] = true
			}
			if row.rolledIn > 0 && row.rolledIn >= v.done[1] {
				v.stale[k.rolled.long[row.long].start] = true
			}
		}
		for n := range k.rows {
			if touched[k.rows[n].start] {
				v.tail[n] = k.rows[n].total
			}
		}
	case 2:
		v.first = make([]uint64, len(v.tail))
		for n := range v.first {
			v.first[n] = max(v.tail[n], k.rows[n].rolled)
		}
	default:
		k.compare(v)
		k.rolled.view = nil
		s.totals.Views++
	}
}

// compare checks what a reader of the views has got.
func (k *sink) compare(v *view) {
	s := k.s
	check := func(level int, start int64, got, floor, most uint64) {
		switch {
		case got < floor:
			s.fail("a view of level %d has %d events of a group in the window at %d s; %d were acknowledged before the query began", level, got, start, floor)
		case got > most:
			s.fail("a view of level %d has %d events of a group in the window at %d s; the rows have %d", level, got, start, most)
		}
	}
	for n, floor := range v.floor {
		row := &k.rows[n]
		check(0, row.start, max(v.tail[n], row.rolled), floor, row.total)
	}
	for n := range k.rolled.long {
		l := &k.rolled.long[n]
		var tail, floor, most uint64
		for _, i := range l.from {
			most += k.rows[i].total
			if i < len(v.floor) {
				floor += v.floor[i]
			}
			if i < len(v.first) && v.stale[l.start] {
				tail += v.first[i]
			}
		}
		check(1, l.start, max(tail, l.rolled), floor, most)
	}
}

// rollup makes a step of the rollups and of a reader.
func (s *schedule) rollup() {
	k := &s.sink.rolled
	kept := k.landing[:0]
	for _, l := range k.landing {
		if l.step <= s.step {
			l.apply()
		} else {
			kept = append(kept, l)
		}
	}
	clear(k.landing[len(kept):])
	k.landing = kept
	for range 2 {
		if m := s.members[s.rolls.IntN(len(s.members))]; m.alive && !m.paused {
			m.roller.turn(s)
		}
	}
	s.sink.read()
}

// loseRounds empties weir_rollups, as by hand. It does so while no rollup is under way,
// and every process looks before another one opens a round: what a process notes then
// belongs to the rounds of before, and is not covered.
func (s *schedule) loseRounds() {
	remembers := false // otherwise, or in the first rounds, there is little to lose
	for _, m := range s.members {
		if m.alive && m.paused {
			return
		}
		remembers = remembers || m.alive && m.roller.made[0].Len() > 0
	}
	if !remembers || s.sink.rolled.opened < 8 {
		return
	}
	s.mix.count[LoseRounds]++
	s.tracef("the rounds are lost")
	s.sink.rolled.opened, s.sink.rolled.done, s.sink.rolled.landing, s.sink.rolled.view = 0, [2]uint64{}, nil, nil
	for _, m := range s.members {
		if m.alive {
			m.roller.end()
			m.roller.read(s)
		}
	}
}

// judgeRollups lets one process roll up everything, and compares the rollups with the
// rows. A rollup may lack rows that no writer was told are there: those that landed after
// their process was gone, of records that are gone, too. Rows of all other records were
// acknowledged to some process, and judgeRows looks for them in the rollup.
func (s *schedule) judgeRollups() {
	k := &s.sink.rolled
	for _, m := range s.members {
		m.roller.end()
	}
	p := &roller{spec: s.spec}
	last := &rolling{s: s, p: p, yield: func() bool { // every statement lands at once
		for _, l := range k.landing {
			l.apply()
		}
		k.landing = nil
		return true
	}}
	if err := last.roll(true); err != nil {
		s.fail("the last rollup: %v", err)
	}
	for n := range s.sink.rows {
		row := &s.sink.rows[n]
		if row.rolled < row.sure || row.rolled > row.total {
			s.fail("the rollup has %d events of row %s, the rows have %d, of which %d were acknowledged", row.rolled, name([]byte(row.key)), row.total, row.sure)
		}
		if got, want := row.numbers, s.sink.number(row, s.spec); got != want && row.rolled == row.total && !slices.ContainsFunc(row.hits, func(h hit) bool { return s.strained(h.slot) }) {
			s.fail("the rollup has the numbers %d of row %s, the rows have %d", got, name([]byte(row.key)), want)
		}
		if row.stamp >= k.done[0] {
			s.fail("row %s is in the live tail after everything was rolled up", name([]byte(row.key)))
		}
	}
	for n := range k.long {
		shorter, sure := uint64(0), uint64(0)
		for _, i := range k.long[n].from {
			shorter += s.sink.rows[i].rolled
			sure += s.sink.rows[i].sure
		}
		if got := k.long[n].rolled; got < sure || got > shorter {
			s.fail("the longer rollup has %d events of a group in the window at %d s, the shorter one has %d, of which %d were acknowledged", got, k.long[n].start, shorter, sure)
		}
	}
}
