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
