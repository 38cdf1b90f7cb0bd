package jobs

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/window"
)

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

// trickling delivers a part every tenth of a second, and nothing is behind it.
type trickling struct{ *fakeSource }

type tricklingGeneration struct{ Generation }

func (s trickling) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	return tricklingGeneration{g}, err
}

func (g tricklingGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	return g.Generation.Fetch(ctx, from, func(p event.Part) error {
		time.Sleep(100 * time.Millisecond)
		p.LastStable = p.Packed.(oneBatch).b.Next
		return deliver(p)
	})
}

// writesSink counts how often rows were inserted, and how often changes were made durable.
type writesSink struct {
	*mergeSink
	inserts, writes atomic.Int64
}

func (s *writesSink) Insert(ctx context.Context, c *window.Changes) (uint64, error) {
	s.inserts.Add(1)
	return s.mergeSink.Insert(ctx, c)
}

func (s *writesSink) Write(ctx context.Context, c *window.Changes) error {
	s.writes.Add(1)
	return s.mergeSink.Write(ctx, c)
}

// TestLedgerEveryThirdFlush: a job that keeps up with its log flushes rows every second, and makes them durable
// every three. A stop leaves nothing undone.
func TestLedgerEveryThirdFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, log := &writesSink{mergeSink: newSink(spec())}, newLog(1, 37*300)
		src := &fakeSource{log: log, committed: map[int32]int64{}}
		j, stop := started(t, Config{Source: trickling{src}, Sink: sink, Zero: time.Now()})
		time.Sleep(5 * time.Second) // until it knows its pace
		synctest.Wait()
		sink.inserts.Store(0)
		sink.writes.Store(0)
		time.Sleep(9*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if inserts, writes := sink.inserts.Load(), sink.writes.Load(); inserts != 6 || writes != 3 {
			t.Errorf("in nine seconds, rows were inserted %d times, and changes made durable %d times", inserts, writes)
		}
		counted, there := j.Status().Records["counted"], uint64(0)
		for _, n := range sink.counts() {
			there += n
		}
		if ahead := there - counted; ahead < 300 || ahead > 2*10*37 {
			t.Errorf("%d events are there, %d durable", there, counted)
		}
		stop()
		known, _ := sink.Known(t.Context())
		if next := known[0].Next; src.committed[0] != next || next < 37*143 {
			t.Errorf("stopped after 14.5 s: %d records are durable, %d committed; want some %d", next, src.committed[0], 37*144)
		}
	})
}
