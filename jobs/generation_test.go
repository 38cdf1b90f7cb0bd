package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/window"
)

// slowSink answers late, even after its context has ended, and counts how many
// writes it has at the same time.
type slowSink struct {
	*mergeSink
	now, most atomic.Int32
	writes    atomic.Int32
}

func (s *slowSink) Write(ctx context.Context, c *window.Changes) error {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	if n := s.writes.Add(1); n == 1 || n > 9 { // the first opens the ledger
		return s.mergeSink.Write(ctx, c)
	}
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	time.Sleep(20 * time.Millisecond)
	return errors.New("late")
}

// TestOneWriteAtATime: a generation may end before its last write is answered.
// The first write of the next generation waits for it, because a sink has one set
// of buffers.
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
	sink := &slowSink{mergeSink: newSink(spec())}
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

// trickle delivers a part only when everything before it is flushed.
type trickle struct{ *fakeSource }

type trickling struct{ Generation }

func (s trickle) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	return trickling{g}, err
}

func (g trickling) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	return g.Generation.Fetch(ctx, from, func(p event.Part) error {
		time.Sleep(20 * time.Millisecond)
		return deliver(p)
	})
}

// onceSource has partitions once, and never again.
type onceSource struct {
	*fakeSource
	once sync.Once
}

func (s *onceSource) Next(ctx context.Context) (g Generation, err error) {
	s.once.Do(func() { g, err = s.fakeSource.Next(ctx) })
	if g == nil && err == nil {
		<-ctx.Done()
		err = ctx.Err()
	}
	return g, err
}

// TestStandby: the status of a process that waits for partitions says so. The
// process is not stuck, and does not report the partitions that it once had:
// their present owner does.
func TestStandby(t *testing.T) {
	src := &onceSource{fakeSource: &fakeSource{log: newLog(1, 10), committed: map[int32]int64{}, ttl: func() time.Duration { return 20 * time.Millisecond }}}
	j, stop := started(t, Config{Source: src, Sink: newSink(spec()), Flush: 5 * time.Millisecond})
	await.Until(t, func() error {
		if s := j.Status(); s.Generations == 0 || s.State != "joining" || len(s.Partitions) > 0 {
			return fmt.Errorf("state %q with %d partitions, want joining with none", s.State, len(s.Partitions))
		}
		return nil
	})
	stop()
}

// deadSink has an empty ledger, and never answers a write.
type deadSink struct{ *mergeSink }

func (deadSink) Write(ctx context.Context, _ *window.Changes) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestLeftBeforeClaimed: a process that loses its partitions before the claim is
// written releases them at once. It has read no record of them, so it need not
// wait for the sink, and the group waits for the release.
func TestLeftBeforeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{log: newLog(1, 10), committed: map[int32]int64{}, ttl: func() time.Duration { return 20 * time.Millisecond }}
		j, stop := started(t, Config{Source: src, Sink: deadSink{newSink(spec())}})
		time.Sleep(time.Second)
		if n := j.Status().Generations; n < 40 {
			t.Errorf("%d generations in a second, each of 20 ms", n)
		}
		stop()
	})
}
