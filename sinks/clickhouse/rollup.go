package clickhouse

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/flow/rounds"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

//go:embed *.sql
var files embed.FS

// render returns a statement, from the template with its name.
var render = schema.Templates(files)

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

// sweep is the round from which on to look at rows again, because replicas may
// lag: a row that others have acknowledged may appear on this one behind a rollup
// that has already looked. It appears within the time of two inserts and 30 s of
// its acknowledgement. So the round was current for that long before the last
// sweep. Without replicas nothing can lag.
func (s *Sink) sweep(level int, now time.Time, opened uint64) (from uint64, due bool) {
	if !s.lags {
		return 0, false
	}
	s.passed = append(s.passed, mark{now, opened})
	from = opened - min(opened, sweepRounds)
	lag := 2*s.client.Config.InsertTimeout + 30*time.Second
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
// package rounds.
//
// watermark is the job's, as the ledger had it before the call; 0: not known.
// Windows that end by then are noted as complete, in each level once it has them.
//
// While the watermark stays within one window, most calls ask the server nothing.
func (s *Sink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range s.memos {
		if err := s.rollup(ctx, i, now, all, watermark); err != nil {
			return fmt.Errorf("rollup of %s: %w", s.layout.Levels[i].View, err)
		}
		watermark = s.memos[i].complete // the next level is made of this one
	}
	if all || now.Sub(s.folded) < foldAge {
		return nil // of a job at rest, or at its end, there is nothing that cannot wait
	}
	s.folded = now // also if it fails
	return s.Fold(ctx)
}

// tailTime is how long the live tail of a level may grow before all of the level is
// rolled up, open windows included. It decides nothing but the cost, of a view that reads
// the tail against rollups: windows may be long, and a watermark may stand still.
const tailTime = 6 * time.Minute

// A memo is what a process remembers of its rollups of a level. It decides nothing but
// the cost. A process that starts has an empty one, and makes some windows once more.
type memo struct {
	complete event.Time // the time up to which windows are noted as complete
	due      time.Time  // when the live tail has grown for tailTime
	swept    time.Time  // when the rollup last looked far back
	made     rounds.Made
}

// passes reports whether the end of a window is in (from, until].
func passes(v *schema.Level, from, until event.Time) bool {
	length := event.Time(v.Seconds) * 1000
	return until/length > from/length
}

// rollup brings one level up to date: it makes windows that have rows of the round up to
// which the level is done, or later. It writes nothing if there are none to make and
// the watermark passes no window. With all, the rounds go on past every row, so that none
// stays in the live tail because its writer stamped it ahead.
func (s *Sink) rollup(ctx context.Context, i int, now time.Time, all bool, watermark event.Time) error {
	m, d := &s.memos[i], s.level(i)
	whole := all || !now.Before(m.due)
	if !whole && !s.sweepDue(i, now) && !passes(d.Level, m.complete, watermark) {
		return nil
	}
	at, err := s.progress(ctx, d)
	if err != nil {
		return err
	}
	read, _ := s.rounds.last()
	starts := s.client.Uptimes.Count()
	read.Falls += starts // what was made may be gone
	m.made.Trust(read, at.done)
	m.complete = max(m.complete, at.complete) // another process may have made it
	from, sweep := s.sweep(i, now, at.opened)
	passes := passes(d.Level, m.complete, watermark)
	if !whole && !sweep && !passes {
		return nil
	}
	d.Since = at.done
	c := rounds.Choice{
		Length: d.Level.Seconds, Done: at.done, Again: sweep || all && s.lags, Whole: whole, Past: all, Watermark: watermark, Made: &m.made,
	}
	if c.Again {
		d.Since = min(d.Since, from)
	}
	done, err := rounds.Advance(rollup{s, ctx, d}, at.opened, c)
	if err != nil {
		return err
	}
	if s.client.Uptimes.Count() != starts {
		return wire.ErrRestarted
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
	m.made.Prune(at.done) // not done, which may not have been noted
	return nil
}

// level returns the data of a level for the statements of a sink.
func (s *Sink) level(i int) making { return making{LevelData: s.layout.Local(s.client.DB, i)} }

// A rollup of a level asks the server what package rounds says.
type rollup struct {
	*Sink
	ctx context.Context
	d   making
}

// Touched returns the windows with rows of round d.Since or later, in order.
func (r rollup) Touched() (list []rounds.Window, err error) {
	at := map[int64]int{}
	err = r.client.Shards.Query(r.ctx, "look for windows to roll up", render("windows", r.d), func(scan func(...any) error) error {
		var w rounds.Window
		err := scan(&w.Start, &w.First, &w.Last)
		if i, ok := at[w.Start]; ok { // another shard has rows of it too
			list[i].First, list[i].Last = min(list[i].First, w.First), max(list[i].Last, w.Last)
			return err
		}
		at[w.Start] = len(list)
		list = append(list, w)
		return err
	})
	slices.SortFunc(list, func(a, b rounds.Window) int { return cmp.Compare(a.Start, b.Start) })
	return list, err
}

// Open opens a round.
func (r rollup) Open(round uint64) error {
	err := r.note(r.ctx, "open a round", r.d, round, 0, 0)
	if err == nil {
		r.rounds.store(round)
	}
	return err
}

// Make makes windows of the level anew, but not where whole rows gave the numbers. It stamps these windows, so that a
// longer rollup learns of them.
func (r rollup) Make(list []rounds.Window) (err error) {
	var rows map[int64]uint64
	switch {
	case r.d.First && r.layout.Numbers():
		if rows, err = r.count(r.ctx, r.d, "differ", list); err != nil {
			return err
		}
		right := slices.DeleteFunc(slices.Clone(list), func(w rounds.Window) bool { return rows[w.Start] > 0 })
		if list = slices.DeleteFunc(slices.Clone(list), func(w rounds.Window) bool { return rows[w.Start] == 0 }); len(right) > 0 && len(r.memos) > 1 {
			err = r.makeAnew(r.ctx, r.d, "stamp", right, nil)
		}
	case len(list) > 1: // one window takes one statement, whatever its rows
		rows, err = r.count(r.ctx, r.d, "counts", list)
	}
	if err != nil {
		return err
	}
	return r.makeAnew(r.ctx, r.d, "rollup", list, rows)
}

// note merges the progress of a level into weir_rollups: the current round at home, and how
// far the level is on all shards, because each shard's views go by its own table. It waits for
// the write of this process that is under way.
//
// The view may show a measure that this process does not count. Another process may count it, and the
// windows that this one has made may lack its values. The view may go by another list of rollups. Then its
// rollup may be made from other rows than this process knows. In both cases nothing is noted as done: the
// view goes on reading rows, and another process makes these windows too.
func (s *Sink) note(ctx context.Context, what string, d making, opened, done uint64, complete event.Time) error {
	s.noting.Lock()
	defer s.noting.Unlock()
	on := s.client.Shards
	if opened > 0 {
		on = s.client.Home()
	}
	has := "0"
	if done > 0 {
		var made []string
		for _, c := range d.ViewColumns() {
			made = append(made, wire.Text(c.Name))
		}
		of := func(key string) string {
			return "database = " + wire.Text(s.client.Config.Database) + " AND " + key + " = " + wire.Text(d.Level.View)
		}
		has = fmt.Sprintf("if((SELECT count() FROM system.columns WHERE %s AND name NOT IN (%s)) = 0 AND (SELECT count() FROM system.tables WHERE %s AND NOT (%s)) = 0 OR (SELECT max(version) FROM %s WHERE job = %s) > %d, %d, 0)",
			of("table"), strings.Join(made, ", "), of("name"), d.sameSource("create_table_query"), s.client.Name("weir_jobs"), wire.Text(s.layout.Spec.Job), s.layout.Spec.Version, done)
	}
	sql := fmt.Sprintf("INSERT INTO %s (job, version, rollup, opened, done, complete_until) SELECT %s, %d, %d, %d, %s, fromUnixTimestamp64Milli(toInt64(%d), 'UTC')",
		d.Rollups(), wire.Text(s.layout.Spec.Job), s.layout.Spec.Version, d.Level.Seconds, opened, has, complete)
	return s.client.ExecOn(ctx, on, what, sql, wire.QueryTimeout)
}

// sameSource returns a condition for the text of a view: its rollup is made from the rows that the
// level is made from. It reads the level's source, and no rollup that is not in the list.
func (d making) sameSource(view string) string {
	rollup := func(v *schema.Level) string { return wire.Text(strings.TrimPrefix(v.Table, d.Layout.Prefix)) }
	read := "extractAll(" + view + ", " + wire.Text(d.Layout.RollupsIn()) + ")"
	var known []string
	for i := range d.Index + 1 {
		known = append(known, rollup(&d.Layout.Levels[i]))
	}
	same := "hasAll([" + strings.Join(known, ", ") + "], " + read + ")"
	if d.Below != nil {
		same += " AND has(" + read + ", " + rollup(d.Below) + ")"
	}
	return same
}

// makeAnew makes windows of a level anew, some with each statement of a template. rows has the number
// of rows that a window is made of, if they were counted.
func (s *Sink) makeAnew(ctx context.Context, d making, template string, touched []rounds.Window, rows map[int64]uint64) error {
	_, err := s.inRound(ctx, &s.rolled, len(touched), func(from int, round uint64) (int, error) {
		n := s.batch(touched[from:], rows)
		d.Round, d.windows = round, touched[from:from+n]
		return from + n, s.client.ExecOn(ctx, s.client.Shards, "roll up into "+d.Level.Table, render(template, d), wire.QueryTimeout)
	})
	return err
}

// progress says how far a level is complete.
type progress struct {
	opened   uint64     // the current round of the job
	done     uint64     // the round below which the level holds every row
	complete event.Time // the time up to which its windows are recorded as complete
}

func (s *Sink) progress(ctx context.Context, d making) (at progress, err error) {
	err = s.client.Query(ctx, "read the rollup's progress", render("progress", d), func(scan func(...any) error) error {
		return scan(&at.opened, &at.done, (*int64)(&at.complete))
	})
	if err == nil {
		s.rounds.store(at.opened)
	}
	return at, err
}

// count returns the number of rows that each window is made of; with the template differ only of
// windows that are to be made. Touched has a query of its own, so that each can use an index: this one by window, the
// other by round.
func (s *Sink) count(ctx context.Context, d making, template string, list []rounds.Window) (map[int64]uint64, error) {
	d.windows = list
	rows := map[int64]uint64{}
	err := s.client.Shards.Query(ctx, "count rows to roll up", render(template, d), wire.Counting(rows))
	return rows, err
}

// batch returns how many of the windows one statement rolls up.
func (s *Sink) batch(list []rounds.Window, rows map[int64]uint64) int {
	sum := 0
	for i, w := range list {
		if sum += int(rows[w.Start]); i > 0 && sum > s.merge {
			return i
		}
	}
	return len(list)
}

// A making is what the templates of Rollup and Repair see of a level.
type making struct {
	schema.LevelData
	Since   uint64 // windows with rows of this round or later are made
	Round   uint64 // the stamp of the rows that are made
	windows []rounds.Window
}

func (d making) ByKey() string { return schema.ByKey }

// Within is a condition for the windows: Range bounds them by time, for the primary key, and List names them.
func (d making) Within() string {
	return d.Range() + " AND toUnixTimestamp(" + d.Start() + ") IN (" + d.List() + ")"
}

// Counted is what the state rows of these windows have counted, by windows of the first rollup: all of it if that
// one is made, and else the hits.
func (d making) Counted() schema.LevelData {
	if d.First {
		return d.Choose(d.Within())
	}
	return d.Shortest().Counts().Choose(d.Within())
}

func (d making) Range() string {
	first, last := d.windows[0].Start, d.windows[0].Start
	for _, w := range d.windows {
		first, last = min(first, w.Start), max(last, w.Start)
	}
	return fmt.Sprintf("window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", first, last+d.Level.Seconds)
}

func (d making) List() string {
	var b strings.Builder
	for i, w := range d.windows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, w.Start)
	}
	return b.String()
}
