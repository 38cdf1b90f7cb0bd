// Package rounds orders the rows that are written against rollups, so that a rollup
// knows which rows it may lack. It uses no clock: a round is a logical time in
// Lamport's sense, a number that only grows.
//
// Each job has a current round, which the database merges by maximum. Every row that a
// rollup is made from says in which round it is written. A rollup
// notes the round up to which it holds everything (done). The rows of round
// done and later may be missing in it: they are the live tail of the view, and
// what the next rollup looks at.
//
//	a writer                             a rollup
//	1 stamp rows with round r            1 read opened = t-1, done = d
//	2 insert them; they are there        2 open round t; it is there
//	3 read opened = p                    3 read the rows of round d and later
//	4 p ≤ r: acknowledged                4 roll their windows up, but leave open ones
//	  p > r: overtaken, from 1 again     5 note done = t, or the first round of what is left
//
// No row is missed. Let a row of round r be acknowledged, and let a rollup of round t
// note done > r, so t > r. The writer read p ≤ r at its step 3, so round t was not open
// then. The rollup reads rows at its step 3, with round t open: later than the
// writer read, so the row is there. The rollup sees it if it looks back as far
// as r; and of all rollups that note more than r, the first to note has read
// d ≤ r. It did not leave the row, because it would have noted r at most. Hence a reader
// that finds done > r finds the window rolled up with the row, if it looks at the rollup
// afterwards, and one that finds done ≤ r finds the row in the live tail.
//
// For the same reason a process may leave out windows that it has rolled up itself in
// round m if all their rows are of earlier rounds.
//
// This is Dekker's pattern: each side writes first and reads second, so at
// least one of the two sees the other. Neither side has to be quick:
//
//   - A writer that stalls anywhere, through any number of rollups, is
//     overtaken, and sends the same rows again.
//   - A rollup that stalls, dies, fails or runs beside others has noted
//     nothing, or only what holds. The next one looks back as far.
//   - Rows of a writer that died before step 4 are in no ledger line: the next
//     owner of the partition counts the same events again, under a round of
//     its own. The rows of a zombie are below these.
//
// A writer may take its rows through these steps part by part. Each part is a writer of its
// own then, and what is acknowledged is not written again. Or it takes several steps 2 and one
// step 3, after all of these rows are there: then the earliest of their stamps is r. For a row with
// a later stamp, p ≤ r is more than the proof needs.
//
// The levels of rollups are a chain of this: a rollup is a writer to the rollup
// that is made from it, and notes its own progress when its rows are
// acknowledged in that sense.
//
// Liveness: a writer that is overtaken twice in a row stamps its next rows ahead by twice
// the number of rounds that went by meanwhile, and so is not overtaken again at
// the same pace. A row that is stamped ahead stays in the live tail for longer,
// and its window is rolled up more often.
//
// On replicas, "is there" holds for the replicas that acknowledged, and both
// reads may ask another one that lags. Against that a rollup looks further
// back once a minute (Choice.Again). Beyond it the audit finds the window, and
// repairs it.
//
// The package asks no database: sinks/clickhouse makes the statements, and the simulator
// has them interleave in any order.
package rounds

import (
	"maps"
	"math"

	"weir/event"
)

// A Current is the job's current round as a process read it last.
type Current struct {
	Round uint64
	Falls int // how often it was less than before
}

// Read notes the current round, which was just read. It may be less than before: on a
// replica that lags, or after what was noted was lost.
func (c *Current) Read(round uint64) {
	if round < c.Round {
		c.Falls++
	}
	c.Round = round
}

// A Writer stamps the rows that a process writes to one table. The zero Writer is ready.
type Writer struct {
	ahead uint64 // how far the next rows are stamped ahead
}

// A Stamping is one write of rows: it is repeated with the next Stamp until Passes says
// that the rows were there before a later round was opened.
type Stamping struct {
	Stamp  uint64
	w      *Writer
	opened uint64
	first  bool
}

// Begin begins a write. opened is the current round, as it was read a short time ago.
func (w *Writer) Begin(opened uint64) Stamping {
	return Stamping{Stamp: opened + w.ahead, w: w, opened: opened, first: w.ahead == 0}
}

// Overtaken reports whether rows are not acknowledged, because a round later than their earliest stamp
// is open. now is the current round, read after all of them were there.
func Overtaken(stamp, now uint64) bool { return now > stamp }

// Passes reports whether the rows are acknowledged. now is the current round, read after
// they were there. If not, s has the stamp with which to write them again.
func (s *Stamping) Passes(now uint64) bool {
	s.w.ahead = 2 * (max(now, s.opened) - s.opened)
	if !Overtaken(s.Stamp, now) {
		return true
	}
	if s.first { // a round that was opened by chance just then
		s.w.ahead = 0
	}
	s.opened, s.first = now, false
	s.Stamp = s.opened + s.w.ahead
	return false
}

// Made is what a process remembers of its rollups of a level: by the start of a window,
// the round in which it last made it. It decides nothing but the cost. A process that
// starts has an empty one, and makes some windows once more.
type Made struct {
	in    map[int64]uint64
	falls int    // of Current
	done  uint64 // of the level, as it was read last
}

// Len returns the number of windows.
func (m *Made) Len() int { return len(m.in) }

// Trust forgets everything if the current round has fallen since: rounds of before
// mean nothing any more. It does so too if done, the round up to which the level is done, has
// fallen since: the level is made anew then, because its table was dropped.
func (m *Made) Trust(c Current, done uint64) {
	if c.Falls != m.falls || done < m.done {
		clear(m.in)
	}
	m.falls, m.done = c.Falls, done
}

// Prune forgets what is not needed once the level is done up to a round. A window with a
// row of a round that is not done is made again if the row is later than its making.
func (m *Made) Prune(done uint64) {
	maps.DeleteFunc(m.in, func(_ int64, round uint64) bool { return round <= done })
}

// A Window has rows that a rollup may lack.
type Window struct {
	Start       int64  // Unix seconds
	First, Last uint64 // the rounds of these rows
}

// A Choice says which of the windows that were written to a rollup makes.
type Choice struct {
	Length    int64      // of the windows, in seconds
	Done      uint64     // the round up to which the level is done
	Whole     bool       // open windows, too
	Past      bool       // the rounds go on past every row
	Again     bool       // those that this process made, too, for rows that a replica may have got since
	Watermark event.Time // windows that end by then are complete
	Made      *Made
}

// of returns the windows to make, and the earliest round of the rows that stay in the
// live tail.
func (c *Choice) of(list []Window) (chosen []Window, tail uint64) {
	tail = math.MaxUint64
	for _, w := range list {
		switch open := event.Time(w.Start+c.Length)*1000 > c.Watermark; {
		case !c.Again && w.Last < c.Made.in[w.Start]: // it has these rows
		case c.Whole || !open || w.First < c.Done:
			chosen = append(chosen, w)
		default:
			tail = min(tail, w.First)
		}
	}
	return chosen, tail
}

// Statements are what a rollup of a level asks of the database. Each returns when what it
// wrote is there.
type Statements interface {
	Touched() ([]Window, error)  // the windows with rows of round Done or later
	Open(round uint64) error     // opens a round
	Make(windows []Window) error // makes the windows from all rows that are there
}

// farAhead is how far a row's round may be ahead of the current one for a rollup to let
// the rounds pass one by one. Beyond, what was noted was lost, and the rounds go on from
// the rows. It decides nothing but the cost.
const farAhead = 1024

// Advance opens a round and makes the windows of the choice, if there are any. opened is
// the current round. Advance returns the round up to which the level is done then, which
// the caller notes last.
func Advance(db Statements, opened uint64, c Choice) (done uint64, err error) {
	list, err := db.Touched()
	if err != nil {
		return 0, err
	}
	if chosen, _ := c.of(list); len(chosen) == 0 {
		return c.Done, nil
	}
	latest := uint64(0)
	for _, w := range list {
		latest = max(latest, w.Last)
	}
	round := opened + 1
	if c.Past || latest > opened+farAhead {
		round = max(round, latest+1)
	}
	if err := db.Open(round); err != nil {
		return 0, err
	}
	// What is there before the round is open is in the list that is read after it.
	if list, err = db.Touched(); err != nil {
		return 0, err
	}
	chosen, tail := c.of(list)
	if len(chosen) > 0 { // the rows may have expired since
		if err := db.Make(chosen); err != nil {
			return 0, err
		}
	}
	if c.Made.in == nil {
		c.Made.in = map[int64]uint64{}
	}
	for _, w := range chosen {
		c.Made.in[w.Start] = round
	}
	return min(round, tail), nil
}
