package wire

import (
	"context"
	"encoding/binary"
	"sync"

	"golang.org/x/sync/errgroup"

	"weir/sketches/hll"
)

// Shards are the parts of a database that is spread over servers. Every shard has all tables.
// A hash of the group chooses the shard of its state rows and rollups. So a rollup is made from
// rows of its own shard, however long its windows are. Positions are on the shard of their member.
// The ledger, dead letters and the current round are about the whole job. They are on the
// first shard alone, the home shard.
//
// A flush writes the rows of all shards before the first ledger line, so a position is
// durable when each shard has its rows. Rounds (package rounds) do not care where rows are:
// they are there when every shard has acknowledged them, and a rollup looks at all shards
// when its round is open at home.
type Shards []*Replicas

// Home returns the home shard alone.
func (c *DB) Home() Shards { return c.Shards[:1] }

// Sharded reports whether there are several shards.
func (c *DB) Sharded() bool { return len(c.Shards) > 1 }

// each calls f for all shards at once.
func (h Shards) each(ctx context.Context, f func(context.Context, *Replicas) error) error {
	if len(h) == 1 {
		return f(ctx, h[0])
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range h {
		g.Go(func() error { return f(ctx, r) })
	}
	return g.Wait()
}

// Query runs a SELECT on all shards at once, and calls row for each row of the answers, one
// at a time. Rows of different shards come in no order.
func (h Shards) Query(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return h.askAll(ctx, (*Replicas).query, what, sql, row)
}

// Question is Query for what a person asks: see Replicas.question.
func (h Shards) Question(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	return h.askAll(ctx, (*Replicas).question, what, sql, row)
}

func (h Shards) askAll(ctx context.Context, ask func(*Replicas, context.Context, string, string, func(func(...any) error) error) error, what, sql string, row func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	var mu sync.Mutex
	return h.each(ctx, func(ctx context.Context, r *Replicas) error {
		return ask(r, ctx, what, sql, func(scan func(...any) error) error {
			if len(h) > 1 {
				mu.Lock()
				defer mu.Unlock()
			}
			return row(scan)
		})
	})
}

// QueryFor is query without a time limit of its own, on one shard after the other. So the
// rows come in the order of the shards.
func (h Shards) QueryFor(ctx context.Context, what, sql string, row func(scan func(...any) error) error) error {
	for _, r := range h {
		if err := r.query(ctx, what, sql, row); err != nil {
			return err
		}
	}
	return nil
}

// Of returns the number of the shard that has the rows of a job with this key: the texts of
// the group, or a member. Stored rows depend on it, so it must never change: it is Redis'
// hash, as of the items of an HLL, of the job's name and these texts, each behind its length.
func (h Shards) Of(job string, key ...[]byte) int {
	if len(h) == 1 {
		return 0
	}
	var room [128]byte
	b := append(binary.AppendUvarint(room[:0], uint64(len(job))), job...)
	for _, text := range key {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return int(hll.Hash(b) % uint64(len(h)))
}

// Counting returns what adds up rows of a window's start and a number.
func Counting(rows map[int64]uint64) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var start int64
		var n uint64
		err := scan(&start, &n)
		rows[start] += n
		return err
	}
}
