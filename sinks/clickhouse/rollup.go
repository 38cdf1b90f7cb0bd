package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/event"
)

// How far back behind its last run a rollup looks for rows it may have missed.
//
// A row says when its insert began (flushed_at is filled in by the server),
// but shows when it ended. So a row can appear behind a rollup that has
// already looked past its time. The overlap covers inserts that take as long
// as that; the sweep, once a minute, covers whatever an insert can take before
// it is given up, by its deadline here or by the server's own.
const (
	overlap    = 5 * time.Second
	sweepEvery = time.Minute

	// rollupRows bounds how many state rows one INSERT … SELECT merges, which
	// bounds the server's memory: 8,192 dense sketches are 100 MB.
	rollupRows = 8192
)

func (s *Sink) sweep() time.Duration { return 2*s.client.cfg.InsertTimeout + 30*time.Second }

// Rollup recomputes the finished numbers of windows that were written since
// the last time, by whatever process. The first rollup is made from the state
// rows at every call, longer ones from the one before and less often; with
// all, every level is brought up to date. It may be repeated, run by several
// processes at once, and broken off at any point: all it writes is joined, and
// how far it came is noted last.
//
// watermark is that of the job, as the ledger had it before the call; 0: not
// known. The windows that end by then are noted to be complete, in each level
// once it is made of them.
func (s *Sink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	sweep := all || !now.Before(s.swept.Add(sweepEvery))
	for i := range s.layout.levels {
		v := &s.layout.levels[i]
		if !all && i > 0 && now.Before(s.due[i]) {
			continue
		}
		back := overlap
		if sweep {
			back = s.sweep()
		}
		if i > 0 {
			// The level before was written by INSERT … SELECT, some of them
			// by another process; they may take as long as queries do.
			back = queryTimeout + overlap
		}
		if i > 0 {
			watermark = s.complete[i-1] // what the level is made of
		}
		if err := s.rollup(ctx, i, back, watermark); err != nil {
			return fmt.Errorf("rollup of %s: %w", v.view, err)
		}
		s.complete[i] = max(s.complete[i], watermark)
		s.due[i] = now.Add(v.every)
	}
	if sweep {
		s.swept = now
	}
	return nil
}

// rollup brings one level up to date.
func (s *Sink) rollup(ctx context.Context, level int, back time.Duration, watermark event.Time) error {
	v := &s.layout.levels[level]
	d := levelData{c: s.client, l: s.layout, v: v, First: level == 0}
	if level > 0 {
		d.before = &s.layout.levels[level-1]
	}
	at, err := s.progress(ctx, d)
	if err != nil {
		return err
	}
	d.since = max(at.since-int64(back/time.Second), 0)
	touched, err := s.touched(ctx, d)
	if err != nil {
		return err
	}
	if len(touched) == 0 && watermark <= at.complete {
		return nil
	}
	for len(touched) > 0 {
		n := s.batch(touched)
		d.windows = touched[:n]
		if err := s.client.exec(ctx, "roll up into "+v.table, render("rollup", d), queryTimeout); err != nil {
			return err
		}
		touched = touched[n:]
	}
	// Rows that were written from here on are the live tail's.
	note := fmt.Sprintf("INSERT INTO %s (job, version, rollup, since, complete_until) VALUES (%s, %d, %d, toDateTime(%d, 'UTC'), fromUnixTimestamp64Milli(toInt64(%d), 'UTC'))",
		s.client.name("weir_rollups"), text(s.layout.Spec.Job), s.layout.Spec.Version, v.seconds, max(at.now-int64(overlap/time.Second), 0), watermark)
	return s.client.exec(ctx, "note the rollup", note, queryTimeout)
}

// progress is how far a level is.
type progress struct {
	now      int64      // the server's time, s
	since    int64      // when the level may begin to lack rows, s
	complete event.Time // up to where its windows are noted to be complete
}

func (s *Sink) progress(ctx context.Context, d levelData) (at progress, err error) {
	err = s.client.query(ctx, "read the rollup's progress", render("progress", d), func(scan func(...any) error) error {
		return scan(&at.now, &at.since, (*int64)(&at.complete))
	})
	return at, err
}

// A touchedWindow is a window to roll up and the number of rows it is made of.
type touchedWindow struct {
	start int64
	rows  uint64
}

// touched are the windows written since, in order. Two queries, because each
// then has an index to use: the time of writing, and the window.
func (s *Sink) touched(ctx context.Context, d levelData) ([]touchedWindow, error) {
	err := s.client.query(ctx, "look for windows to roll up", render("windows", d), func(scan func(...any) error) error {
		var w touchedWindow
		err := scan(&w.start)
		d.windows = append(d.windows, w)
		return err
	})
	if err != nil || len(d.windows) == 0 {
		return nil, err
	}
	rows := map[int64]uint64{}
	err = s.client.query(ctx, "count rows to roll up", render("counts", d), func(scan func(...any) error) error {
		var start int64
		var n uint64
		err := scan(&start, &n)
		rows[start] = n
		return err
	})
	for i := range d.windows {
		d.windows[i].rows = rows[d.windows[i].start]
	}
	return d.windows, err
}

// batch is how many of the windows are rolled up with one statement.
func (s *Sink) batch(list []touchedWindow) int {
	rows := 0
	for i, w := range list {
		if rows += int(w.rows); i > 0 && rows > s.merge {
			return i
		}
	}
	return len(list)
}

// Source is the table the level is made from, and Since the bound on its
// column Touched.
func (d levelData) Source() string {
	if d.before == nil {
		return d.State()
	}
	return d.c.name(d.before.table)
}

func (d levelData) Touched() string {
	if d.before == nil {
		return "flushed_at"
	}
	return "rolled_at"
}

func (d levelData) Since() string { return fmt.Sprintf("toDateTime(%d, 'UTC')", d.since) }

func (d levelData) Ledger() string { return d.c.name("weir_ledger") }

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
