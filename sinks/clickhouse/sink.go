package clickhouse

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/flow/rounds"
	"weir/window"
)

// A Sink writes the changes of one job. Client.Job makes one.
type Sink struct {
	// Notes has harmless differences between the job's tables and its configuration,
	// one sentence each: for example, a measure that is gone, or a keep that has changed.
	Notes []string

	client *Client
	layout *layout

	quiet time.Duration // for Audit
	merge int           // rows that a statement of a rollup reads

	rounds current

	starts atomic.Int64 // of the client's uptimes, when the ledger was read

	// A part of a write holds noting from its stamp to its acknowledgement, and a rollup while it notes
	// a round: so a process does not overtake its own writes, and writes no row twice for that.
	// Correctness does not need it.
	noting sync.RWMutex

	// Owned by Write.
	writer      rounds.Writer
	state, dead *block
	places      []*block // one for each measure that layout.located yields
	group       [][]byte
	counted     []*measure // that layout.counted yields
	most        int        // rows in the next statement of state rows

	fresh time.Duration // freshRound

	// Owned by Rollup.
	mu     sync.Mutex
	memos  []memo // by level
	rolled rounds.Writer
	lags   bool   // the tables have replicas, which may lag
	passed []mark // the latest rounds
}

// Job compares the job's tables with what the job needs and returns the sink
// that writes them. It changes nothing: tables are made by Migrate.
func (c *Client) Job(ctx context.Context, j Job) (*Sink, error) {
	l, err := j.plan()
	if err != nil {
		return nil, err
	}
	ids, err := c.members(ctx)
	if err != nil {
		return nil, err
	}
	var home *inventory
	var notes []string
	for i, on := range c.shards {
		inv, err := c.inventory(ctx, on, l)
		if err != nil {
			return nil, on.named(err)
		}
		if i == 0 {
			inv.mark(l)
		}
		wanted, _ := j.plan() // of a migration, which may mark rollups
		of, err := c.check(ctx, on, inv, wanted)
		if err != nil {
			return nil, on.named(err)
		}
		if i == 0 {
			home, notes = inv, of
		}
	}
	s := c.sink(l)
	s.Notes = append(notes, c.misread(ctx, home, l, ids)...)
	s.lags = home.tables[l.state()].engine != "AggregatingMergeTree"
	return s, nil
}

// sink returns a sink for tables that are as the layout says.
func (c *Client) sink(l *layout) *Sink {
	s := &Sink{
		client: c, layout: l, quiet: quiet, most: firstRows, fresh: freshRound, merge: rollupRows,
		state: stateBlock(l), dead: deadBlock(),
		memos: make([]memo, len(l.levels)),
	}
	for i := range s.memos {
		s.memos[i] = memo{due: time.Now().Add(tailTime)}
	}
	for m := range l.counted {
		s.counted = append(s.counted, m)
	}
	for m := range l.located {
		s.places = append(s.places, placesBlock(l, m))
	}
	return s
}

// write is Write.
func (s *Sink) write(ctx context.Context, c *window.Changes) error {
	if c.Table.Len() > 0 {
		at := 0
		for m := range s.layout.located { // these have no round, because no rollup is made of them
			for shard := range s.client.shards {
				if err := s.writePlaces(ctx, shard, s.places[at], c.Table, m); err != nil {
					return err
				}
			}
			at++
		}
		rows, ends := s.divide(c.Table)
		err := s.inRound(ctx, &s.writer, c.Table.Len(), func(from int, round uint64) (int, error) {
			return s.writeState(ctx, c.Table, rows, ends, from, round)
		})
		if err != nil {
			return err
		}
	}
	if c.Table.Len() == 0 && len(c.Lines) > 0 { // no question has told yet whether the server was started again
		if _, err := s.round(ctx, &s.writer); err != nil {
			return err
		}
	}
	if err := s.restarted(); err != nil {
		return err
	}
	err := send(ctx, s, s.dead, c.Dead, func(d *window.DeadLetter) { s.dead.addDead(&s.layout.Job, d) })
	if err != nil {
		return err
	}
	if len(c.Lines) == 0 {
		return nil
	}
	// The statement may outlive this write, and read its lines.
	return s.client.lines.do(ctx, &s.writer, linesRequest{&s.layout.Job, slices.Clone(c.Lines)})
}

// restarted returns an error if a server was started again since the ledger was read.
func (s *Sink) restarted() error {
	if int64(s.client.uptimes.count()) != s.starts.Load() {
		return errRestarted
	}
	return nil
}

// writeState writes the rows of a table that are in one statement, from one on, to the shard that
// they are of, and returns the number of the first behind them. rows and ends are those of divide.
func (s *Sink) writeState(ctx context.Context, t *window.Table, rows, ends []int, from int, round uint64) (int, error) {
	shard, _ := slices.BinarySearch(ends, from+1)
	to := min(from+s.most, from+s.client.limit, ends[shard])
	sent, began := 0, time.Now()
	err := s.client.insertPieces(ctx, s.client.shards[shard], s.state, func(yield func([]byte) bool) {
		for piece := range s.stateRows(t, rows, from, to, round) {
			if sent += len(piece); !yield(piece) {
				return
			}
		}
	})
	if err != nil {
		s.state.abandon()
		if errors.Is(err, context.DeadlineExceeded) {
			s.most = max(s.most/4, 1)
		}
		return from, err
	}
	s.aim(to-from, sent, time.Since(began))
	return to, nil
}

// aim decides how many rows the next statement has, after one that was acknowledged: as many as
// would have blockBytes if they are like these, but at most four times as many. The table's rows are in an
// order that makes that likely. If this one took an eighth of its deadline or more, the next one is to take that,
// unless it would have less than keptBytes, as other blocks have. Nothing but the server's memory depends on it,
// and whether a flush ends behind a slow connection.
func (s *Sink) aim(rows, sent int, took time.Duration) {
	goal := blockBytes
	if share := s.client.cfg.InsertTimeout / 8; took > share {
		goal = min(goal, max(keptBytes, int(float64(sent)*float64(share)/float64(took))))
	}
	if per := sent/rows + 1; rows >= min(100, s.most) || s.most > goal/per {
		s.most = min(max(goal/per, 1), 4*s.most)
	}
}

// send writes a list to the home shard, with one row for each element.
func send[T any](ctx context.Context, s *Sink, b *block, list []T, add func(*T)) error {
	b.reset()
	for i := range list {
		add(&list[i])
		if b.full(s.client.limit) {
			if err := s.client.flush(ctx, s.client.shards[0], b); err != nil {
				return err
			}
		}
	}
	return s.client.flush(ctx, s.client.shards[0], b)
}

// full reports whether a block has to be sent: it has so many rows, or keptBytes.
func (b *block) full(rows int) bool { return b.rows >= rows || b.size() >= keptBytes }
