package jobs

import (
	"context"
	"fmt"
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

// tardySink takes ten seconds for each write, and notes how many rows it has.
type tardySink struct {
	*mergeSink
	rows []int
}

func (s *tardySink) Write(ctx context.Context, c *window.Changes) error {
	time.Sleep(10 * time.Second)
	s.mu.Lock()
	s.rows = append(s.rows, c.Table.Len())
	s.mu.Unlock()
	return s.mergeSink.Write(ctx, c)
}

// TestFlushByRows: while the log is ahead, no more rows are counted than make a flush,
// however long the sink takes to store the ones before.
func TestFlushByRows(t *testing.T) {
	const records = 3*flushRows + flushRows/2
	log := &fakeLog{parts: make([][]event.Record, 1)}
	for i := range records { // each has a row of its own
		now := event.Time(1_763_600_000_000 + i*10)
		log.parts[0] = append(log.parts[0], event.Record{Offset: int64(i), Time: now, Value: fmt.Appendf(nil, `{"ts":%d,"page":"/%d","user":1}`, now, i)})
	}
	synctest.Test(t, func(t *testing.T) {
		sink := &tardySink{mergeSink: newSink(spec())}
		cfg := Config{Source: &fakeSource{log: log, committed: map[int32]int64{}}, Sink: sink, UntilEnd: true, Flush: time.Second}
		cfg.Spec = spec()
		cfg.Spec.MaxGroups = int(cfg.Spec.Chunk)
		if err := runJob(t, t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range sink.rows {
			sum += n
			if most := flushRows + 100*37; n > most { // what waits in queues comes on top
				t.Errorf("a write of %d rows, want at most %d", n, most)
			}
		}
		if sum != records {
			t.Errorf("%d rows of %d records", sum, records)
		}
	})
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
		// On a busy machine a flush sometimes falls on the next second: 18 of 20 were seen. One in five seconds would be four.
		if want := int((end - live) / time.Second); late < want/2 {
			t.Errorf("%d writes from %v to %v, want one a second: %v", late, live, end, sink.writes)
		}
	})
}
