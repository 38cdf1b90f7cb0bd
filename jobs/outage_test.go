package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

// awaySink fails all operations while it is away.
type awaySink struct {
	*mergeSink
	away                   *atomic.Bool
	writes, rolled, looked *atomic.Int64 // operations that failed while it was away
}

var errAway = errors.New("connection refused")

func (s awaySink) Write(ctx context.Context, c *window.Changes) error {
	if s.away.Load() {
		s.writes.Add(1)
		return errAway
	}
	return s.mergeSink.Write(ctx, c)
}

func (s awaySink) Insert(ctx context.Context, c *window.Changes) (uint64, error) {
	if s.away.Load() {
		s.writes.Add(1)
		return 0, errAway
	}
	return s.mergeSink.Insert(ctx, c)
}

func (s awaySink) Rollup(ctx context.Context, all bool, watermark event.Time) error {
	if s.away.Load() {
		s.rolled.Add(1)
		return errAway
	}
	return s.mergeSink.Rollup(ctx, all, watermark)
}

func (s awaySink) Coverage(ctx context.Context) (audit.Coverage, error) {
	if s.away.Load() {
		s.looked.Add(1)
		return audit.Coverage{}, errAway
	}
	return s.mergeSink.Coverage(ctx)
}

// slowly delivers a record a second, and sleeps in between.
type slowly struct{ *fakeSource }

type slowGeneration struct{ *fakeGeneration }

func (s slowly) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	if err != nil {
		return nil, err
	}
	return slowGeneration{g.(*fakeGeneration)}, nil
}

func (g slowGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	log := g.s.log.part(0)
	for at := from[0]; at < int64(len(log)); at++ {
		b := event.Batch{First: at, Next: at + 1, Records: log[at : at+1]}
		if err := deliver(event.Part{HighWater: at + 1, LastStable: at + 1, Packed: oneBatch{&b}}); err != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	<-ctx.Done()
	return nil
}

// TestOutage: eight jobs on a sink that is unreachable for 150 s write four
// lines: when the outage begins, once a minute, when it is over. Rollups pause
// as flushes do.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		outages := outage.New(log)
		var away atomic.Bool
		var writes, rolled, looked atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		errs := make(chan error)
		const jobs = 8
		for i := range jobs {
			s := spec()
			s.Job = fmt.Sprintf("j%d", i)
			src := slowly{&fakeSource{log: newLog(1, 1000), committed: map[int32]int64{}}}
			sink := awaySink{newSink(s), &away, &writes, &rolled, &looked}
			j, err := New(Config{Spec: s, Topic: "clicks", Source: src, Sink: sink, Workers: 1, Log: log, Outages: outages})
			if err != nil {
				t.Fatal(err)
			}
			go func() { errs <- j.Run(ctx) }()
		}
		time.Sleep(10 * time.Second)
		if out.Len() > 0 {
			t.Fatalf("all is well, and the log says\n%s", &out)
		}
		away.Store(true)
		time.Sleep(150 * time.Second)
		away.Store(false)
		time.Sleep(20 * time.Second)
		stop()
		for range jobs {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		want := []string{outage.ClickHouse.Begins, outage.ClickHouse.GoesOn, outage.ClickHouse.GoesOn, outage.ClickHouse.Ends}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), &out)
		}
		for i, l := range lines {
			if !strings.Contains(l, want[i]) {
				t.Errorf("line %d: %s\nwant %s", i, l, want[i])
			}
		}
		if end := lines[3]; !strings.Contains(end, fmt.Sprintf("failures=%d", writes.Load()+rolled.Load()+looked.Load())) || !strings.Contains(end, "lasted=2m3") && !strings.Contains(end, "lasted=2m4") {
			t.Errorf("%d writes, %d rollups and %d looks failed in about 150 s, and the log says %s", writes.Load(), rolled.Load(), looked.Load(), end)
		}
		// One rollup every 2 s would be 75 for each job.
		if n := rolled.Load() / jobs; n < 10 || n > 40 {
			t.Errorf("%d rollups a job were tried in 150 s", n)
		}
	})
}

// longSink makes a flush of several statements, each of which takes a while.
type longSink struct {
	*mergeSink
	statements int
	each       time.Duration
}

func (s longSink) Write(ctx context.Context, c *window.Changes) error {
	for range s.statements {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.each):
		}
	}
	return s.mergeSink.Write(ctx, c)
}

// TestLongFlush: a flush ends, however many statements it takes. If the job is to
// stop meanwhile, it does so within its time.
func TestLongFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{log: newLog(1, 1000), committed: map[int32]int64{}}
		const stop = 15 * time.Second
		sink := longSink{newSink(spec()), 20, 4 * time.Second}
		j, err := New(Config{Spec: spec(), Topic: "clicks", Source: src, Sink: sink, Workers: 1, Stop: stop})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- j.Run(ctx) }()
		time.Sleep(5 * time.Minute) // the claim is a write, and so are the records
		src.mu.Lock()
		got := src.committed[0]
		src.mu.Unlock()
		if got != 1000 {
			t.Errorf("%d of 1000 records are durable after minutes: the flush does not end", got)
		}
		src.log.set(0, newLog(1, 1500).parts[0])
		time.Sleep(10 * time.Second)
		end()
		began := time.Now()
		if err := <-ended; !errors.Is(err, ErrUnflushed) {
			t.Errorf("stopped in the middle of a flush: %v, want %v", err, ErrUnflushed)
		}
		if took := time.Since(began); took > 2*stop { // of the flush, and of the last rollup
			t.Errorf("the stop took %v, and has %v", took, stop)
		}
	})
}
