package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"weir/internal/config"
	"weir/internal/local"
	"weir/sinks/clickhouse"
)

// upTopics are what the presets read.
var upTopics = []string{"clicks", "locations"}

const upPartitions = 4

func upCommand() *cobra.Command {
	var data string
	var rate int
	var noGen, newEpoch bool
	c := &cobra.Command{
		Use:   "up",
		Short: "Broker, engine, jobs and traffic in one go; ctrl-C drains",
		Long: `Start everything on this machine with nothing else installed: a broker that
speaks the Kafka protocol, the ClickHouse engine, the jobs of the clicks and
locations presets (or those of -c), and a generator. What was counted stays in
--data: started again, it goes on where it was.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if rate < 1 {
				return &exit{exitUsage, fmt.Errorf("--rate %d: want at least 1 event per second", rate), ""}
			}
			o := config.Options{}
			if given, _ := c.Flags().GetString("config"); given == "" {
				o.Presets = upTopics
			}
			cfg, err := loadUp(c, o)
			if err != nil {
				return err
			}
			u := &up{
				cfg: cfg, data: data, rate: rate, gen: !noGen, newEpoch: newEpoch,
				out: c.OutOrStdout(), err: c.ErrOrStderr(), log: newLog(c.ErrOrStderr(), cfg.Log),
			}
			return u.run(c.Context())
		},
	}
	configFlags(c)
	c.Flags().StringVar(&data, "data", "weir-data", "directory of the broker's log and the engine's tables")
	c.Flags().IntVar(&rate, "rate", 2000, "generated click events per second; locations come at a quarter of it")
	c.Flags().BoolVar(&noGen, "no-gen", false, "generate no traffic; produce your own to the printed address")
	c.Flags().BoolVar(&newEpoch, "new-epoch", false, "a topic was deleted and made again: count it anew beside what was counted before")
	return c
}

// loadUp loads the configuration, quiet unless somebody asked for a log: the
// table is what `up` has to say.
func loadUp(c *cobra.Command, o config.Options) (*config.Config, error) {
	if len(o.Presets) > 0 {
		// The presets are the whole configuration: a weir.yaml that happens
		// to lie here belongs to `weir run`.
		o.Flags, o.Env = c.Flags(), os.Environ()
		cfg, origins, err := config.Load(o)
		if err == nil && origins.Of("log.level").Source == config.FromDefault {
			cfg.Log.Level = "warn"
		}
		return cfg, err
	}
	cfg, _, err := loadConfig(c, o)
	return cfg, err
}

// up is one run of everything.
type up struct {
	cfg      *config.Config
	data     string
	rate     int
	gen      bool
	newEpoch bool
	out, err io.Writer
	log      *slog.Logger
}

func (u *up) step(name, format string, args ...any) {
	fmt.Fprintf(u.out, "%-9s %s\n", name, fmt.Sprintf(format, args...))
}

func (u *up) run(ctx context.Context) (err error) {
	lib, err := local.FindEngine()
	if err != nil {
		return &exit{exitUnavailable, err, ""}
	}
	if err := os.MkdirAll(u.data, 0o755); err != nil {
		return err
	}
	// The parts outlive ctx: the jobs drain into them first.
	parts, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()

	began := time.Now()
	broker, err := orFree(u, "127.0.0.1:9092", func(addr string) (*local.Broker, error) {
		return local.StartBroker(parts, local.BrokerConfig{
			Listen: addr, Data: filepath.Join(u.data, "broker"),
			Topics: localTopics(u.topics(), upPartitions), Log: u.log,
		})
	})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	u.step("broker", "%s   (Kafka protocol, in this process, log in %s)", broker.Addr(), filepath.Join(u.data, "broker"))

	engine, err := orFree(u, "127.0.0.1:8123", func(addr string) (*local.Engine, error) {
		return local.StartEngine(parts, local.EngineConfig{Listen: addr, Data: filepath.Join(u.data, "engine"), Library: lib, Log: u.log})
	})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	u.step("engine", "%s   (ClickHouse, child process %d, tables in %s)", engine.URL(), engine.Pid(), filepath.Join(u.data, "engine"))

	web, err := orFree(u, u.cfg.HTTP.Listen, func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) })
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	defer web.Close() // again, if the jobs came to serve on it
	if u.cfg.RESP.Listen == "" {
		u.cfg.RESP.Listen = "127.0.0.1:6379"
	}
	resp, err := orFree(u, u.cfg.RESP.Listen, func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) })
	if err != nil {
		return fmt.Errorf("resp.listen: %w", err)
	}
	defer resp.Close() // likewise
	u.cfg.Kafka.Brokers = []string{broker.Addr()}
	u.cfg.ClickHouse.URL = engine.URL()
	if err := u.migrate(ctx); err != nil {
		return err
	}

	g, running := errgroup.WithContext(ctx)
	started := make(chan string, 1)
	g.Go(func() error {
		return runJobs(running, u.cfg, runOptions{log: u.log, http: web, resp: resp, newEpoch: u.newEpoch, started: func(addr string) { started <- addr }})
	})
	if u.gen {
		g.Go(func() error { return u.generate(running, broker.Addr()) })
	}
	select {
	case addr := <-started:
		u.step("http", "http://%s   (/metrics /readyz /api/v1/status)", addr)
		u.step("redis", "%s   (the same windows, before the flush)", resp.Addr())
	case <-running.Done():
		return g.Wait()
	}
	if u.gen {
		u.step("traffic", "%d clicks/s and %d locations/s", u.rate, max(1, u.rate/4))
	}
	u.step("ready", "after %s; ctrl-C drains and stops", time.Since(began).Round(10*time.Millisecond))
	fmt.Fprintf(u.out, "\nTry, in another terminal:\n"+
		"  curl '%[1]s/?database=%[2]s' -d 'SELECT window_start, page, hits, users FROM clicks_1m ORDER BY window_start DESC, hits DESC LIMIT 5'\n"+
		"  curl '%[1]s/?database=%[2]s' -d 'SELECT weirPfCount(uniqCombined64MergeState(14)(users)) FROM clicks_state'\n"+
		"  redis-cli -p %[3]s PFCOUNT 'w:clicks:users:-1..now:*'\n"+
		"  curl '%[1]s/?database=%[2]s' -d 'SELECT * FROM weir_audit'\n\n", engine.URL(), u.cfg.ClickHouse.Database, port(resp.Addr()))
	g.Go(func() error { return u.watch(running, engine.URL()) })

	err = g.Wait()
	if err == nil {
		fmt.Fprintln(u.out, "\ndrained: everything read is in", u.data)
	}
	return err
}

func port(a net.Addr) string {
	_, p, _ := net.SplitHostPort(a.String())
	return p
}

// topics is what the jobs read.
func (u *up) topics() []string {
	var ts []string
	for _, j := range u.cfg.Jobs {
		if !slices.Contains(ts, j.Topic) {
			ts = append(ts, j.Topic)
		}
	}
	return ts
}

// orFree starts something on addr, or on any free port if another program has
// that one: several `weir up` live side by side.
func orFree[T any](u *up, addr string, start func(addr string) (T, error)) (T, error) {
	v, err := start(addr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return v, err
	}
	u.step("note", "%s is taken by another program; using a free port", addr)
	return start("127.0.0.1:0")
}

// migrate creates the tables.
func (u *up) migrate(ctx context.Context) error {
	client, err := sinkClient(u.cfg, u.log)
	if err != nil {
		return err
	}
	defer client.Close()
	js, err := sinkJobs(u.cfg)
	if err != nil {
		return err
	}
	steps, err := client.Migrate(ctx, js, clickhouse.Migration{})
	if err != nil {
		return err
	}
	u.step("tables", "database %s, %d statements applied", u.cfg.ClickHouse.Database, len(steps))
	return nil
}
