package jobs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/await"
	"weir/window"
)

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
