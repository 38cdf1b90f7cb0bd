package jobs

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
)

// A leaderSource has no leader of partition 1 while away is set. Its generations are of the others then, until back is closed.
type leaderSource struct {
	*fakeSource
	away *atomic.Bool
	back chan struct{}
	told bool // generations begin as if the leader were there
}

func (s leaderSource) Spans(context.Context) (map[int32]event.Span, error) {
	all := spans(s.log)
	if !s.away.Load() {
		return all, nil
	}
	delete(all, 1)
	return all, lacking{1}
}

func (s leaderSource) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	if err != nil || !s.away.Load() || s.told {
		return lateGeneration{g}, err
	}
	return &leaderGeneration{g.(*fakeGeneration), s.back}, nil
}

// Fetch delivers what a lateGeneration has after a flush has had its time.
func (g lateGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	select {
	case <-time.After(5 * time.Second):
		return g.Generation.Fetch(ctx, from, deliver)
	case <-ctx.Done():
		return nil
	}
}

type lateGeneration struct{ Generation }

type leaderGeneration struct {
	*fakeGeneration
	back chan struct{}
}

func (g *leaderGeneration) Done() <-chan struct{} { return g.back }
func (g *leaderGeneration) Missing() error        { return lacking{1} }
func (g *leaderGeneration) Partitions() []event.Assignment {
	all := g.fakeGeneration.Partitions()
	return append(all[:1:1], all[2:]...)
}

// TestUntilEndWithoutALeader: a partition has no leader when a backfill begins. The others are counted meanwhile. If
// the leader comes, the partition is read to its end; if not, the backfill says after Config.Open what it did not read.
func TestUntilEndWithoutALeader(t *testing.T) {
	for _, comes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			log := newLog(3, 500)
			src := leaderSource{&fakeSource{log: log, committed: map[int32]int64{}}, new(atomic.Bool), make(chan struct{}), false}
			src.away.Store(true)
			sink := newSink(spec())
			rest := &fakeLog{parts: [][]event.Record{log.parts[0], log.parts[2]}}
			began := time.Now()
			time.AfterFunc(40*time.Second, func() {
				if got := sink.counts(); !maps.Equal(got, rest.counts(t)) {
					t.Error("the counts of the others differ from the log's")
				}
				if comes {
					src.away.Store(false)
					close(src.back)
				}
			})
			err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true})
			want := log
			if comes && err != nil {
				t.Errorf("the leader comes: %v", err)
			}
			if !comes {
				want = rest
				if !errors.Is(err, ErrUnread) || !errors.Is(err, ErrLeader) || !strings.Contains(err.Error(), "partitions [1] have no leader") {
					t.Errorf("no leader comes: %v", err)
				}
				if took := time.Since(began); took < time.Minute || took > 70*time.Second {
					t.Errorf("it waited for %s", took)
				}
			}
			if got := sink.counts(); !maps.Equal(got, want.counts(t)) {
				t.Errorf("comes=%v: counts differ from the log's", comes)
			}
		})
	}
}
