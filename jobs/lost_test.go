package jobs

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// lossySink can go back to what it held before. If it tells, it refuses writes then, and says so in a look,
// until the ledger is read.
type lossySink struct {
	*mergeSink
	tells     bool
	restarted atomic.Bool
}

func (s *lossySink) Known(ctx context.Context) (map[int32]window.Known, error) {
	s.restarted.Store(false)
	return s.mergeSink.Known(ctx)
}

func (s *lossySink) Write(ctx context.Context, c *window.Changes) error {
	if s.restarted.Load() {
		return errGone{"started again"}
	}
	return s.mergeSink.Write(ctx, c)
}

func (s *lossySink) Coverage(ctx context.Context) (audit.Coverage, error) {
	c, err := s.mergeSink.Coverage(ctx)
	c.Restarted = s.restarted.Load()
	return c, err
}

func (s *lossySink) held() *window.Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := &window.Changes{Table: window.NewTable(spec())}
	copied.Merge(s.all)
	return copied
}

func (s *lossySink) goBack(to *window.Changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = to
	s.restarted.Store(s.tells)
}

// states returns the state of each row's sketch.
func (s *mergeSink) states() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Table.Seal()
	got := map[string]string{}
	for r := range s.all.Table.Rows {
		got[time.UnixMilli(int64(r.Window())).UTC().String()+string(r.Group(nil)[0])] = string(r.AppendState(nil, 0))
	}
	return got
}

// TestSinkGoesBack: when the sink lacks what it had acknowledged, the job reads the open chunks again, sketches
// too, and says so. It notices that by the ledger, if it looks before the next flush, and otherwise by the word
// of a sink that was started again.
func TestSinkGoesBack(t *testing.T) {
	for name, c := range map[string]struct {
		tells         bool
		lost, records int // acknowledged and then lost; in all
		pause         time.Duration
	}{
		"the ledger is behind":               {false, 200, 250, 10 * time.Second},
		"the ledger is behind by chunks":     {false, 900, 1000, 10 * time.Second},
		"started again":                      {true, 200, 250, 0},
		"started again, and chunks are gone": {true, 900, 1000, 0},
		"started again, at rest":             {true, 200, 200, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				log := newLog(1, c.records)
				src := &fakeSource{log: &fakeLog{parts: [][]event.Record{log.parts[0][:100]}}, committed: map[int32]int64{}}
				sink := &lossySink{mergeSink: newSink(spec()), tells: c.tells}
				_, stop := started(t, Config{Source: src, Sink: sink, Workers: 1, Log: slog.New(slog.NewTextHandler(&out, nil))})
				grow := func(to int) {
					src.log.set(0, log.parts[0][:to])
					time.Sleep(10*time.Second + 100*time.Millisecond)
				}
				grow(100)
				before := sink.held()
				grow(c.lost)
				sink.goBack(before)
				time.Sleep(c.pause)
				grow(c.records)
				time.Sleep(30 * time.Second)
				stop()
				whole := &lossySink{mergeSink: newSink(spec())}
				_, end := started(t, Config{Source: &fakeSource{log: log, committed: map[int32]int64{}}, Sink: whole, Workers: 1})
				time.Sleep(10 * time.Second)
				end()
				if diff := cmp.Diff(whole.counts(), sink.counts()); diff != "" {
					t.Errorf("counts: -want +got\n%s", diff)
				}
				if diff := cmp.Diff(whole.states(), sink.states()); diff != "" {
					t.Errorf("sketches: -want +got\n%s", diff)
				}
				if n := strings.Count(out.String(), "may have lost what it had acknowledged"); n != 1 {
					t.Errorf("the log says %d times that something was lost, want once:\n%s", n, &out)
				}
			})
		})
	}
}
