package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"weir/event"
)

const (
	// rollupRows bounds how many state rows one INSERT … SELECT merges, which
	// bounds the server's memory: 8,192 dense sketches are 100 MB.
	rollupRows = 8192

	// Where tables have replicas, a rollup looks further back once a minute, or as
	// soon as there is one.
	sweepEvery = time.Minute

	// sweepRounds is how far, for a process that does not know yet how many
	// rounds a time is: two minutes of one process.
	sweepRounds = 64
)

// A mark says which round was current when, by this process's monotonic clock.
type mark struct {
	at     time.Time
	opened uint64
}

// sweep is the round from which on to look at rows again, against replicas that
// lag: what was acknowledged by others may appear on this one behind a rollup
// that has already looked. A row appears within the time of two inserts and 30 s
// of its acknowledgement, so the round is the one that was current for that long
// before the last sweep. Without replicas nothing can lag.
func (s *Sink) sweep(level int, now time.Time, opened uint64) (from uint64, due bool) {
	if !s.lags {
		return 0, false
	}
	s.passed = append(s.passed, mark{now, opened})
	from = opened - min(opened, sweepRounds)
	lag := 2*s.client.cfg.InsertTimeout + 30*time.Second
	for _, m := range s.passed {
		if s.memos[level].swept.Sub(m.at) >= lag {
			from = m.opened
		}
	}
	oldest := now
	for _, m := range s.memos {
		if m.swept.Before(oldest) {
			oldest = m.swept
		}
	}
	for len(s.passed) > 1 && oldest.Sub(s.passed[1].at) >= lag { // the first serves no sweep any more
		s.passed = s.passed[1:]
	}
	return from, s.sweepDue(level, now)
}

func (s *Sink) sweepDue(level int, now time.Time) bool {
	return s.lags && !now.Before(s.memos[level].swept.Add(sweepEvery))
}

// Rollup makes the finished numbers of windows that are complete, and makes them again
// if rows were written to them since, by whatever process. Rows of open windows stay in
// the live tail of the views. So do rows that come into complete windows, until the
// watermark passes the end of one more window. With all, every window that was written
// to is rolled up. A rollup may be repeated, run by several processes at once, and broken
// off at any point: all it writes is merged, and how far it came is noted last. See
// rounds.go.
//
// watermark is that of the job, as the ledger had it before the call; 0: not
// known. The windows that end by then are noted to be complete, in each level
// once it is made of them.
//
// While the watermark stays within one window, most calls ask the server nothing.
func (s *Sink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range s.memos {
		if err := s.rollup(ctx, i, now, all, watermark); err != nil {
			return fmt.Errorf("rollup of %s: %w", s.layout.levels[i].view, err)
		}
		watermark = s.memos[i].complete // the next level is made of this one
	}
	return nil
}

// tailTime is how long the live tail of a level may grow before all of the level is
// rolled up, open windows included. It decides nothing but the cost, of a view that reads
// the tail against rollups: windows may be long, and a watermark may stand still.
const tailTime = 6 * time.Minute

// A memo is what a process remembers of its rollups of a level. It decides nothing but
// the cost. A process that starts has an empty one, and makes some windows once more.
type memo struct {
	complete event.Time       // the time up to which windows are noted as complete
	due      time.Time        // when the live tail has grown for tailTime
	swept    time.Time        // when the rollup last looked far back
	made     map[int64]uint64 // by the start of a window: the round in which it was last made…
	falls    int              // …since the current round has fallen for this time
}

// passes reports whether the end of a window is in (from, until].
func (v *level) passes(from, until event.Time) bool {
	length := event.Time(v.seconds) * 1000
	return until/length > from/length
}

// rollup brings one level up to date: it makes windows that have rows of the round up to
// which the level is done, or later. It writes nothing if there are none to make and
// the watermark passes no window. With all, the rounds go on past every row that is
// there, so that none is left in the live tail because its writer stamped it ahead.
func (s *Sink) rollup(ctx context.Context, i int, now time.Time, all bool, watermark event.Time) error {
	m, d := &s.memos[i], s.layout.level(s.client, i)
	whole := all || !now.Before(m.due)
	if !whole && !s.sweepDue(i, now) && !d.v.passes(m.complete, watermark) {
		return nil
	}
	at, err := s.progress(ctx, d)
	if err != nil {
		return err
	}
	if falls := s.rounds.falls(); falls != m.falls {
		m.falls = falls
		clear(m.made)
	}
	m.complete = max(m.complete, at.complete) // another process may have made it
	from, sweep := s.sweep(i, now, at.opened)
	passes := d.v.passes(m.complete, watermark)
	if !whole && !sweep && !passes {
		return nil
	}
	d.since = at.done
	c := choice{again: sweep || all && s.lags, whole: whole, past: all, watermark: watermark, made: m.made}
	if c.again {
		d.since = min(d.since, from)
	}
	done, err := s.advance(ctx, d, at, c)
	if err != nil {
		return err
	}
	if done > at.done || passes {
		if err := s.note(ctx, "note the rollup", d, 0, done, watermark); err != nil {
			return err
		}
	}
	m.complete = max(m.complete, watermark)
	if whole || done > at.done {
		m.due = now.Add(tailTime)
	}
	if sweep {
		m.swept = now
	}
	// A window with a row of a round that is not done is made again if the row is later
	// than its making, so only such makings need to be remembered.
	maps.DeleteFunc(m.made, func(_ int64, round uint64) bool { return round <= max(done, at.done) })
	return nil
}

// A choice says which of the windows that were written to a rollup makes.
type choice struct {
	whole     bool             // open ones, too
	past      bool             // the rounds go on past every row
	again     bool             // those that this process made, too, for rows that a replica may have got since
	watermark event.Time       // windows that end by then are complete
	made      map[int64]uint64 // of memo
}

// of returns the windows to make, and the earliest round of the rows that stay in the
// live tail. The level is done up to the round done.
func (c choice) of(list []touchedWindow, d levelData, done uint64) (chosen []touchedWindow, tail uint64) {
	tail = math.MaxUint64
	for _, w := range list {
		switch open := event.Time(w.start+d.v.seconds)*1000 > c.watermark; {
		case !c.again && w.last < c.made[w.start]: // it has these rows
		case c.whole || !open || w.first < done:
			chosen = append(chosen, w)
		default:
			tail = min(tail, w.first)
		}
	}
	return chosen, tail
}

// advance opens a round and makes the windows of the choice, if there are any. It returns
// the round up to which the level is done then.
func (s *Sink) advance(ctx context.Context, d levelData, at progress, c choice) (done uint64, err error) {
	list, latest, err := s.touched(ctx, d)
	if err != nil {
		return 0, err
	}
	if chosen, _ := c.of(list, d, at.done); len(chosen) == 0 {
		return at.done, nil
	}
	// What is there before a round is opened is in the list that is read after it.
	round := at.opened + 1
	if c.past || latest > at.opened+farAhead {
		round = max(round, latest+1)
	}
	if err := s.note(ctx, "open a round", d, round, 0, 0); err != nil {
		return 0, err
	}
	s.rounds.store(round)
	if list, _, err = s.touched(ctx, d); err != nil {
		return 0, err
	}
	chosen, tail := c.of(list, d, at.done)
	if len(chosen) > 1 { // one window takes one statement, whatever its rows
		if chosen, err = s.count(ctx, d, chosen); err != nil {
			return 0, err
		}
	}
	if len(chosen) > 0 { // the rows may have expired since
		if err := s.makeAnew(ctx, d, chosen); err != nil {
			return 0, err
		}
	}
	for _, w := range chosen {
		c.made[w.start] = round
	}
	return min(round, tail), nil
}

// note merges the progress of a level into weir_rollups.
func (s *Sink) note(ctx context.Context, what string, d levelData, opened, done uint64, complete event.Time) error {
	sql := fmt.Sprintf("INSERT INTO %s (job, version, rollup, opened, done, complete_until) VALUES (%s, %d, %d, %d, %d, fromUnixTimestamp64Milli(toInt64(%d), 'UTC'))",
		d.Rollups(), text(s.layout.Spec.Job), s.layout.Spec.Version, d.v.seconds, opened, done, complete)
	return s.client.exec(ctx, what, sql, queryTimeout)
}

// makeAnew makes windows of a level anew, some with each statement.
func (s *Sink) makeAnew(ctx context.Context, d levelData, touched []touchedWindow) error {
	insert := func(round uint64) error {
		d.round = round
		for rest := touched; len(rest) > 0; {
			n := s.batch(rest)
			d.windows = rest[:n]
			if err := s.client.exec(ctx, "roll up into "+d.v.table, render("rollup", d), queryTimeout); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}
	return s.inRound(ctx, &s.rolled, insert)
}

// progress says how far a level is complete.
type progress struct {
	opened   uint64     // the current round of the job
	done     uint64     // the round below which the level holds every row
	complete event.Time // the time up to which its windows are recorded as complete
}

func (s *Sink) progress(ctx context.Context, d levelData) (at progress, err error) {
	err = s.client.query(ctx, "read the rollup's progress", render("progress", d), func(scan func(...any) error) error {
		return scan(&at.opened, &at.done, (*int64)(&at.complete))
	})
	if err == nil {
		s.rounds.store(at.opened)
	}
	return at, err
}

// A touchedWindow is a window to roll up and the number of rows it is made of.
type touchedWindow struct {
	start       int64
	first, last uint64 // the rounds of its rows of d.since and later
	rows        uint64 // 0 if not counted
}

// touched returns the windows with rows of round d.since or later, in order,
// and the latest of these rounds.
func (s *Sink) touched(ctx context.Context, d levelData) (list []touchedWindow, latest uint64, err error) {
	err = s.client.query(ctx, "look for windows to roll up", render("windows", d), func(scan func(...any) error) error {
		var w touchedWindow
		err := scan(&w.start, &w.first, &w.last)
		list = append(list, w)
		latest = max(latest, w.last)
		return err
	})
	return list, latest, err
}

// count adds to each window the number of rows it is made of. It is a query
// apart from that of touched, because each can use an index then: this one by
// window, the other by round.
func (s *Sink) count(ctx context.Context, d levelData, list []touchedWindow) ([]touchedWindow, error) {
	d.windows = list
	rows := map[int64]uint64{}
	err := s.client.query(ctx, "count rows to roll up", render("counts", d), func(scan func(...any) error) error {
		var start int64
		var n uint64
		err := scan(&start, &n)
		rows[start] = n
		return err
	})
	for i := range list {
		list[i].rows = rows[list[i].start]
	}
	return list, err
}

// batch returns how many of the windows one statement rolls up.
func (s *Sink) batch(list []touchedWindow) int {
	rows := 0
	for i, w := range list {
		if rows += int(w.rows); i > 0 && rows > s.merge {
			return i
		}
	}
	return len(list)
}

// Source is the table the level is made from, Stamp its column with the round,
// and Since the bound on it.
func (d levelData) Source() string {
	if d.before == nil {
		return d.State()
	}
	return d.c.name(d.before.table)
}

func (d levelData) Stamp() string {
	if d.before == nil {
		return "flushed_in"
	}
	return "rolled_in"
}

func (d levelData) Since() uint64 { return d.since }
func (d levelData) ByKey() string { return byKey }
func (d levelData) Round() uint64 { return d.round }

func (d levelData) Ledger() string { return d.c.name(LedgerTable) }

// Range bounds the windows by time, for the primary key; List names them.
func (d levelData) Range() string {
	first, last := d.windows[0].start, d.windows[0].start
	for _, w := range d.windows {
		first, last = min(first, w.start), max(last, w.start)
	}
	return fmt.Sprintf("window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", first, last+d.v.seconds)
}

func (d levelData) List() string {
	var b strings.Builder
	for i, w := range d.windows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, w.start)
	}
	return b.String()
}
