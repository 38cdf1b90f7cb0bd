package clickhouse

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"weir/sketches/hll"
	"weir/window"
)

// shards are the parts of a database that is spread over servers. Every shard has all tables.
// State rows and rollups of a group are on one shard, which a hash of the group chooses, so a
// rollup is made from rows of its own shard, however long its windows are; positions are on
// the shard of their member. Everything that is about the whole job is on the first shard
// alone, the home shard: the ledger, dead letters, and the current round.
//
// A flush writes the rows of all shards before the first ledger line, so a position is
// durable when each shard has its rows. Rounds (package rounds) do not care where rows are:
// they are there when every shard has acknowledged them, and a rollup looks at all shards
// when its round is open at home.
type shards []*replicas

// home returns the home shard alone.
func (c *Client) home() shards { return c.shards[:1] }

// sharded reports whether there are several shards.
func (c *Client) sharded() bool { return len(c.shards) > 1 }

// each calls f for all shards at once.
func (h shards) each(ctx context.Context, f func(context.Context, *replicas) error) error {
	if len(h) == 1 {
		return f(ctx, h[0])
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range h {
		g.Go(func() error { return f(ctx, r) })
	}
	return g.Wait()
}

// query runs a SELECT on all shards at once, and calls row for each row of the answers, one
// at a time. Rows of different shards come in no order.
func (h shards) query(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return h.askAll(ctx, (*replicas).query, what, sql, row)
}

// question is query for what a person asks: see replicas.question.
func (h shards) question(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return h.askAll(ctx, (*replicas).question, what, sql, row)
}

// an asker is replicas.query or replicas.question.
type asker func(r *replicas, ctx context.Context, what, sql string, row func(scan func(...any) error) error) error

func (h shards) askAll(ctx context.Context, ask asker, what, sql string, row func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var mu sync.Mutex
	return h.each(ctx, func(ctx context.Context, r *replicas) error {
		return ask(r, ctx, what, sql, func(scan func(...any) error) error {
			if len(h) > 1 {
				mu.Lock()
				defer mu.Unlock()
			}
			return row(scan)
		})
	})
}

// queryFor is query without a time limit of its own, on one shard after the other. So the
// rows come in the order of the shards.
func (h shards) queryFor(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	for _, r := range h {
		if err := r.query(ctx, what, sql, row); err != nil {
			return err
		}
	}
	return nil
}

// of returns the number of the shard that has the rows of a job with this key: the texts of
// the group, or a member. Stored rows depend on it, so it must never change: it is Redis'
// hash, as of the items of an HLL, of the job's name and these texts, each behind its length.
func (h shards) of(job string, key ...[]byte) int {
	if len(h) == 1 {
		return 0
	}
	var room [128]byte
	b := appendString(room[:0], job)
	for _, text := range key {
		b = appendString(b, text)
	}
	return int(hll.Hash(b) % uint64(len(h)))
}

// divide returns the rows of a sealed table shard by shard, as numbers for Table.Row, each in the
// order of the table, and where those of each shard end. The numbers are nil if there is one shard.
func (s *Sink) divide(t *window.Table) (rows, ends []int) {
	if !s.client.sharded() {
		return nil, []int{t.Len()}
	}
	parts := make([][]int, len(s.client.shards))
	for i := range t.Len() {
		s.group = t.Row(i).Group(s.group[:0])
		n := s.client.shards.of(s.layout.Spec.Job, s.group...)
		parts[n] = append(parts[n], i)
	}
	for _, part := range parts {
		rows = append(rows, part...)
		ends = append(ends, len(rows))
	}
	return rows, ends
}

// asked returns the shards that may have rows of a range: one, if the range is of one group.
func (s *Sink) asked(r *window.Range) shards {
	all := s.client.shards
	if len(r.Group) < len(s.layout.by) {
		return all
	}
	for _, g := range r.Group {
		if g == nil {
			return all
		}
	}
	n := all.of(s.layout.Spec.Job, r.Group...)
	return all[n : n+1]
}
