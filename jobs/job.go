package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

// A Source gives partitions to this process, one generation at a time.
type Source interface {
	// Next blocks until the group has divided the partitions; this process may get
	// none. Its errors are final: it retries temporary ones itself.
	Next(ctx context.Context) (Generation, error)
	// Spans returns the readable part of each partition of the topic, whichever member
	// reads it. Partitions without a leader are missing: its error then has a method
	// Missing() []int32, and the others are there.
	Spans(ctx context.Context) (map[int32]event.Span, error)
}

// A Generation is a lease on partitions. When Done closes, the owner stops
// fetching, flushes, commits and calls Release, all within the session.
type Generation interface {
	Partitions() []event.Assignment
	// Missing is an error about partitions of this process without a leader now; nil: there are
	// none. The generation ends when one of them has a leader again.
	Missing() error
	Done() <-chan struct{}
	// Fetch reads from the given offsets until ctx ends, which is no error.
	// deliver may block: that is the back-pressure.
	Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error
	// Commit tells Kafka up to which offsets everything is durable. It is
	// advisory.
	Commit(ctx context.Context, next map[int32]int64) error
	Release()
}

// A Sink merges changes into storage.
type Sink interface {
	// Known returns the ledger's entries of each partition that it has.
	Known(ctx context.Context) (map[int32]window.Known, error)
	// Insert inserts the rows of c's table, and nothing else of c. It returns the round in which they
	// are: see package rounds. A Write acknowledges them, to which they are given as Sent.
	Insert(ctx context.Context, c *window.Changes) (round uint64, err error)
	// Write makes c durable: rows first, then the ledger. After an error any part
	// of it may have been written. An error with a method Fatal() bool that
	// returns true will not go away by itself. Write bounds each of its statements
	// itself, and ends soon after ctx. There is one Write or Insert at a time; it
	// only reads c, and keeps no reference to it.
	Write(ctx context.Context, c *window.Changes) error
	// Rollup recomputes the windows written since the last call, at the levels that are due;
	// with all, at every level. It records windows that end by watermark as complete. The
	// watermark is from before the call; 0 means that it is not known.
	Rollup(ctx context.Context, all bool, watermark event.Time) error
	// Coverage returns what the ledger covers now, by the writes of all processes.
	Coverage(ctx context.Context) (audit.Coverage, error)
}

// Config says how a job runs. Spec says what it counts.
type Config struct {
	Spec   *window.Spec
	Topic  string
	Source Source
	Sink   Sink
	// Schemas finds the schemas of records, of a format that needs them.
	Schemas Schemas

	Workers   int           // default: as many as CPUs may be used
	Flush     time.Duration // between flushes; default 1 s
	Zero      time.Time     // flushes and looks come at the multiples of their intervals since then, so jobs with the same Zero share statements; default: when New was called
	Rollup    time.Duration // between rollups; default 2 s
	Memory    int64         // bytes the job may hold; default 1 GiB
	HandOver  time.Duration // for the last flush when partitions are taken away; default 7 s, below the session
	Stop      time.Duration // for the last flush when asked to stop; default 15 s
	Look      time.Duration // between looks at what the ledger covers of the log, of the process that leads: see watch; default 3 s
	WaitLimit time.Duration // how long records of a partition may wait without a flush of that partition, before it is reported; default 1 min, above session + Flush + an insert
	Open      time.Duration // how long an open transaction may keep records from being read before it is reported, and how long UntilEnd waits for it, or for a schema; default 1 min, the producers' default of transaction.timeout.ms
	Policy    window.Policy
	// Exclusive, if set, runs f unless another process is rolling this job up now.
	// It only saves work: if the lock is lost, or two processes hold it, the same
	// rollup is made twice.
	Exclusive func(ctx context.Context, f func(context.Context) error) error
	// Trouble, if set, is the reason why the source does not give this process all
	// the partitions that it should have; empty: no known reason.
	Trouble  func() string
	UntilEnd bool // read to the ends that the logs have at the start, flush, roll up, return; ErrUnread if an open transaction, a schema or a leader that is away prevents that
	Log      *slog.Logger
	// Outages reports temporary failures; nil means a Reporter of the job's own,
	// which writes to Log. Jobs that share a Reporter report one outage together.
	Outages *outage.Reporter
}

func (c *Config) setDefaults() {
	or := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory <= 0 {
		c.Memory = 1 << 30
	}
	or(&c.Flush, time.Second)
	if c.Zero.IsZero() {
		c.Zero = time.Now()
	}
	or(&c.Rollup, 2*time.Second)
	or(&c.Look, 3*time.Second)
	or(&c.WaitLimit, time.Minute)
	or(&c.Open, time.Minute)
	or(&c.HandOver, 7*time.Second)
	or(&c.Stop, 15*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Outages == nil {
		c.Outages = outage.New(c.Log)
	}
	c.Log = c.Log.With("job", c.Spec.Job)
}

// ErrUnflushed says that the job stopped before its last changes were durable.
// They will be read again from the log; nothing is lost.
var ErrUnflushed = errors.New("stopped with unflushed changes; they will be read again")

// A Job is one job of this process.
type Job struct {
	cfg    Config
	status board

	current atomic.Pointer[run]   // the run that answers live reads
	onFlush func(*window.Changes) // see OnFlush

	// The operations that are retried, for reports of outages.
	reads, opens, flushes, rollups, commits *outage.Source

	back atomic.Pointer[map[int32]int64] // where to begin at the latest, after the sink lost something: see watch.goBack

	unread error // UntilEnd: what was not read, and why; only Run uses it

	// writing is held during a write. A run without time left does not wait for its last write,
	// which ends later; the first write of the next run waits for it.
	writing sync.Mutex
}

// New makes a job; Run runs it.
func New(cfg Config) (*Job, error) {
	cfg.setDefaults()
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	j := &Job{cfg: cfg}
	of := func(s outage.Subject, what string) *outage.Source {
		return cfg.Outages.Of(s, what+" of job "+cfg.Spec.Job)
	}
	j.reads, j.opens = of(outage.ClickHouse, "reading the ledger"), of(outage.ClickHouse, "opening the ledger")
	j.flushes, j.rollups = of(outage.ClickHouse, "flush"), of(outage.ClickHouse, "rollup")
	j.commits = of(outage.Kafka, "commit")
	j.status.init(&cfg)
	return j, nil
}

// Run reads, counts and flushes until ctx ends, then drains. It returns nil if
// everything counted is durable and ErrUnflushed if not. Any other error means
// that it cannot continue without a decision by a person.
func (j *Job) Run(ctx context.Context) (err error) {
	j.status.joining()
	defer func() { j.status.stopped(err) }()
	var ends map[int32]event.Span
	if j.cfg.UntilEnd {
		var err error
		if ends, err = j.cfg.Source.Spans(ctx); err != nil && !missing(err) {
			return stopped(ctx, fmt.Errorf("job %s: where the log ends: %w", j.cfg.Spec.Job, err))
		}
	}
	watch := j.startWatch()
	defer watch.stop()
	rollups := j.startRollups(ctx, watch)
	defer rollups.stop()
	for {
		gen, err := j.cfg.Source.Next(ctx)
		if err != nil {
			return stopped(ctx, fmt.Errorf("job %s: %w", j.cfg.Spec.Job, err))
		}
		done, err := j.generation(ctx, gen, ends)
		j.status.joining()
		switch {
		case err != nil:
			return stopped(ctx, err)
		case done || ctx.Err() != nil:
			rollups.stop()
			watch.stop()
			return errors.Join(j.lastRollup(ctx, watch), j.unread)
		}
	}
}

// stopped replaces the error that a cancelled context causes by nil.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// generation runs one generation from the plan to the release. It reports
// whether the job is done (UntilEnd).
func (j *Job) generation(ctx context.Context, gen Generation, ends map[int32]event.Span) (done bool, err error) {
	defer gen.Release()
	r, err := j.newRun(ctx, gen, ends)
	if err == nil {
		defer r.stopWaits()
		err = r.claim(ctx)
	}
	switch {
	case errors.Is(err, errEnded):
		return false, nil
	case err != nil:
		return false, err
	}
	return r.loop(ctx)
}
