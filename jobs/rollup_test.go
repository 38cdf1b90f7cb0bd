package jobs

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/event"
	"weir/window"
)

// lastingSink's first rollup lasts until some time after everything was written, and
// nothing is written before it has begun.
type lastingSink struct {
	*mergeSink
	events    uint64
	begun     chan struct{}
	once      sync.Once
	brokenOff error
}

func (s *lastingSink) Write(ctx context.Context, c *window.Changes) error {
	if c.Table.Len() > 0 {
		<-s.begun
	}
	return s.mergeSink.Write(ctx, c)
}

func (s *lastingSink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	s.once.Do(func() { close(s.begun) })
	for !all && s.brokenOff == nil {
		sum := uint64(0)
		for _, n := range s.counts() {
			sum += n
		}
		rest := time.Millisecond
		if sum == s.events {
			rest = 300 * time.Millisecond // the job sees the end of its log meanwhile
		}
		select {
		case <-ctx.Done():
			s.brokenOff = ctx.Err()
		case <-time.After(rest):
		}
		if sum == s.events {
			break
		}
	}
	return s.mergeSink.Rollup(ctx, all, watermark)
}

// TestEndDuringRollup: a rollup that runs when the end of the log is reached is not broken
// off, because all its windows would be made once more.
func TestEndDuringRollup(t *testing.T) {
	log := newLog(2, 1000)
	sink := &lastingSink{mergeSink: newSink(spec()), events: 2000, begun: make(chan struct{})}
	if err := runJob(t, t.Context(), Config{Source: &fakeSource{log: log, committed: map[int32]int64{}}, Sink: sink, UntilEnd: true, Rollup: time.Millisecond, Flush: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if sink.brokenOff != nil {
		t.Error("the rollup was broken off")
	}
}

// TestCadence plays an hour of a job, in steps of one interval, and counts its
// rollups: of some levels and of all.
func TestCadence(t *testing.T) {
	const interval = 2 * time.Second
	for name, c := range map[string]struct {
		leads     func(step int) bool
		changes   func(step int) uint64
		some, all int
	}{
		"written to all the time": {
			leads:   func(int) bool { return true },
			changes: func(step int) uint64 { return uint64(step) },
			some:    1800,
		},
		"written to all the time, another leads": {
			leads:   func(int) bool { return false },
			changes: func(step int) uint64 { return uint64(step) },
			some:    1800 / standIn,
		},
		"at rest from the start": {
			leads:   func(int) bool { return true },
			changes: func(int) uint64 { return 0 },
			some:    1, all: 12, // after 12 s, then every five minutes
		},
		"at rest, another leads": {
			leads:   func(int) bool { return false },
			changes: func(int) uint64 { return 0 },
			some:    1, all: 12,
		},
		"written to once in ten minutes": {
			leads:   func(int) bool { return true },
			changes: func(step int) uint64 { return uint64(step / 300) },
			some:    1 + 6, all: 6 * 2,
		},
		"the leader is gone after half an hour": {
			leads:   func(step int) bool { return step > 900 },
			changes: func(step int) uint64 { return uint64(step) },
			some:    900/standIn + 900,
		},
	} {
		start := time.Unix(1_700_000_000, 0)
		when := cadence{interval: interval, last: start}
		some, all := 0, 0
		for step := 1; step <= 1800; step++ {
			now := start.Add(time.Duration(step) * interval)
			s := seen{changes: c.changes(step)}
			switch roll, every := when.due(now, c.leads(step), s); {
			case roll && every:
				all++
				when.made(now, every, s)
			case roll:
				some++
				when.made(now, every, s)
			}
		}
		if some != c.some || all != c.all {
			t.Errorf("%s: %d rollups and %d of all levels, want %d and %d", name, some, all, c.some, c.all)
		}
	}
}
