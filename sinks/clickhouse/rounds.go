package clickhouse

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir/flow/rounds"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// A current is the job's current round, kept in weir_rollups (opened) and merged by
// maximum, as this process read it last. See package rounds.
//
// A round that is noted as done was opened, and counts as such even if the row that said
// so was lost since: else all that is written would be of a round that is done. Every
// row that a rollup is made from says in which round it is written: flushed_in of a state
// row, rolled_in of a row of a rollup.
type current struct {
	mu    sync.Mutex
	read  rounds.Current
	asked time.Time
}

// freshRound is how old the last reading of the current round may be for a
// writer to stamp rows with it: a job that keeps up reads it every 3 s. An older one is read
// anew first, because the rows would likely be overtaken: it decides nothing but the cost.
const freshRound = 4 * time.Second

// freshPart is for how long a writer stamps rows with one round. It decides nothing but the cost.
const freshPart = 2 * time.Second

// store keeps the current round, which was just read.
func (c *current) store(opened uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.Read(opened)
	c.asked = time.Now()
}

// last returns the stored round, and whether it was read less than freshRound ago.
func (c *current) last() (read rounds.Current, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, time.Since(c.asked) < freshRound
}

// A roundRequest asks for the current round of a job.
type roundRequest struct {
	job    *schema.Job
	opened uint64
}

// readRounds reads the current rounds of some jobs. A job that has none yet has 0.
type readRounds struct{ *Client }

func (c readRounds) run(ctx context.Context, all []*roundRequest) error {
	ctx, cancel := context.WithTimeout(ctx, c.Config.InsertTimeout) // as a flush's other statements
	defer cancel()
	sql := fmt.Sprintf("SELECT job, version, greatest(max(opened), max(done)), "+wire.UptimeColumns+" FROM %s WHERE %s GROUP BY job, version%s",
		c.Name("weir_rollups"), schema.WhereAny(all, func(r *roundRequest) *schema.Job { return r.job }), schema.ByKey)
	return c.Hearing(ctx, "read the current round", sql, func(scan func(...any) error) error {
		var job string
		var version uint32
		var opened uint64
		err := scan(&job, &version, &opened)
		for _, r := range all {
			if r.job.Is(job, version) {
				r.opened = opened
			}
		}
		return err
	})
}

// round reads the job's current round for a writer, together with the rounds of other jobs: see batcher.
func (s *Sink) round(ctx context.Context, w *rounds.Writer) (opened uint64, err error) {
	r := &roundRequest{job: &s.layout.Job}
	if err := s.client.rounds.do(ctx, w, r); err != nil {
		return 0, err
	}
	s.rounds.store(r.opened)
	return r.opened, nil
}

// recent returns the job's current round as it was read a short time ago, or reads it.
func (s *Sink) recent(ctx context.Context, w *rounds.Writer) (opened uint64, err error) {
	if read, fresh := s.rounds.last(); fresh {
		return read.Round, nil
	}
	return s.round(ctx, w)
}

// inRound writes n rows: insert writes some of them, from one on, stamped with a round, and returns
// the number of the first that it did not write. inRound returns the round that was current when the last
// of them were there.
//
// The rows that are written while a stamp is fresh are a part, which goes through the protocol by
// itself. So a writer that is overtaken repeats one part, and a write of any size ends.
func (s *Sink) inRound(ctx context.Context, w *rounds.Writer, n int, insert func(from int, round uint64) (int, error)) (now uint64, err error) {
	defer s.client.rounds.leave(w)
	for from := 0; from < n && err == nil; {
		from, now, err = s.part(ctx, w, from, n, insert)
	}
	return now, err
}

// part writes a part of n rows, from one on, until they were there before a later round was opened.
func (s *Sink) part(ctx context.Context, w *rounds.Writer, from, n int, insert func(from int, round uint64) (int, error)) (to int, now uint64, err error) {
	s.noting.RLock()
	defer s.noting.RUnlock()
	opened, err := s.recent(ctx, w)
	if err != nil {
		return from, 0, err
	}
	for at := w.Begin(opened); ; {
		began := time.Now()
		for to = from; to < n && (to == from || time.Since(began) < s.fresh); {
			if to, err = insert(to, at.Stamp); err != nil {
				return from, 0, err
			}
		}
		if now, err = s.round(ctx, w); err != nil {
			return from, 0, err
		}
		if at.Passes(now) {
			return to, now, nil
		}
	}
}
