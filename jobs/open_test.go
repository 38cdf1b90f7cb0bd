package jobs

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/audit"
	"weir/event"
)

// TestWatchOpenTransactions: partition 1 cannot be read beyond 100 for longer
// than a minute, partition 0 has transactions that come and go. The status and
// the log name only partition 1: at first, then once a minute, and once when it
// is over. This process is not at fault, since its flushes cover the readable
// records.
func TestWatchOpenTransactions(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, j *Job, out *bytes.Buffer) {
		covered := func(next int64) map[int32]audit.Covered {
			return map[int32]audit.Covered{0: {Next: next, Watermark: 5000}, 1: {Next: 100, Watermark: 4000}}
		}
		at := int64(100)
		moves := func(for_ time.Duration) {
			for range for_ / (3 * time.Second) {
				at += 10
				s.log = map[int32]event.Span{0: {Next: at, End: at + 7}, 1: {Next: 100, End: 613}}
				s.ledger = covered(at)
				after(3 * time.Second)
			}
		}
		moves(60 * time.Second)
		if open := j.Status().OpenTransactions; open != nil || out.Len() > 0 {
			t.Errorf("after a minute less a look: %v\n%s", open, out)
		}
		moves(3 * time.Second)
		want := []OpenTransaction{{Partition: 1, Offset: 100, Records: 513, For: time.Minute}}
		if open := j.Status().OpenTransactions; !slices.Equal(open, want) {
			t.Errorf("after a minute: %+v, want %+v", open, want)
		}
		if j.Status().Uncounted != nil {
			t.Errorf("unreadable records are reported as uncounted: %v", j.Status().Uncounted)
		}
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, openTransaction.Begins) ||
			!strings.Contains(text, "partition 1 cannot be read beyond offset 100 for 1m0s: 513 records are in or behind a transaction that is open") {
			t.Errorf("the log:\n%s", text)
		}
		out.Reset()
		moves(3 * time.Minute)
		if text := out.String(); strings.Count(text, "\n") != 3 || strings.Count(text, openTransaction.GoesOn) != 3 {
			t.Errorf("three minutes later:\n%s", text)
		}
		out.Reset()
		s.log = map[int32]event.Span{0: {Next: at, End: at}, 1: {Next: 613, End: 613}}
		after(3 * time.Second)
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, openTransaction.Ends) || j.Status().OpenTransactions != nil {
			t.Errorf("once it has ended: %v\n%s", j.Status().OpenTransactions, text)
		}
	})
}

// heldSource is a topic in which the last records of partition 1 are behind an
// open transaction; after released they can be read.
type heldSource struct {
	*fakeSource
	stable   int
	whole    *fakeLog
	released atomic.Bool
	next     chan struct{} // ends the generation when the transaction ends
}

func (s *heldSource) Spans(context.Context) (map[int32]event.Span, error) {
	all := spans(s.whole)
	for p, at := range all {
		at.End = at.Next
		if p == 1 && !s.released.Load() {
			at.Next = int64(s.stable)
		}
		all[p] = at
	}
	return all, nil
}

func (s *heldSource) Next(ctx context.Context) (Generation, error) {
	if s.released.Load() {
		s.fakeSource.log = s.whole
	}
	g, err := s.fakeSource.Next(ctx)
	if f, ok := g.(*fakeGeneration); ok && !s.released.Load() {
		go func() {
			select {
			case <-s.next:
				close(f.done)
			case <-ctx.Done():
			}
		}()
	}
	return g, err
}

// TestUntilEndBehindATransaction: a backfill reads to the end that the log had
// when it began, also if records become readable only later because a transaction
// was open. If a transaction stays open, the backfill waits for Config.Open; then
// all other records are durable, and the error names those that were not read.
func TestUntilEndBehindATransaction(t *testing.T) {
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			whole := newLog(2, 500)
			readable := &fakeLog{parts: [][]event.Record{whole.parts[0], whole.parts[1][:300]}}
			src := &heldSource{fakeSource: &fakeSource{log: readable, committed: map[int32]int64{}}, stable: 300, whole: whole, next: make(chan struct{})}
			sink := newSink(spec())
			began := time.Now()
			if ends {
				time.AfterFunc(40*time.Second, func() { src.released.Store(true); close(src.next) })
			}
			err := runJob(t, ctx, Config{Source: src, Sink: sink, UntilEnd: true})
			want := whole
			if !ends {
				want = readable
				text := "200 records are in or behind a transaction that is open"
				if !errors.Is(err, ErrUnread) || !strings.Contains(err.Error(), "topic clicks") ||
					!strings.Contains(err.Error(), "partition 1 cannot be read beyond offset 300 for 1m") || !strings.Contains(err.Error(), text) {
					t.Errorf("the transaction stays open: %v", err)
				}
				if took := time.Since(began); took < time.Minute || took > 70*time.Second {
					t.Errorf("it waited for %s", took)
				}
			} else if err != nil {
				t.Errorf("the transaction ends: %v", err)
			}
			if got := sink.counts(); !maps.Equal(got, want.counts(t)) {
				t.Errorf("ends=%v: counts differ from the log's", ends)
			}
			if sink.rollups == 0 {
				t.Error("no rollup")
			}
		})
	}
}
