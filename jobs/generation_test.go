package jobs

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"weir/window"
)

// slowSink answers late, also after it was told to stop, and sees how many
// writes it has at a time.
type slowSink struct {
	*joinSink
	now, most atomic.Int32
	writes    atomic.Int32
}

func (s *slowSink) Write(ctx context.Context, c *window.Changes) error {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	if s.writes.Add(1) > 8 {
		return s.joinSink.Write(ctx, c)
	}
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	time.Sleep(20 * time.Millisecond)
	return errors.New("late")
}

// TestOneWriteAtATime: a generation may have to go before its last flush is
// answered. The next one's first flush waits for it: a sink has one set of
// buffers.
func TestOneWriteAtATime(t *testing.T) {
	log := newLog(3, 500)
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	lives := 0
	src.ttl = func() time.Duration {
		if lives++; lives > 6 {
			return 0
		}
		return 20 * time.Millisecond
	}
	sink := &slowSink{joinSink: newSink(spec())}
	if err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true, HandOver: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if n := sink.most.Load(); n != 1 {
		t.Errorf("%d writes at a time", n)
	}
	if got, want := sink.counts(), log.counts(t); !maps.Equal(got, want) {
		t.Fatalf("counts differ from the log's: %d rows, want %d", len(got), len(want))
	}
}
