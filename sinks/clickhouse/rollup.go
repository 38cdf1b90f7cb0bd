package clickhouse

import (
	"context"
	"fmt"
	"slices"
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
		if s.swept[level].Sub(m.at) >= lag {
			from = m.opened
		}
	}
	oldest := slices.MinFunc(s.swept, time.Time.Compare)
	for len(s.passed) > 1 && oldest.Sub(s.passed[1].at) >= lag { // the first serves no sweep any more
		s.passed = s.passed[1:]
	}
	return from, !now.Before(s.swept[level].Add(sweepEvery))
}

// Rollup recomputes the finished numbers of windows that were written since
// the last time, by whatever process. The first rollup is made from the state
// rows at every call, longer ones from the one before and less often; with
// all, every level is brought up to date. It may be repeated, run by several
// processes at once, and broken off at any point: all it writes is merged, and
// how far it came is noted last. See rounds.go.
//
// watermark is that of the job, as the ledger had it before the call; 0: not
// known. The windows that end by then are noted to be complete, in each level
// once it is made of them.
func (s *Sink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range s.layout.levels {
		v := &s.layout.levels[i]
		if !all && i > 0 && now.Before(s.due[i]) {
			continue
		}
		if i > 0 {
			watermark = s.complete[i-1] // what the level is made of
		}
		d := s.level(i)
		at, err := s.progress(ctx, d)
		sweep := false
		if err == nil {
			var from uint64
			d.since = at.done
			if from, sweep = s.sweep(i, now, at.opened); sweep || all && s.lags {
				d.since = min(d.since, from)
			}
			err = s.rollup(ctx, d, at, watermark, all)
		}
		if err != nil {
			return fmt.Errorf("rollup of %s: %w", v.view, err)
		}
		s.complete[i] = max(s.complete[i], watermark)
		s.due[i] = now.Add(v.every)
		if sweep {
			s.swept[i] = now
		}
	}
	return nil
}

// level returns the data of a level for the templates.
func (s *Sink) level(i int) levelData {
	d := levelData{c: s.client, l: s.layout, v: &s.layout.levels[i], First: i == 0}
	if i > 0 {
		d.before = &s.layout.levels[i-1]
	}
	return d
}

// rollup brings one level up to date: all windows with rows of round d.since
// and later. It writes nothing if there are none and the watermark stands. With
// all, the rounds go on past every row that is there, so that none is left in
// the live tail because its writer stamped it ahead.
func (s *Sink) rollup(ctx context.Context, d levelData, at progress, watermark event.Time, all bool) error {
	list, latest, err := s.touched(ctx, d)
	if err != nil {
		return err
	}
	done := at.done
	if len(list) > 0 {
		// What is there before a round is opened is in the list that is read
		// after it.
		done = at.opened + 1
		if all || latest > at.opened+farAhead {
			done = max(done, latest+1)
		}
		if err := s.note(ctx, "open a round", d, done, 0, 0); err != nil {
			return err
		}
		s.rounds.store(done)
		if list, _, err = s.touched(ctx, d); err != nil {
			return err
		}
		if len(list) > 1 { // one window takes one statement, whatever its rows
			if list, err = s.count(ctx, d, list); err != nil {
				return err
			}
		}
		if len(list) > 0 { // the rows may have expired since
			if err := s.rollUp(ctx, d, list); err != nil {
				return err
			}
		}
	} else if watermark <= at.complete {
		return nil
	}
	return s.note(ctx, "note the rollup", d, 0, done, watermark)
}

// note merges the progress of a level into weir_rollups.
func (s *Sink) note(ctx context.Context, what string, d levelData, opened, done uint64, complete event.Time) error {
	sql := fmt.Sprintf("INSERT INTO %s (job, version, rollup, opened, done, complete_until) VALUES (%s, %d, %d, %d, %d, fromUnixTimestamp64Milli(toInt64(%d), 'UTC'))",
		d.Rollups(), text(s.layout.Spec.Job), s.layout.Spec.Version, d.v.seconds, opened, done, complete)
	return s.client.exec(ctx, what, sql, queryTimeout)
}

// rollUp makes the windows of a level anew, some with each statement.
func (s *Sink) rollUp(ctx context.Context, d levelData, touched []touchedWindow) error {
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
	start int64
	rows  uint64 // 0 if not counted
}

// touched returns the windows with rows of round d.since or later, in order,
// and the latest of these rounds.
func (s *Sink) touched(ctx context.Context, d levelData) (list []touchedWindow, latest uint64, err error) {
	err = s.client.query(ctx, "look for windows to roll up", render("windows", d), func(scan func(...any) error) error {
		var w touchedWindow
		var round uint64
		err := scan(&w.start, &round)
		list = append(list, w)
		latest = max(latest, round)
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
