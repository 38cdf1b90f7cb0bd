package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/await"
	"weir/measures/hll"
	"weir/window"
)

func spec() *window.Spec {
	return &window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 3_600_000, Skew: 600_000,
		Chunk: 256, MaxGroups: 100,
		By:       []window.Dimension{{Name: "page", Path: "page"}},
		Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}},
	}
}

// fakeLog is a topic in memory; fakeSource gives its partitions to jobs, for a limited
// time.
type fakeLog struct {
	mu    sync.Mutex // for tests whose log grows while a job reads it
	parts [][]event.Record
}

// part returns the records of a partition by now.
func (l *fakeLog) part(p int) []event.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parts[p]
}

// set replaces the records of a partition.
func (l *fakeLog) set(p int, records []event.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts[p] = records
}

func newLog(partitions, records int) *fakeLog {
	r := rand.New(rand.NewPCG(1, 1))
	l := &fakeLog{parts: make([][]event.Record, partitions)}
	for p := range l.parts {
		for i := range records {
			now := event.Time(1_763_600_000_000 + i*10)
			l.parts[p] = append(l.parts[p], event.Record{Offset: int64(i), Time: now,
				Value: fmt.Appendf(nil, `{"ts":%d,"page":"/%d","user":%d}`, int64(now)-r.Int64N(100_000), r.IntN(20), r.IntN(500))})
		}
	}
	return l
}

// counts returns the exact answer: hits per window and page.
func (l *fakeLog) counts(t *testing.T) map[string]uint64 {
	t.Helper()
	sc, err := event.NewScanner([]string{"ts", "page"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{}
	v := make([]event.Value, 2)
	for _, p := range l.parts {
		for _, rec := range p {
			if err := sc.Scan(rec.Value, v); err != nil {
				t.Fatal(err)
			}
			ts, _ := v[0].Time(event.Millis)
			want[fmt.Sprint(ts/60_000*60_000, " ", string(v[1].Bytes))]++
		}
	}
	return want
}

type fakeSource struct {
	log    *fakeLog
	ttl    func() time.Duration // how long a generation lasts; 0: for ever
	silent bool                 // it delivers nothing
	topic  [16]byte             // the topic's id

	mu        sync.Mutex
	committed map[int32]int64
	from      map[int32]int64 // of the last fetch
}

func (s *fakeSource) Spans(context.Context) (map[int32]event.Span, error) {
	return spans(s.log), nil
}

func spans(l *fakeLog) map[int32]event.Span {
	all := map[int32]event.Span{}
	for p := range l.parts {
		all[int32(p)] = event.Span{Next: int64(len(l.part(p)))}
	}
	return all
}

func (s *fakeSource) Next(ctx context.Context) (Generation, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	g := &fakeGeneration{s: s, done: make(chan struct{})}
	if s.ttl != nil {
		if d := s.ttl(); d > 0 {
			time.AfterFunc(d, func() { close(g.done) })
		}
	}
	return g, nil
}

type fakeGeneration struct {
	s    *fakeSource
	done chan struct{}
}

func (g *fakeGeneration) Partitions() []event.Assignment {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	var as []event.Assignment
	for p := range g.s.log.parts {
		c, ok := g.s.committed[int32(p)]
		if !ok {
			c = -1
		}
		as = append(as, event.Assignment{Partition: int32(p), TopicID: g.s.topic, Committed: c, LogEnd: int64(len(g.s.log.part(p)))})
	}
	return as
}

func (g *fakeGeneration) Missing() error        { return nil }
func (g *fakeGeneration) Done() <-chan struct{} { return g.done }
func (g *fakeGeneration) Release()              {}

func (g *fakeGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	next := maps.Clone(from)
	g.s.mu.Lock()
	g.s.from = maps.Clone(from)
	g.s.mu.Unlock()
	if g.s.silent {
		clear(next)
	}
	for ctx.Err() == nil {
		moved := false
		for _, p := range slices.Sorted(maps.Keys(next)) {
			log := g.s.log.part(int(p))
			at := next[p]
			if at >= int64(len(log)) {
				continue
			}
			moved = true
			end := min(at+37, int64(len(log)))
			b := event.Batch{Partition: p, First: at, Next: end, Records: log[at:end]}
			next[p] = end
			if err := deliver(event.Part{Partition: p, HighWater: int64(len(log)), LastStable: int64(len(log)),
				Packed: oneBatch{&b}}); err != nil {
				return nil
			}
		}
		if !moved {
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
		time.Sleep(50 * time.Microsecond)
	}
	return nil
}

// A oneBatch is the records of a Part.
type oneBatch struct{ b *event.Batch }

func (o oneBatch) Unpack(yield func(*event.Batch) error) error { return yield(o.b) }
func (o oneBatch) Done()                                       {}

func (g *fakeGeneration) Commit(_ context.Context, next map[int32]int64) error {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	for p, o := range next {
		if o < g.s.committed[p] {
			return fmt.Errorf("partition %d: commit moves back from %d to %d", p, g.s.committed[p], o)
		}
		g.s.committed[p] = o
	}
	return nil
}

// mergeSink keeps the merge of everything written: the simplest sink.
type mergeSink struct {
	mu       sync.Mutex
	all      *window.Changes
	fault    func() error // before the write; with errLost, after it
	rollups  int
	complete event.Time // the greatest watermark of a rollup
}

var errLost = errors.New("the answer was lost")

// afterFirst lets the first write work, which opens the ledger, and applies
// fault to the others.
func afterFirst(fault func() error) func() error {
	opened := false
	return func() error {
		if !opened {
			opened = true
			return nil
		}
		return fault()
	}
}

func newSink(s *window.Spec) *mergeSink {
	return &mergeSink{all: &window.Changes{Table: window.NewTable(s)}}
}

func (s *mergeSink) Known(context.Context) (map[int32]window.Known, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[int32]window.Known{}
	for _, l := range s.all.Lines {
		k := l.Known()
		if old, ok := known[l.Partition]; ok {
			k = *old.With(k)
		}
		known[l.Partition] = k
	}
	return known, nil
}

func (s *mergeSink) Insert(ctx context.Context, c *window.Changes) (round uint64, err error) {
	rows := &window.Changes{Table: window.NewTable(c.Table.Spec())}
	c.Table.Copy(rows.Table, &window.Range{From: window.Oldest, Until: window.Newest})
	return 1, s.Write(ctx, rows)
}

func (s *mergeSink) Write(_ context.Context, c *window.Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.fault != nil {
		err = s.fault()
	}
	if err == nil || errors.Is(err, errLost) {
		s.all.Merge(c) // only reads c
		s.all.Sent = nil
	}
	return err
}

func (s *mergeSink) Rollup(_ context.Context, _ bool, watermark event.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rollups++
	s.complete = max(s.complete, watermark)
	return nil
}

func (s *mergeSink) Coverage(context.Context) (audit.Coverage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := audit.Coverage{Now: event.Time(time.Now().UnixMilli()), Partitions: map[int32]audit.Covered{}}
	for _, l := range s.all.Lines {
		k := c.Partitions[l.Partition]
		k.Next, k.Watermark = max(k.Next, l.Next), max(k.Watermark, l.Watermark)
		c.Partitions[l.Partition] = k
	}
	return c, nil
}

func (s *mergeSink) counts() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Table.Seal()
	got := map[string]uint64{}
	for r := range s.all.Table.Rows {
		for _, n := range r.Hits {
			got[fmt.Sprint(int64(r.Window()), " ", string(r.Group(nil)[0]))] += n
		}
	}
	return got
}

func runJob(t *testing.T, ctx context.Context, cfg Config) error {
	t.Helper()
	if cfg.Spec == nil {
		cfg.Spec = spec()
	}
	cfg.Topic = "clicks"
	cfg.Workers, cfg.Rollup = 2, 10*time.Millisecond
	if cfg.Flush == 0 {
		cfg.Flush = 5 * time.Millisecond
	}
	j, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return j.Run(ctx)
}

// started runs a job until stop is called, which fails the test if the job failed.
func started(t *testing.T, cfg Config) (j *Job, stop func()) {
	t.Helper()
	cfg.Spec, cfg.Topic = spec(), "clicks"
	j, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() { errs <- j.Run(ctx) }()
	return j, func() {
		t.Helper()
		cancel()
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// TestUntilEnd reads a log to its end, with sinks that fail in every way and
// generations that end at any time, and must count every record once.
func TestUntilEnd(t *testing.T) {
	log := newLog(5, 3000)
	want := log.counts(t)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		var mu sync.Mutex
		sink := newSink(spec())
		src := &fakeSource{log: log, committed: map[int32]int64{}}
		if seed > 0 {
			sink.fault = func() error {
				mu.Lock()
				defer mu.Unlock()
				switch r.IntN(4) {
				case 0:
					return errLost
				case 1:
					return errors.New("refused")
				}
				return nil
			}
			lives := 0
			src.ttl = func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if lives++; lives > 4 {
					return 0
				}
				return time.Duration(r.IntN(40)) * time.Millisecond
			}
		}
		err := runJob(t, t.Context(), Config{Source: src, Sink: sink, UntilEnd: true, HandOver: 300 * time.Millisecond})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got := sink.counts(); !maps.Equal(got, want) {
			t.Fatalf("seed %d: counts differ from the log's: %d rows, want %d", seed, len(got), len(want))
		}
		for p := range src.log.parts {
			if c := src.committed[int32(p)]; c != 3000 {
				t.Errorf("seed %d: partition %d committed at %d, want 3000", seed, p, c)
			}
		}
		if sink.rollups == 0 {
			t.Errorf("seed %d: no rollup", seed)
		}
		if c, _ := sink.Coverage(t.Context()); sink.complete == 0 || sink.complete != new(audit.Watermarks).Look(&c, spans(log), 0) {
			t.Errorf("seed %d: the last rollup was told that windows are complete until %d", seed, sink.complete)
		}
	}
}

// An otherSource changes what a source says of each partition.
type otherSource struct {
	*fakeSource
	change func(*event.Assignment)
}

type otherGeneration struct {
	Generation
	change func(*event.Assignment)
}

func (s otherSource) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	return otherGeneration{g, s.change}, err
}

func (g otherGeneration) Partitions() []event.Assignment {
	as := g.Generation.Partitions()
	for i := range as {
		g.change(&as[i])
	}
	return as
}

// TestStaleEnd: a generation's end of the log may be lower than the position
// that the previous owner has flushed since. That is not a truncated log.
func TestStaleEnd(t *testing.T) {
	log := newLog(3, 1000)
	sink := newSink(spec())
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	for range 2 {
		cfg := Config{Source: otherSource{src, func(a *event.Assignment) { a.LogEnd = 100 }}, Sink: sink, UntilEnd: true, Policy: window.Policy{NewEpoch: true}}
		if err := runJob(t, t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		clear(src.committed) // only the ledger has the position
	}
	if got, want := sink.counts(), log.counts(t); !maps.Equal(got, want) {
		t.Fatalf("counts differ from the log's: %d rows, want %d", len(got), len(want))
	}
}

// TestStopDrains: a job that is stopped in the middle has flushed everything
// that it read, and the next one continues there.
func TestStopDrains(t *testing.T) {
	log := newLog(3, 20_000)
	sink := newSink(spec())
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	stops := 0
	for ; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		err := runJob(t, ctx, Config{Source: &stopping{src, cancel, 100}, Sink: sink, UntilEnd: true}) // the last has no 100 left
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		known, _ := sink.Known(t.Context())
		done := true
		for p := range log.parts {
			if c := src.committed[int32(p)]; c != known[int32(p)].Next {
				t.Fatalf("stop %d: partition %d committed at %d, the ledger says %d", stops, p, c, known[int32(p)].Next)
			}
			done = done && known[int32(p)].Next == 20_000
		}
		if done {
			break
		}
	}
	if stops < 10 {
		t.Fatalf("read everything in %d stops: the test tests nothing", stops)
	}
	if got, want := sink.counts(), log.counts(t); !maps.Equal(got, want) {
		t.Fatalf("counts differ from the log's: %d rows, want %d", len(got), len(want))
	}
}

// stopping cancels the job's context after a number of parts.
type stopping struct {
	*fakeSource
	stop func()
	left int
}

type stoppingGeneration struct {
	Generation
	s *stopping
}

func (s *stopping) Next(ctx context.Context) (Generation, error) {
	g, err := s.fakeSource.Next(ctx)
	return stoppingGeneration{g, s}, err
}

func (g stoppingGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	return g.Generation.Fetch(ctx, from, func(p event.Part) error {
		if g.s.left--; g.s.left == 0 {
			g.s.stop()
		}
		return deliver(p)
	})
}

// TestStopWithoutSink: if the sink stays unreachable, a stop ends within its
// time, and the error says that records will be read again.
func TestStopWithoutSink(t *testing.T) {
	sink := newSink(spec())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink.fault = afterFirst(func() error {
		cancel() // there is something to flush
		return errors.New("connection refused")
	})
	src := &fakeSource{log: newLog(2, 5000), committed: map[int32]int64{}}
	err := runJob(t, ctx, Config{Source: src, Sink: sink, Stop: 200 * time.Millisecond})
	if !errors.Is(err, ErrUnflushed) {
		t.Fatalf("got %v, want ErrUnflushed", err)
	}
}

type fatalError struct{ error }

func (fatalError) Fatal() bool { return true }

// TestFatal: an error that will not go away by itself ends the job.
func TestFatal(t *testing.T) {
	sink := newSink(spec())
	want := fatalError{errors.New("no such column")}
	tries := 0
	sink.fault = afterFirst(func() error {
		tries++
		return fmt.Errorf("try %d: %w", tries, want)
	})
	src := &fakeSource{log: newLog(2, 5000), committed: map[int32]int64{}}
	err := runJob(t, t.Context(), Config{Source: src, Sink: sink, HandOver: 100 * time.Millisecond})
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want the sink's error", err)
	}
	if n := strings.Count(err.Error(), want.Error()); n != 1 || tries != 2 { // the last flush fails too
		t.Errorf("the error says it %d times after %d tries: %v", n, tries, err)
	}
}

// TestMemory: while the sink does not answer, the job fetches up to its
// budget and no further; when it answers again, it goes on by itself.
func TestMemory(t *testing.T) {
	sink := newSink(spec())
	var mu sync.Mutex
	down := true
	sink.fault = afterFirst(func() error {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return errors.New("down")
		}
		return nil
	})
	// Many windows and groups, so that memory grows with what is read.
	log := &fakeLog{parts: make([][]event.Record, 1)}
	for i := range 60_000 {
		now := event.Time(1_763_600_000_000 + int64(i)*1000)
		log.parts[0] = append(log.parts[0], event.Record{Offset: int64(i), Time: now, Value: fmt.Appendf(nil, `{"ts":%d,"page":"/%d","user":%d}`, now, i%90, i)})
	}
	src := &fakeSource{log: log, committed: map[int32]int64{}}
	cfg := Config{Source: src, Sink: sink, Memory: 4 << 20, UntilEnd: true}
	cfg.Spec, cfg.Topic, cfg.Workers, cfg.Flush, cfg.Rollup = spec(), "clicks", 1, 5*time.Millisecond, time.Second
	j, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() { errs <- j.Run(t.Context()) }()
	var before Status
	deadline := await.Deadline()
	for {
		time.Sleep(200 * time.Millisecond)
		s := j.Status()
		if len(s.Partitions) == 1 && s.MemoryBytes >= cfg.Memory && s.Partitions[0].Next == at(before) {
			before = s
			break
		}
		before = s
		if time.Now().After(deadline) {
			t.Fatalf("the fetch never stopped: %+v", s)
		}
	}
	if before.MemoryBytes > 2*cfg.Memory {
		t.Errorf("held %d bytes with a budget of %d", before.MemoryBytes, cfg.Memory)
	}
	if at(before) == 60_000 {
		t.Fatal("everything fitted: the test tests nothing")
	}
	mu.Lock()
	down = false
	mu.Unlock()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if got, want := sink.counts(), log.counts(t); !maps.Equal(got, want) {
		t.Fatalf("counts differ from the log's: %d rows, want %d", len(got), len(want))
	}
}

func at(s Status) int64 {
	if len(s.Partitions) == 0 {
		return -1
	}
	return s.Partitions[0].Next
}

// TestExclusive: a process does not roll up while another holds the lock;
// without a reachable lock server it does.
func TestExclusive(t *testing.T) {
	var asked atomic.Int32
	for name, want := range map[string]struct {
		lock    func(context.Context, func(context.Context) error) error
		rollups bool
	}{
		"held by another for long": {func(ctx context.Context, f func(context.Context) error) error {
			if asked.Add(1) < 20 {
				return nil
			}
			return f(ctx)
		}, true},
		"held by another": {func(context.Context, func(context.Context) error) error { return nil }, false},
		"ours":            {func(ctx context.Context, f func(context.Context) error) error { return f(ctx) }, true},
		"out of reach":    {func(context.Context, func(context.Context) error) error { return errors.New("refused") }, true},
		"none":            {nil, true},
	} {
		sink := newSink(spec())
		src := &fakeSource{log: newLog(1, 10), committed: map[int32]int64{}}
		_, stop := started(t, Config{Source: src, Sink: sink, Rollup: 5 * time.Millisecond, Exclusive: want.lock})
		if want.rollups {
			await.Until(t, func() error {
				sink.mu.Lock()
				defer sink.mu.Unlock()
				if sink.rollups < 2 {
					return fmt.Errorf("%s: %d rollups", name, sink.rollups)
				}
				return nil
			})
		} else {
			time.Sleep(100 * time.Millisecond) // time for many rollups
		}
		stop()
		// The last rollup of a job that ends is made in any case.
		if got := sink.rollups > 1; got != want.rollups {
			t.Errorf("%s: %d rollups", name, sink.rollups)
		}
	}
}
