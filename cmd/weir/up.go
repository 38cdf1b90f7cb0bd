package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"weir/config"
	"weir/demo/local"
	"weir/internal/outage"
	"weir/internal/spelling"
	"weir/measures"
	httpserver "weir/serve/http"
	"weir/sinks/clickhouse/migrate"
)

// upTopics are the topics that the presets read.
var upTopics = []string{"clicks", "locations"}

const upPartitions = 4

// upAudit is the time between two audits, unless it is configured.
const upAudit = 5 * time.Minute

// demoLog bounds the log of generated traffic, which would grow by 40 GB a day at the
// default rate. A partition keeps more than a chunk of its events.
var demoLog = map[string]string{"retention.ms": "86400000", "retention.bytes": "268435456"}

func upCommand() *cobra.Command {
	var data string
	var rate int
	var history config.Duration
	var noGen, newEpoch bool
	c := &cobra.Command{
		Use:   "up",
		Short: "Broker, engine, jobs and traffic in one go; ctrl-C drains",
		Long: `Start everything on this machine with nothing else installed: a broker that
speaks the Kafka protocol, the ClickHouse engine, the jobs of the clicks and
locations presets (or those of -c), and a generator. The data stays in --data: the
next start continues there.

Broker and engine listen on the addresses in kafka.brokers and clickhouse.urls, on
this machine. If a default port is taken, weir uses a free one; if a configured port
is taken, that is an error.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if rate < 1 {
				return &exit{exitUsage, fmt.Errorf("--rate %d: want at least 1 event per second", rate), ""}
			}
			if history > historyMost {
				return &exit{exitUsage, fmt.Errorf("--history %s: want at most %s", history, historyMost), "the demo keeps its minutes for so long"}
			}
			if history > 0 && noGen {
				return &exit{exitUsage, errors.New("--history and --no-gen: history is generated traffic"), ""}
			}
			if err := directory("--data", data); err != nil {
				return err
			}
			o := config.Options{}
			if given, _ := c.Flags().GetString("config"); given == "" {
				o.Presets = upTopics
			}
			cfg, origins, err := loadUp(c, o)
			if err != nil {
				return err
			}
			if err := own(cfg, origins); err != nil {
				return err
			}
			if cfg.RESP.Listen == "" {
				cfg.RESP.Listen = "127.0.0.1:6379"
			}
			if origins.Of("audit.interval").Source == config.FromDefault {
				cfg.Audit.Interval = config.Duration(upAudit) // so that a visitor sees one
			}
			u := &up{
				cfg: cfg, origins: origins, data: data, rate: rate, history: time.Duration(history), gen: !noGen, newEpoch: newEpoch,
				out: c.OutOrStdout(), log: newLog(c.ErrOrStderr(), cfg.Log),
			}
			if isTerminal(os.Stderr) && isTerminal(u.out) {
				if cfg.Log.Format == "auto" {
					cfg.Log.Format = "text"
				}
				u.screenLog = &screenLog{to: c.ErrOrStderr()}
				u.log = newLog(u.screenLog, cfg.Log)
			}
			u.outages = outage.New(u.log)
			if plan, ok := os.LookupEnv(processEnv); ok {
				return runProcess(plan, cfg, u.log)
			}
			return u.run(c.Context())
		},
	}
	configFlags(c)
	c.Flags().StringVar(&data, "data", "weir-data", "directory of the broker's log and the engine's tables")
	c.Flags().IntVar(&rate, "rate", 2000, "generated click events per second; locations come at a quarter of it")
	c.Flags().TextVar(&history, "history", config.Duration(0), "begin with generated traffic of this `duration`, in days such as 7d, so that there are people who come back; only with a new --data")
	c.Flags().BoolVar(&noGen, "no-gen", false, "generate no traffic; produce your own to the printed address")
	c.Flags().BoolVar(&newEpoch, "new-epoch", false, "a topic was deleted and created again: count the new one too, beside the old counts")
	return c
}

// loadUp loads the configuration. Without a configured log level it logs warnings and
// errors only, because `up` prints a table.
func loadUp(c *cobra.Command, o config.Options) (*config.Config, *config.Origins, error) {
	if len(o.Presets) == 0 {
		return loadConfig(c, o)
	}
	// The presets are the whole configuration: a weir.yaml in this directory is for
	// `weir run`.
	o.Flags, o.Env = c.Flags(), os.Environ()
	cfg, origins, err := config.Load(o)
	if err == nil {
		quiet(cfg, origins)
	}
	return cfg, origins, err
}

// own refuses settings of another broker or ClickHouse than weir up starts: with
// its own, weir would count something else than the user expects.
func own(cfg *config.Config, origins *config.Origins) error {
	k, ch := &cfg.Kafka, &cfg.ClickHouse
	u, err := url.Parse(ch.Addresses()[0][0])
	if err != nil {
		return err // checked by config
	}
	for _, c := range []struct {
		key, value string
		fits       bool
	}{
		{"kafka.brokers", strings.Join(k.Brokers, ","), len(k.Brokers) == 1 && config.IsLoopback(k.Brokers[0])},
		{"kafka.tls", "", k.TLS == config.KafkaTLS{}},
		{"kafka.sasl", "", k.SASL.Mechanism == ""},
		{"clickhouse.urls", ch.Where(), len(ch.URLs) == 1 && u.Scheme == "http" && config.IsLoopback(u.Host) && strings.Trim(u.Path, "/") == "" && u.RawQuery == ""},
		{"clickhouse.user", ch.User, ch.User == "default"},
		{"clickhouse.password", "", !ch.Password.IsSet()},
		{"clickhouse.cluster", ch.Cluster, ch.Cluster == ""},
		{"clickhouse.tls", "", ch.TLS == config.TLS{}},
	} {
		if c.fits {
			continue
		}
		text := c.key
		if c.value != "" {
			text += " " + c.value
		}
		if at := origins.Of(c.key).Where(); at != "" {
			text += " (" + at + ")"
		}
		return &exit{exitConfig, fmt.Errorf("%s: weir up brings its own broker and engine, on loopback, without accounts and without TLS", text),
			"leave it out, or use weir run with your own Kafka and ClickHouse"}
	}
	return nil
}

// up is one run of everything.
type up struct {
	cfg       *config.Config
	origins   *config.Origins
	data      string
	rate      int
	history   time.Duration // how long a past the generated traffic has, before the traffic at the rate
	gen       bool
	newEpoch  bool
	out       io.Writer
	screenLog *screenLog // of log, if it shares a terminal with the table; else nil
	log       *slog.Logger
	outages   *outage.Reporter
	address   string      // of the page and of the API
	notices   chan string // about the process of the jobs
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
	// The broker and the engine end after ctx, because the jobs drain first.
	parts, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()

	began := time.Now()
	// The page's address comes first. A browser that is faster than the rest waits for it.
	listen := func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	web, err := orFree(u, u.place("http.listen", u.cfg.HTTP.Listen), listen)
	if err != nil {
		return err
	}
	defer web.Close() // the process of the jobs serves on it
	u.address, u.notices = "http://"+web.Addr().String(), make(chan string, 16)
	u.step("page", "http://%s   (who is there, live: open it in a browser)", web.Addr())
	past := u.past()
	broker, err := u.broker(parts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	engine, err := u.engine(parts, lib)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	resp, err := orFree(u, u.place("resp.listen", u.cfg.RESP.Listen), listen)
	if err != nil {
		return err
	}
	defer resp.Close() // as above
	u.cfg.Kafka.Brokers = []string{broker.Addr()}
	u.cfg.ClickHouse.URLs = []string{engine.URL()}
	if err := u.migrate(ctx); err != nil {
		return err
	}

	jobs, err := newSupervisor(processPlan{u.cfg.Kafka.Brokers, engine.URL(), u.newEpoch}, web, resp)
	if err != nil {
		return err
	}
	defer jobs.close()
	jobs.log, jobs.died = u.log, u.died
	if u.screenLog != nil {
		jobs.err, jobs.env = u.screenLog, append(jobs.env, "WEIR_LOG_FORMAT="+u.cfg.Log.Format)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return jobs.run(running) })
	if u.gen {
		g.Go(func() error { return u.generate(running, broker.Addr(), past) })
	}
	for ask := newAPI(u.address, u.cfg.HTTP.Token.Reveal()); ask.get(running, "health", nil, &httpserver.HealthReply{}) != nil; {
		select {
		case <-running.Done():
			return g.Wait()
		case <-time.After(20 * time.Millisecond): // a process was killed on the way
		}
	}
	u.step("http", "%s   (/metrics /readyz /api/v1/status)", u.address)
	u.step("redis", "%s   (the same windows, before the flush)", resp.Addr())
	if u.gen {
		u.step("traffic", "%d clicks/s and %d locations/s", u.rate, max(1, u.rate/4))
	}
	u.step("ready", "after %s; ctrl-C drains and stops", time.Since(began).Round(10*time.Millisecond))
	u.suggest(engine.URL(), port(resp.Addr()))
	g.Go(func() error { return u.watch(running, jobs) })

	err = g.Wait()
	if err == nil {
		fmt.Fprintln(u.out, "\ndrained: everything read is in", u.data)
	}
	return err
}

func (u *up) broker(ctx context.Context) (*local.Broker, error) {
	data := filepath.Join(u.data, "broker")
	var config map[string]string
	if u.gen {
		config = demoLog
	}
	if u.history > 0 { // a day is over before it is read
		config = maps.Clone(demoLog)
		config["retention.ms"] = "-1"
	}
	b, err := orFree(u, u.place("kafka.brokers", u.cfg.Kafka.Brokers[0]), func(addr string) (*local.Broker, error) {
		return local.StartBroker(ctx, local.BrokerConfig{Listen: addr, Data: data, Topics: localTopics(u.topics(), upPartitions, config), Log: u.log})
	})
	if err == nil {
		u.step("broker", "%s   (Kafka protocol, in this process, log in %s)", b.Addr(), data)
	}
	return b, err
}

// engine starts the embedded engine, whose library is in the file lib.
func (u *up) engine(ctx context.Context, lib string) (*local.Engine, error) {
	data := filepath.Join(u.data, "engine")
	addr := strings.TrimSuffix(strings.TrimPrefix(u.cfg.ClickHouse.URLs[0], "http://"), "/")
	e, err := orFree(u, u.place("clickhouse.urls", addr), func(addr string) (*local.Engine, error) {
		return local.StartEngine(ctx, local.EngineConfig{Listen: addr, Data: data, Library: lib, Log: u.log})
	})
	if err == nil {
		u.step("engine", "%s   (ClickHouse, child process %d, tables in %s)", e.URL(), e.Pid(), data)
	}
	return e, err
}

// suggest prints example queries for the first job.
func (u *up) suggest(engine, redis string) {
	j := u.cfg.Jobs[0]
	sql := func(format string, args ...any) {
		fmt.Fprintf(u.out, "  curl '%s/?database=%s' -d '%s'\n", engine, u.cfg.ClickHouse.Database, fmt.Sprintf(format, args...))
	}
	fmt.Fprint(u.out, "\nTry, in another terminal:\n")
	sql("SELECT * FROM %s_%s ORDER BY window_start DESC, hits DESC LIMIT 5", j.Name, j.Rollups[0].Window)
	command, measure := "GET", "hits"
	for _, m := range j.Spec().Measures {
		if k := measures.Of(m.Kind); k.Panels.Merged != "" { // it counts different values
			command, measure = k.Live.Command, m.Name
			sql("SELECT "+k.Panels.Merged+" FROM %s_state", m.Name, j.Name)
			break
		}
	}
	fmt.Fprintf(u.out, "  redis-cli -p %s %s 'w:%s:%s:-1..now'\n", redis, command, j.Name, measure)
	sql("SELECT * FROM weir_audit")
	fmt.Fprintln(u.out)
}

func port(a net.Addr) string {
	_, p, _ := net.SplitHostPort(a.String())
	return p
}

// topics returns the topics that the jobs read.
func (u *up) topics() []string {
	var ts []string
	for _, j := range u.cfg.Jobs {
		if !slices.Contains(ts, j.Topic) {
			ts = append(ts, j.Topic)
		}
	}
	return ts
}

// place returns an address to listen on, and whether the user has set it.
func (u *up) place(key, addr string) place {
	return place{addr, key, u.origins.Of(key).Source != config.FromDefault}
}

// orFree starts a server at its address. If another program has the port, and the user did not
// choose it, it takes any free port: several `weir up` can run at the same time.
func orFree[T any](u *up, p place, start func(addr string) (T, error)) (T, error) {
	v, err := start(p.addr)
	if p.given || !taken(err) {
		return v, p.explain(err)
	}
	u.step("note", "%s is taken by another process; using a free port", p.addr)
	return start("127.0.0.1:0")
}

func (u *up) migrate(ctx context.Context) error {
	client, err := sinkClient(u.cfg, u.log)
	if err != nil {
		return err
	}
	defer client.Close()
	js := sinkJobs(u.cfg)
	steps, err := client.Migrate(ctx, js, migrate.Options{})
	if err != nil {
		return err
	}
	u.step("tables", "database %s, %s applied", u.cfg.ClickHouse.Database, spelling.Count(len(steps), "statement"))
	return nil
}
