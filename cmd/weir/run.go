package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"weir/config"
	"weir/ingest"
	"weir/internal/outage"
	"weir/jobs"
	"weir/jobs/redislock"
	httpserver "weir/serve/http"
	"weir/serve/live"
	respserver "weir/serve/redis"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

func runCommand() *cobra.Command {
	var until string
	var newEpoch bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the jobs against the configured Kafka and ClickHouse",
		Long: `Run the jobs of the configuration until SIGTERM or ctrl-C. Then weir flushes the
last changes, commits the offsets, and exits with 0.

The tables must exist: weir migrate creates and extends them.`,
		Example: "  weir run -c weir.yaml\n  weir run -c weir.yaml --until end   # a backfill",
		RunE: func(c *cobra.Command, _ []string) error {
			if until != "" && until != "end" {
				return &exit{exitUsage, fmt.Errorf("--until %s: only `end` is known", until), ""}
			}
			cfg, _, err := loadConfig(c, config.Options{})
			if err != nil {
				return err
			}
			log := newLog(c.ErrOrStderr(), cfg.Log)
			keepTo(int64(cfg.Memory))
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(garbagePercent)
			}
			return runJobs(c.Context(), cfg, runOptions{untilEnd: until == "end", newEpoch: newEpoch, log: log})
		},
	}
	configFlags(c)
	c.Flags().StringVar(&until, "until", "", "end: read to where the logs end now, flush, roll up, exit 0")
	c.Flags().BoolVar(&newEpoch, "new-epoch", false, "a topic was deleted and created again: count the new one too, beside the old counts. If it is the same topic and was truncated, its remaining records are counted twice; to count them once, raise the job's version instead")
	return c
}

// garbagePercent is by how many percent the heap may grow before garbage is collected. Counting makes no garbage for an
// event, and what it keeps has few pointers, so collections are few and short. GOGC of the environment wins.
const garbagePercent = 25

type runOptions struct {
	untilEnd bool
	newEpoch bool
	log      *slog.Logger
	http     net.Listener        // nil: listen as configured
	resp     net.Listener        // nil: listen as configured, or not at all
	locks    *redislock.Locks    // nil: no rollup lock
	owner    string              // the name of this process at the lock
	outages  *outage.Reporter    // of all jobs; nil: runJobs makes one
	zero     time.Time           // of the flushes and looks of all jobs: see jobs.Config; runJobs sets it
	process  *httpserver.Process // nil: weir up has not started this process
}

// rollupLease is how long the rollup lock of a killed process lasts. It is
// extended while a rollup takes longer.
const rollupLease = 30 * time.Second

// exclusive returns the rollup lock of one job, or nil.
func (o *runOptions) exclusive(cfg *config.Config, j *config.Job) func(context.Context, func(context.Context) error) error {
	if o.locks == nil {
		return nil
	}
	return func(ctx context.Context, f func(context.Context) error) error {
		err := o.locks.Do(ctx, "weir:rollup:"+cfg.ClickHouse.Database+"."+j.Name, o.owner, rollupLease, func(ctx context.Context, _ redislock.Lease) error { return f(ctx) })
		if errors.Is(err, redislock.ErrHeld) {
			return nil // another process has the lock
		}
		return err
	}
}

// listen opens the listeners that the caller has not opened.
func (o *runOptions) listen(cfg *config.Config) (err error) {
	if o.http == nil {
		if o.http, err = (place{addr: cfg.HTTP.Listen, key: "http.listen"}).listen(); err != nil {
			return err
		}
	}
	if o.resp == nil && cfg.RESP.Listen != "" {
		if o.resp, err = (place{addr: cfg.RESP.Listen, key: "resp.listen"}).listen(); err != nil {
			return errors.Join(err, o.http.Close())
		}
	}
	return nil
}

// announce says that the process runs, and where it listens.
func (o *runOptions) announce(cfg *config.Config, jobs int, version string) {
	at := []any{"version", version, "jobs", jobs, "http", o.http.Addr().String()}
	if o.resp != nil {
		at = append(at, "resp", o.resp.Addr().String())
	}
	o.log.Info("weir runs", append(at, "kafka", cfg.Kafka.Brokers, "clickhouse", cfg.ClickHouse.Where())...)
}

// lockPool connects to the server that holds the rollup lock, one connection at
// a time. A rollup does not wait for it for longer than a second.
func lockPool(cfg *config.Config) *redis.Pool {
	return &redis.Pool{MaxIdle: 1, IdleTimeout: time.Minute, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", cfg.Rollup.Lock, redis.DialPassword(cfg.Rollup.LockPassword.Reveal()),
			redis.DialConnectTimeout(time.Second), redis.DialReadTimeout(time.Second), redis.DialWriteTimeout(time.Second))
	}}
}

// runJobs runs every job of the configuration until ctx ends, or until no job can
// go on.
func runJobs(ctx context.Context, cfg *config.Config, o runOptions) error {
	client, err := sinkClient(cfg, o.log)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := clickhouseService(cfg).reach(ctx, o.log, time.Duration(cfg.ClickHouse.ConnectTimeout), client.Ping); err != nil {
		return err
	}
	if cfg.Rollup.Lock != "" {
		pool := lockPool(cfg)
		defer pool.Close()
		host, _ := os.Hostname()
		o.locks, o.owner = redislock.New(pool), fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	var closers []io.Closer
	defer func() {
		for _, c := range closers {
			_ = c.Close() // everything is durable: this only closes connections
		}
	}()
	var all []*jobs.Job
	sinks := map[string]*clickhouse.Sink{}
	if o.outages == nil {
		o.outages = outage.New(o.log)
	}
	o.zero = time.Now()
	scratch, counting := budgets(cfg, o.resp != nil)
	windows := live.New(live.Config{Now: time.Now, Memory: counting, Outages: o.outages})
	audit := &auditor{log: o.log, outages: o.outages, every: time.Duration(cfg.Audit.Interval), private: cfg.HTTP.K > 0}
	for i := range cfg.Jobs {
		j, sink, src, err := newJob(ctx, cfg, &cfg.Jobs[i], client, counting/int64(len(cfg.Jobs)), o)
		if err != nil {
			return err
		}
		closers = append(closers, src)
		all = append(all, j)
		windows.Add(j, sink)
		sinks[j.Spec().Job] = sink
		audit.jobs = append(audit.jobs, auditedJob{auditJob(&cfg.Jobs[i], j.Spec()), sink, src.Spans})
	}
	build := buildInfo()
	web := &httpserver.Server{Jobs: all, Windows: windows, Audit: audit.last, Token: cfg.HTTP.Token.Reveal(), Log: o.log, Build: httpserver.Build{Version: build.Version, Revision: build.Revision, Go: build.Go}}
	connections, clients := connectionLimits(o.log, len(all))
	web.Connections = connections
	web.K, web.SQL, web.IDs, web.Rollups = cfg.HTTP.K, statements(sinks), views(sinks), views(sinks)
	web.Dead, web.Process = deadLetters(sinks), o.process
	if err := o.listen(cfg); err != nil {
		return err
	}
	o.announce(cfg, len(all), build.Version)

	// The servers that answer questions about the jobs end after the last job.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var servers errgroup.Group
	serveOn := func(what string, serve func() error) {
		servers.Go(func() error {
			err := serve()
			if err != nil { // log it now, because the jobs continue
				o.log.Error(what+" stopped", "error", err)
			}
			return err
		})
	}
	var resp *respserver.Server
	if o.resp != nil {
		resp = respserver.New(respserver.Config{
			Password: cfg.RESP.Password.Reveal(), ReadOnly: cfg.RESP.ReadOnly, Memory: scratch,
			Windows: windows, Clients: clients, Log: o.log,
		})
		web.Redis = o.resp.Addr().String()
		web.RESP = func() httpserver.RESP { return httpserver.RESP(resp.Stats()) }
	}
	serveOn("http", func() error { return web.Serve(serving, o.http) })
	servers.Go(func() error { audit.run(serving); return nil })
	if o.resp != nil {
		serveOn("resp", func() error { return resp.Serve(serving, o.resp) })
	}
	err = runAll(ctx, all, o.log)
	stopServing()
	return errors.Join(err, servers.Wait())
}

// budgets divides memory between the scratch keys of Redis clients, if there is a
// listener for them, and the counting: windows and buffers of all jobs. The memory
// held for clients is taken from both.
func budgets(cfg *config.Config, listens bool) (scratch int, counting int64) {
	if !listens && cfg.RESP.Listen == "" {
		return 0, int64(cfg.Memory)
	}
	share := cmp.Or(cfg.RESP.Memory, cfg.Memory/4)
	return int(share), int64(cfg.Memory-share) - int64(respserver.HeldFor(int(share)))
}

// runAll runs the jobs until the last has ended. If a job cannot go on, the others
// continue; the log, the status and /readyz say so at once, and runAll returns the
// error at the end.
func runAll(ctx context.Context, all []*jobs.Job, log *slog.Logger) error {
	failures := make([]error, len(all))
	var running sync.WaitGroup
	for i, j := range all {
		running.Go(func() {
			failures[i] = j.Run(ctx)
			if err := failures[i]; err != nil && ctx.Err() == nil && len(all) > 1 {
				_, hint := classify(err)
				log.Error("a job has stopped; the other jobs go on without it", "job", j.Status().Job, "error", err, "hint", hint)
			}
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// newJob makes one job, which may hold memory bytes.
func newJob(ctx context.Context, cfg *config.Config, j *config.Job, client *clickhouse.Client, memory int64, o runOptions) (*jobs.Job, *clickhouse.Sink, *ingest.Source, error) {
	s := j.Spec()
	sink, err := tables(ctx, cfg, j.Stored(s), client, o.log)
	if err != nil {
		return nil, nil, nil, err
	}
	id, err := databaseID(ctx, cfg, client, o.log)
	if err != nil {
		return nil, nil, nil, err
	}
	src, err := source(cfg, j, database(cfg, id), o.log.With("job", j.Name), o.outages, !o.untilEnd)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := kafkaService(cfg.Kafka.Brokers, cfg.Kafka.TLS.Enabled).reach(ctx, o.log, time.Duration(cfg.Kafka.ConnectTimeout), src.Ping); err != nil {
		return nil, nil, nil, errors.Join(err, src.Close())
	}
	schemas, _, err := schemasOf(cfg, j, s)
	if err != nil {
		return nil, nil, nil, errors.Join(err, src.Close())
	}
	if err := checkLost(ctx, cfg, s, j.Place); err != nil {
		return nil, nil, nil, errors.Join(err, src.Close())
	}
	describe, cancel := context.WithTimeout(ctx, checkTimeout)
	if t, err := src.Describe(describe); err == nil && t.Compacted { // without the right to describe, weir runs without the warning
		o.log.Warn(compactedTopic, "job", j.Name, "topic", j.Topic)
	}
	cancel()
	job, err := jobs.New(jobs.Config{
		Spec: s, Topic: j.Topic, Source: src, Sink: sink, Schemas: schemas,
		Workers: cfg.Workers,
		Flush:   time.Duration(cfg.Flush.Interval), Zero: o.zero, Rollup: time.Duration(cfg.Rollup.Interval),
		Memory:    memory,
		HandOver:  time.Duration(cfg.Kafka.Session) * 7 / 10,
		Stop:      time.Duration(cfg.Flush.StopTimeout),
		WaitLimit: waitLimit(cfg),
		Exclusive: o.exclusive(cfg, j),
		Policy:    window.Policy{SkipLost: cfg.Kafka.OnDataLoss == "skip", NewEpoch: o.newEpoch},
		UntilEnd:  o.untilEnd,
		Log:       o.log,
		Outages:   o.outages,
		Trouble:   src.Trouble,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, src.Close())
	}
	return job, sink, src, nil
}

// tables compares the tables with what the job needs.
func tables(ctx context.Context, cfg *config.Config, j schema.Job, client *clickhouse.Client, log *slog.Logger) (*clickhouse.Sink, error) {
	sink, err := answered(ctx, cfg, log, func(ctx context.Context) (*clickhouse.Sink, error) { return client.Job(ctx, j) })
	if err != nil {
		return nil, err
	}
	for _, note := range sink.Notes {
		log.Warn(note)
	}
	return sink, nil
}

// databaseID returns the unique id of the database.
func databaseID(ctx context.Context, cfg *config.Config, client *clickhouse.Client, log *slog.Logger) (string, error) {
	return answered(ctx, cfg, log, client.ID)
}

// answered calls ask until ClickHouse answers. It waits, as reach does, also for a server
// that becomes unreachable meanwhile, and returns permanent errors at once.
func answered[T any](ctx context.Context, cfg *config.Config, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	var answer T
	var refused error
	err := clickhouseService(cfg).reach(ctx, log, time.Duration(cfg.ClickHouse.ConnectTimeout), func(ctx context.Context) error {
		a, err := ask(ctx)
		var passing *wire.Error
		if errors.As(err, &passing) && !passing.Fatal() {
			return err
		}
		answer, refused = a, err
		return nil
	})
	return answer, cmp.Or(err, refused)
}

// connected returns the configuration of a command for the tables, and a connection to a
// ClickHouse that answers.
func connected(c *cobra.Command) (*config.Config, *clickhouse.Client, error) {
	cfg, _, err := loadConfig(c, config.Options{})
	if err != nil {
		return nil, nil, err
	}
	log := newLog(c.ErrOrStderr(), cfg.Log)
	client, err := sinkClient(cfg, log)
	if err != nil {
		return nil, nil, err
	}
	if err := clickhouseService(cfg).reach(c.Context(), log, time.Duration(cfg.ClickHouse.ConnectTimeout), client.Ping); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return cfg, client, nil
}
