package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/audit"
	"weir/event"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// This file reads and writes the ledger, which all jobs share: see batcher.go.

// Known returns what the ledger says of each partition: for every epoch, the id of its
// topic, the durable offsets, and the state of the open chunk. It leaves out a state from before a server was
// started again: the server may lack rows that the state counts, which are written again with the chunk.
func (s *Sink) Known(ctx context.Context) (map[int32]window.Known, error) {
	up := uint32(0)
	if s.client.HearShards(ctx) == nil {
		up = s.client.Uptimes.Least()
	}
	known := map[int32]window.Known{}
	sql := "SELECT toInt32(partition), epoch, if(countIf(next > first) > 0, minIf(first, next > first), max(next)), max(next), hex(max(topic_id)), " +
		"argMaxIf(first, (next, -toInt64(first)), next > first AND counted = 0), maxIf(next, next > first AND counted = 0), if(argMax(flushed_at, saved) > now() - toIntervalSecond(least(uptime(), " + fmt.Sprint(up) + ")), max(saved), ''), " + wire.UptimeColumns + " FROM " + s.client.Name(schema.LedgerTable) +
		" WHERE " + s.layout.Where() + " GROUP BY partition, epoch"
	err := s.client.Hearing(ctx, "read the ledger", sql, func(scan func(...any) error) error {
		var p int32
		var k window.Known
		var first, next, blankFirst, blankNext uint64
		var id string
		err := scan(&p, &k.Epoch, &first, &next, &id, &blankFirst, &blankNext, &k.Saved)
		if err != nil {
			return err
		}
		if k.TopicID, err = schema.TopicID(id); err != nil {
			return err
		}
		k.First, k.Next = int64(first), int64(next)
		k.Blank = window.Span{First: int64(blankFirst), Next: int64(blankNext)}
		if old, ok := known[p]; ok {
			k = *old.With(k)
		}
		known[p] = k
		return nil
	})
	if err != nil {
		return nil, err
	}
	// From here on, what is acknowledged has to stay.
	s.starts.Store(int64(s.client.Uptimes.Count()))
	return known, nil
}

// Coverage returns what the ledger covers of each partition, in one question with those of other
// jobs: see batcher. It reads one number for each chunk from a few columns, which takes some ten
// milliseconds for a million chunks.
func (s *Sink) Coverage(ctx context.Context) (audit.Coverage, error) {
	r := &coverageRequest{job: &s.layout.Job}
	if err := s.client.coverage.do(ctx, &s.writer, r); err != nil {
		return audit.Coverage{}, err
	}
	r.covered.Lags, r.covered.Restarted = s.lags, s.restarted() != nil
	return r.covered, nil
}

// A coverageRequest asks what the ledger covers of the partitions of a job.
type coverageRequest struct {
	job     *schema.Job
	covered audit.Coverage
}

// readCoverage answers the requests, with a statement for all with one skew.
type readCoverage struct{ *Client }

func (c readCoverage) run(ctx context.Context, all []*coverageRequest) error {
	_ = c.HearShards(ctx)
	skews := map[event.Time][]*coverageRequest{}
	for _, r := range all {
		skews[r.job.Spec.Skew] = append(skews[r.job.Spec.Skew], r)
	}
	for skew, some := range skews {
		var now event.Time
		// Each process asks this every few seconds: the engine analyses a flat
		// statement in half the time of one with a subquery.
		sql := fmt.Sprintf("SELECT job, version, partition, epoch, toInt64(max(next)), toInt64(toUnixTimestamp(max(flushed_at))),"+
			" toInt64(toUnixTimestamp64Milli(maxIf(watermark, watermark <= now64(3) + toIntervalMillisecond(%[1]d)))), toUInt8(max(watermark) > now64(3) + toIntervalMillisecond(%[1]d)),"+
			" toInt64(toUnixTimestamp64Milli(now64(3))), hex(max(topic_id)), "+wire.UptimeColumns+" FROM %[2]s WHERE %[3]s GROUP BY job, version, partition, epoch%[4]s",
			skew, c.Name(schema.LedgerTable), schema.WhereAny(some, func(r *coverageRequest) *schema.Job { return r.job }), schema.ByKey)
		err := c.Hearing(ctx, "read the ledger", sql, func(scan func(...any) error) error {
			var job, id string
			var version uint32
			var partition uint16
			var epoch, ahead uint8
			var next, flushed, watermark int64
			if err := scan(&job, &version, &partition, &epoch, &next, &flushed, &watermark, &ahead, (*int64)(&now), &id); err != nil {
				return err
			}
			topic, err := schema.TopicID(id)
			for _, r := range some {
				if r.job.Is(job, version) {
					r.covered.Add(int32(partition), audit.Covered{
						Epoch: epoch, TopicID: topic, Next: next, Flushed: event.Time(flushed) * 1000, Watermark: event.Time(watermark), Ahead: ahead == 1,
					})
				}
			}
			return err
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

// lineBytes is about how many bytes a line has.
func lineBytes(l ledgerLine) int { return 256 + len(l.Saved) }

type writeLines struct{ *Client }

func (c writeLines) run(ctx context.Context, all [][]ledgerLine) error {
	return insertAll(ctx, c.Client, c.Shards[0], schema.LedgerTable, ledgerColumns(), slices.Concat(all...), lineBytes)
}

const (
	foldAge  = time.Hour // of a line before it is folded
	foldSpan = time.Hour // within which the lines were written that one stands for
	foldMost = 500       // folds at a time; the rest has time
)

// Fold writes one line for the lines of many chunks, and then deletes these. Until they are gone, and wherever one
// comes back because an insert was late, readers leave out what a fold covers.
func (s *Sink) Fold(ctx context.Context) error {
	folds, err := s.Folds(ctx, s.foldAge, foldSpan)
	if err != nil || len(folds) == 0 {
		return err
	}
	var fresh []ledgerLine
	var gone []string
	for i := range folds[:min(len(folds), foldMost)] {
		f := &folds[i]
		if f.Fresh {
			fresh = append(fresh, ledgerLine{&s.layout.Job, &f.Line, f.Flushed})
		}
		gone = append(gone, fmt.Sprintf("epoch = %d AND partition = %d AND chunk > %d AND first < %d AND next <= %[4]d", f.Epoch, f.Partition, f.Chunk, f.Next)) // as window.Line.Covers
	}
	if err := insertAll(ctx, s.client, s.client.Shards[0], schema.LedgerTable, foldColumns(), fresh, lineBytes); err != nil {
		return err
	}
	sql := "ALTER TABLE " + s.client.Name(schema.LedgerTable) + " DELETE WHERE " + s.layout.Where() + " AND (" + strings.Join(gone, " OR ") + ") SETTINGS mutations_sync = 1"
	return s.client.ExecOn(ctx, s.client.Home(), "delete lines that are folded", sql, wire.QueryTimeout)
}
