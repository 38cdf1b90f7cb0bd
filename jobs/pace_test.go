package jobs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/window"
)

// growing is a log that has some records in each partition at first and a hundred more
// with each second. A process reads five hundred a second of each.
type growing struct {
	*fakeSource
	began time.Time
	first int64
}

type growingGeneration struct {
	*fakeGeneration
	log growing
}

func (s growing) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	if err != nil {
		return nil, err
	}
	return growingGeneration{g.(*fakeGeneration), s}, nil
}

func (g growingGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	next := from[0]
	for {
		end := g.log.first + int64(time.Since(g.log.began)/(10*time.Millisecond))
		if to := min(next+5, end); next < to {
			for p, log := range g.s.log.parts {
				b := event.Batch{Partition: int32(p), First: next, Next: to, Records: log[next:to]}
				part := event.Part{Partition: int32(p), HighWater: end, LastStable: end, Unpack: func(yield func(*event.Batch) error) error { return yield(&b) }, Done: func() {}}
				if err := deliver(part); err != nil {
					return nil
				}
			}
			next = to
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// timedSink notes when it was written to.
type timedSink struct {
	*mergeSink
	began  time.Time
	writes []time.Duration
}

func (s *timedSink) Write(ctx context.Context, c *window.Changes) error {
	s.mu.Lock()
	s.writes = append(s.writes, time.Since(s.began))
	s.mu.Unlock()
	return s.mergeSink.Write(ctx, c)
}

// TestFlushByBacklog: while the log is far ahead there is a flush every five seconds, and
// once the process has caught up one every second.
func TestFlushByBacklog(t *testing.T) {
	const backlog, far, live, end = 20_000, 40 * time.Second, 55 * time.Second, 75 * time.Second
	log := newLog(2, backlog+100*int(end/time.Second)+100)
	synctest.Test(t, func(t *testing.T) {
		src := growing{&fakeSource{log: log, committed: map[int32]int64{}}, time.Now(), backlog}
		sink := &timedSink{mergeSink: newSink(spec()), began: time.Now()}
		_, stop := started(t, Config{Source: src, Sink: sink, Flush: time.Second})
		time.Sleep(end)
		stop()
		var behind, late int
		for _, at := range sink.writes {
			switch {
			case at < far:
				behind++
			case at >= live && at < end:
				late++
			}
		}
		// Two before the pace is known, besides the opening of the ledger.
		if most := int(far/(5*time.Second)) + 3; behind > most || behind < 5 {
			t.Errorf("%d writes in the first %v, want at most %d: %v", behind, far, most, sink.writes)
		}
		if want := int((end - live) / time.Second); late < want-1 {
			t.Errorf("%d writes from %v to %v, want one a second: %v", late, live, end, sink.writes)
		}
	})
}
