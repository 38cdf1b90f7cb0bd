package clickhouse

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/event"
	"weir/flow/rounds"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/native"
	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// A Client writes jobs into one database. Use Open.
type Client struct {
	*wire.DB
	limit int // rows in a block

	// What the jobs of a process ask together.
	rounds   *batcher[*roundRequest]
	lines    *batcher[[]ledgerLine]
	coverage *batcher[*coverageRequest]
}

// Open checks the configuration and prepares a client. It does not connect: see Ping.
func Open(cfg wire.Config) (*Client, error) {
	db, err := wire.Dial(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{DB: db, limit: blockRows}
	c.rounds = newBatcher(readRounds{c})
	c.lines = newBatcher(writeLines{c})
	c.coverage = newBatcher(readCoverage{c})
	c.coverage.unasked = true // jobs look at the same moments
	return c, nil
}

// A Sink writes the changes of one job. Client.Job makes one.
type Sink struct {
	// Notes has harmless differences between the job's tables and its configuration,
	// one sentence each: for example, a measure that is gone, or a keep that has changed.
	Notes []string

	*questions.Reader
	*verify.Auditor

	client *Client
	layout *schema.Layout

	merge int // rows that a statement of a rollup reads

	rounds current

	starts atomic.Int64 // of the client's uptimes, when the ledger was read

	// A part of a write holds noting from its stamp to its acknowledgement, an Insert while it inserts, and a rollup while it notes
	// a round: so a process does not overtake its own writes, and writes no row twice for that.
	// Correctness does not need it.
	noting sync.RWMutex

	// Owned by Write.
	writer rounds.Writer
	blocks native.Writer[window.Row]
	most   int // rows in the next statement of state rows

	fresh time.Duration // freshPart

	// Owned by Rollup.
	mu     sync.Mutex
	memos  []memo // by level
	rolled rounds.Writer
	lags   bool      // the tables have replicas, which may lag
	passed []mark    // the latest rounds
	folded time.Time // when the ledger was folded last

	foldAge time.Duration
}

// Migrate is migrate.Run for the client's database.
func (c *Client) Migrate(ctx context.Context, jobs []schema.Job, m migrate.Options) ([]migrate.Statement, error) {
	return migrate.Run(ctx, c.DB, jobs, m)
}

// Job compares the job's tables with what the job needs and returns the sink
// that writes them. It changes nothing: tables are made by Migrate.
func (c *Client) Job(ctx context.Context, j schema.Job) (*Sink, error) {
	l, notes, lags, err := migrate.Check(ctx, c.DB, j)
	if err != nil {
		return nil, err
	}
	s := c.sink(l)
	s.Notes, s.lags = notes, lags
	return s, nil
}

// sink returns a sink for tables that are as the layout says.
func (c *Client) sink(l *schema.Layout) *Sink {
	s := &Sink{
		Reader: questions.NewReader(c.DB, l), Auditor: verify.NewAuditor(c.DB, l), client: c, layout: l, most: firstRows, fresh: freshPart, merge: rollupRows, folded: time.Now(), foldAge: foldAge,
		memos: make([]memo, len(l.Levels)),
	}
	for i := range s.memos {
		s.memos[i] = memo{due: time.Now().Add(tailTime)}
	}
	return s
}

// Insert inserts places and state rows on all shards, so that views show them, and returns the round of the
// state rows. They are acknowledged by the Write that has them as c.Sent. It does not change c, whose table
// must be sealed.
func (s *Sink) Insert(ctx context.Context, c *window.Changes) (round uint64, err error) {
	if err := s.writePositions(ctx, c.Table); err != nil {
		return 0, err
	}
	s.noting.RLock()
	defer s.noting.RUnlock()
	opened, err := s.recent(ctx, &s.writer)
	if err != nil {
		return 0, err
	}
	at := s.writer.Begin(opened)
	rows, ends := s.divide(c.Table)
	for from := 0; from < c.Table.Len() && err == nil; {
		from, err = s.writeState(ctx, c.Table, rows, ends, from, at.Stamp)
	}
	return at.Stamp, err
}

// Write writes the changes into the tables, in an order that makes a crash harmless:
// places and state rows on all shards, acknowledged in the sense of package rounds, then the numbers of whole rows, dead
// letters, then the ledger lines. It does not change c, whose tables must be sealed. After an error, any
// part of c may be written: write c again, or c merged with later changes.
//
// What it will ask together with other jobs is announced before it begins.
func (s *Sink) Write(ctx context.Context, c *window.Changes) error {
	s.client.lines.announce(&s.writer)
	defer s.client.lines.leave(&s.writer)
	s.client.rounds.announce(&s.writer)
	defer s.client.rounds.leave(&s.writer)
	if err := s.writePositions(ctx, c.Table); err != nil {
		return err
	}
	now, err := s.writeRows(ctx, c.Table)
	if c.Table.Len() == 0 && (c.Sent != nil || len(c.Lines) > 0) { // no question has told yet whether the server was started again
		now, err = s.round(ctx, &s.writer)
	}
	if err == nil && c.Sent != nil && rounds.Overtaken(c.Sent.Round, now) {
		_, err = s.writeRows(ctx, c.Sent.Table)
	}
	if err == nil {
		err = s.writeNumbers(ctx, c.Table)
	}
	if err != nil {
		return err
	}
	_ = s.client.HearShards(ctx)
	if err := s.restarted(); err != nil {
		return err
	}
	if err := s.writeDead(ctx, c.Dead); err != nil {
		return err
	}
	if len(c.Lines) == 0 {
		return nil
	}
	var lines []ledgerLine
	for _, line := range c.Lines { // each copied: the statement may outlive this write
		lines = append(lines, ledgerLine{job: &s.layout.Job, Line: &line})
	}
	return s.client.lines.do(ctx, &s.writer, lines)
}

// writePositions writes the positions of members. They have no round, because no rollup is made of them.
func (s *Sink) writePositions(ctx context.Context, t *window.Table) error {
	for m := range s.layout.Located {
		if err := s.writePlaces(ctx, t, m); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes the state rows of a table, and returns the round that was current when all were there;
// 0 if there are none.
func (s *Sink) writeRows(ctx context.Context, t *window.Table) (now uint64, err error) {
	rows, ends := s.divide(t)
	return s.inRound(ctx, &s.writer, t.Len(), func(from int, round uint64) (int, error) {
		return s.writeState(ctx, t, rows, ends, from, round)
	})
}

// restarted returns an error if a server was started again since the ledger was read.
func (s *Sink) restarted() error {
	if int64(s.client.Uptimes.Count()) != s.starts.Load() {
		return wire.ErrRestarted
	}
	return nil
}

// writeState writes the next rows of a table, from a number on, to their shard in one statement. It
// returns the number of the first row behind them. rows and ends come from divide.
func (s *Sink) writeState(ctx context.Context, t *window.Table, rows, ends []int, from int, round uint64) (int, error) {
	shard, _ := slices.BinarySearch(ends, from+1)
	to := min(from+s.most, from+s.client.limit, ends[shard])
	began := time.Now()
	sent, err := wire.Insert(ctx, s.client.DB, s.client.Shards[shard], s.layout.StateTable(), &s.blocks, stateColumns(s.layout, round), to-from, stateRows(t, rows, from, to))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			s.most = max(s.most/4, 1)
		}
		return from, err
	}
	s.aim(to-from, sent, time.Since(began))
	return to, nil
}

// writeNumbers gives the first rollup the numbers of whole rows, of windows of which the table has nothing but whole
// rows. Of the latest window there is more to come, so that its numbers would not pass the check of a rollup. Which rows give
// numbers decides nothing but the cost.
func (s *Sink) writeNumbers(ctx context.Context, t *window.Table) error {
	if !s.layout.Numbers() {
		return nil
	}
	part, latest := map[event.Time]bool{}, event.Time(0)
	for row := range t.Rows {
		latest = row.Window()
		part[latest] = part[latest] || !row.Whole()
	}
	part[latest] = true
	rows, ends := s.divide(t)
	from := 0
	for shard, to := range ends {
		var list []window.Row
		for row := range stateRows(t, rows, from, to) {
			if !part[row.Window()] {
				list = append(list, row)
			}
		}
		from = to
		err := insertAll(ctx, s.client, s.client.Shards[shard], s.layout.Levels[0].Table, numberColumns(s.layout), list, func(window.Row) int { return 100 })
		if err != nil {
			return err
		}
	}
	return nil
}

// aim decides how many rows the next statement has, after one that was acknowledged: as many as
// would have blockBytes if they are like these, but at most four times as many. The table's rows are in an
// order that makes that likely. If this one took an eighth of its deadline or more, the next one is to take an eighth,
// but has at least keptBytes, as other blocks have. Nothing but the server's memory depends on it, and whether a
// flush ends behind a slow connection.
func (s *Sink) aim(rows, sent int, took time.Duration) {
	goal := blockBytes
	if share := s.client.Config.InsertTimeout / 8; took > share {
		goal = min(goal, max(keptBytes, int(float64(sent)*float64(share)/float64(took))))
	}
	if per := sent/rows + 1; rows >= min(100, s.most) || s.most > goal/per {
		s.most = min(max(goal/per, 1), 4*s.most)
	}
}

// writeDead writes dead letters to the home shard.
func (s *Sink) writeDead(ctx context.Context, list []window.DeadLetter) error {
	var all []*window.DeadLetter
	for i := range list {
		all = append(all, &list[i])
	}
	return insertAll(ctx, s.client, s.client.Shards[0], "weir_dead_letters", deadColumns(&s.layout.Job), all, func(d *window.DeadLetter) int { return len(d.Payload) + len(d.Reason) })
}

// divide returns the numbers of the rows of a sealed table, for Table.Row: shard by shard, and in a shard
// in the order of the table. ends says where the rows of each shard end. The numbers are nil if there is
// one shard.
func (s *Sink) divide(t *window.Table) (rows, ends []int) {
	if !s.client.Sharded() {
		return nil, []int{t.Len()}
	}
	parts := make([][]int, len(s.client.Shards))
	var group [][]byte
	for i := range t.Len() {
		group = t.Row(i).Group(group[:0])
		n := s.client.Shards.Of(s.layout.Spec.Job, group...)
		parts[n] = append(parts[n], i)
	}
	for _, part := range parts {
		rows = append(rows, part...)
		ends = append(ends, len(rows))
	}
	return rows, ends
}
