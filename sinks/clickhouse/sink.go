package clickhouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/audit"
	"weir/event"
	"weir/rounds"
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

	// A write holds noting from its stamp to its acknowledgement, and a rollup while it notes a
	// round: so a process does not overtake its own writes, and writes no row twice for that.
	// Correctness does not need it.
	noting sync.RWMutex

	// Owned by Write.
	writer      rounds.Writer
	state, dead *block
	places      []*block // one for each measure that layout.located yields
	group       [][]byte
	counted     []*measure // that layout.counted yields
	most        int        // rows in the next statement of state rows

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
	if _, err := c.members(ctx); err != nil {
		return nil, err
	}
	var home *inventory
	for _, on := range c.shards {
		inv, err := c.inventory(ctx, on)
		if err == nil {
			err = c.check(ctx, on, inv, l)
		}
		if err != nil {
			return nil, on.named(err)
		}
		if home == nil {
			home = inv
		}
	}
	s := c.sink(l)
	s.Notes = home.notes(c, l)
	s.lags = home.tables[l.state()].engine != "AggregatingMergeTree"
	return s, nil
}

// sink returns a sink for tables that are as the layout says.
func (c *Client) sink(l *layout) *Sink {
	s := &Sink{
		client: c, layout: l, quiet: quiet, most: firstRows, merge: rollupRows,
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

// Known returns what the ledger says of each partition: for every epoch, the id of its
// topic and the durable offsets.
func (s *Sink) Known(ctx context.Context) (map[int32]window.Known, error) {
	known := map[int32]window.Known{}
	sql := "SELECT toInt32(partition), epoch, if(countIf(next > first) > 0, minIf(first, next > first), max(next)), max(next), hex(max(topic_id)) FROM " + s.client.name(LedgerTable) +
		" WHERE " + s.layout.where() + " GROUP BY partition, epoch"
	err := s.client.query(ctx, "read the ledger", sql, func(scan func(...any) error) error {
		var p int32
		var k window.Known
		var first, next uint64
		var id string
		err := scan(&p, &k.Epoch, &first, &next, &id)
		if err != nil {
			return err
		}
		if k.TopicID, err = topicID(id); err != nil {
			return err
		}
		k.First, k.Next = int64(first), int64(next)
		if old, ok := known[p]; ok {
			k = *old.With(k)
		}
		known[p] = k
		return nil
	})
	if err != nil {
		return nil, err
	}
	return known, nil
}

// topicID parses the hexadecimal form of a topic's id.
func topicID(text string) (id [16]byte, err error) {
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return id, fmt.Errorf("topic id %q: %w", text, err)
	}
	return id, nil
}

// Coverage returns what the ledger covers of each partition, in one question with those of other
// jobs: see joint. It reads one number for each chunk from a few columns, which takes some ten
// milliseconds for a million chunks.
func (s *Sink) Coverage(ctx context.Context) (audit.Coverage, error) {
	r := &coverageRequest{job: &s.layout.Job}
	if err := s.client.coverage.do(ctx, nil, r); err != nil {
		return audit.Coverage{Partitions: map[int32]audit.Covered{}}, err
	}
	return r.covered, nil
}

// A coverageRequest asks what the ledger covers of the partitions of a job.
type coverageRequest struct {
	job     *Job
	covered audit.Coverage
}

// readCoverage answers the requests, with a statement for all with one skew.
func (c *Client) readCoverage(ctx context.Context, all []*coverageRequest) error {
	skews := map[event.Time][]*coverageRequest{}
	for _, r := range all {
		r.covered.Partitions = map[int32]audit.Covered{}
		skews[r.job.Spec.Skew] = append(skews[r.job.Spec.Skew], r)
	}
	for skew, some := range skews {
		var now event.Time
		// Each process asks this every few seconds: the engine analyses a flat
		// statement in half the time of one with a subquery.
		sql := fmt.Sprintf("SELECT job, version, partition, epoch, toInt64(max(next)), toInt64(toUnixTimestamp(max(flushed_at))),"+
			" toInt64(toUnixTimestamp64Milli(maxIf(watermark, watermark <= now64(3) + toIntervalMillisecond(%[1]d)))), toUInt8(max(watermark) > now64(3) + toIntervalMillisecond(%[1]d)),"+
			" toInt64(toUnixTimestamp64Milli(now64(3))) FROM %[2]s WHERE %[3]s GROUP BY job, version, partition, epoch%[4]s",
			skew, c.name(LedgerTable), whereAny(some, func(r *coverageRequest) *Job { return r.job }), byKey)
		err := c.query(ctx, "read the ledger", sql, func(scan func(...any) error) error {
			var job string
			var version uint32
			var partition uint16
			var epoch, ahead uint8
			var next, flushed, watermark int64
			if err := scan(&job, &version, &partition, &epoch, &next, &flushed, &watermark, &ahead, (*int64)(&now)); err != nil {
				return err
			}
			for _, r := range some {
				if old, ok := r.covered.Partitions[int32(partition)]; r.job.is(job, version) && (!ok || old.Epoch < epoch) {
					r.covered.Partitions[int32(partition)] = audit.Covered{
						Epoch: epoch, Next: next, Flushed: event.Time(flushed) * 1000, Watermark: event.Time(watermark), Ahead: ahead == 1,
					}
				}
			}
			return nil
		})
		if err == nil && now == 0 { // the ledger has none of them
			var at time.Time
			at, err = c.Clock(ctx)
			now = event.Time(at.UnixMilli())
		}
		if err != nil {
			return err
		}
		for _, r := range some {
			r.covered.Now = now
		}
	}
	return nil
}

// Write writes the changes into the tables, in an order that makes a crash harmless:
// places and state rows on all shards, acknowledged in the sense of package rounds, then dead
// letters, then the ledger lines. It does not change c, whose table must be sealed. After an error, any
// part of c may be written: write c again, or c merged with later changes.
func (s *Sink) Write(ctx context.Context, c *window.Changes) error {
	lines := s.client.lines.expect()
	defer s.client.lines.leave(lines)
	if c.Table.Len() > 0 {
		asks := s.client.rounds.expect()
		defer s.client.rounds.leave(asks)
		s.noting.RLock()
		err := s.inRound(ctx, &s.writer, asks, func(round uint64) error {
			at := 0
			for m := range s.layout.located {
				for shard := range s.client.shards {
					if err := s.writePlaces(ctx, shard, s.places[at], c.Table, m); err != nil {
						return err
					}
				}
				at++
			}
			if !s.client.sharded() {
				return s.writeState(ctx, s.client.shards[0], c.Table, nil, c.Table.Len(), round)
			}
			for shard, rows := range s.divide(c.Table) {
				if err := s.writeState(ctx, s.client.shards[shard], c.Table, rows, len(rows), round); err != nil {
					return err
				}
			}
			return nil
		})
		s.noting.RUnlock()
		if err != nil {
			return err
		}
	}
	err := send(ctx, s, s.dead, c.Dead, func(d *window.DeadLetter) { s.dead.addDead(&s.layout.Job, d) })
	if err != nil {
		return err
	}
	if len(c.Lines) == 0 {
		return nil
	}
	return s.client.lines.do(ctx, lines, linesRequest{&s.layout.Job, slices.Clone(c.Lines)})
}

// A linesRequest is ledger lines of a job.
type linesRequest struct {
	job   *Job
	lines []window.Line
}

// writeLines writes ledger lines of some jobs.
func (c *Client) writeLines(ctx context.Context, all []linesRequest) error {
	b := ledgerBlock()
	for _, r := range all {
		for i := range r.lines {
			b.addLine(r.job, &r.lines[i])
			if b.full(c.limit) {
				if err := c.flush(ctx, c.shards[0], b); err != nil {
					return err
				}
			}
		}
	}
	return c.flush(ctx, c.shards[0], b)
}

// writeState writes n rows of a table to a shard: those that rows has the numbers of, or the
// first n if it is nil. Each statement has as many rows as would have
// blockBytes if they are like those of the statement before; the table's rows are in an
// order that makes that likely, and nothing but the server's memory depends on it.
func (s *Sink) writeState(ctx context.Context, on *replicas, t *window.Table, rows []int, n int, round uint64) error {
	for from := 0; from < n; {
		to := min(from+s.most, from+s.client.limit, n)
		sent := 0
		err := s.client.insertPieces(ctx, on, s.state, func(yield func([]byte) bool) {
			for piece := range s.stateRows(t, rows, from, to, round) {
				if sent += len(piece); !yield(piece) {
					return
				}
			}
		})
		if err != nil {
			s.state.abandon()
			return err
		}
		if per := sent/(to-from) + 1; to-from >= 100 || s.most > blockBytes/per {
			s.most = min(max(blockBytes/per, 1), 4*s.most)
		}
		from = to
	}
	return nil
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
