// Command live measures what reading the live windows costs the pipeline: the
// same two jobs read the same topics to their ends, in turns with a hundred
// questions a second and without, on a real Kafka 4 broker and the real
// ClickHouse engine, in one run.
//
//	make bench-live                # ten million clicks, one million positions
//	make bench-live EVENTS=2000000
//
// The log is that of bench/pipeline, ten minutes of traffic, and is read as
// fast as it goes: every flush writes to every window that there is, and the
// tables begin empty, so nothing that an answer needs is known beforehand.
// There is no worse time to ask. What counts is the CPU time of the weir process for each event,
// which the answers are part of; the least of a side's rounds is taken, because
// whatever else the machine does only adds to it. Wall time and the engine's
// CPU are printed beside it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/gen"
	"weir/internal/kafkatest"
	"weir/internal/redistest"
)

var (
	clicks = flag.Int64("events", 10_000_000, "clicks in the log; there are a tenth as many positions")
	rounds = flag.Int("rounds", 4, "measured rounds a side")
	rate   = flag.Int("rate", 100, "questions a second")
	bin    = flag.String("weir", "bin/weir", "the binary to measure")
	out    = flag.String("out", "bench/results/live.txt", "where the figures are kept besides")
	floor  = flag.Bool("floor", true, "exit 1 below the floor")
)

const (
	partitions = 4
	least      = 0.95 // of the events per CPU-second without questions
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-live:", err)
		os.Exit(1)
	}
}

// A turn is one reading of the log by a process of its own.
type turn struct {
	wall, cpu, engine time.Duration
	asked             int
	slow              []time.Duration // how long each answer took
}

func run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kafka4, err := kafkatest.Launch(kafkatest.Config{})
	if err != nil {
		return err
	}
	defer kafka4.Close()
	broker := kafka4.Addrs()[0]
	engine, stopEngine, err := startEngine(ctx, filepath.Join(dir, "engine"))
	if err != nil {
		return err
	}
	defer stopEngine()
	if err := seed(ctx, broker); err != nil {
		return err
	}

	var report strings.Builder
	say := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		fmt.Println(line)
		report.WriteString(line + "\n")
	}
	say("# %d clicks and %d positions, ten minutes of traffic in %d partitions each, Kafka 4 with lz4, the embedded engine", *clicks, *clicks/10, partitions)
	say("# %s, %s, %d CPUs, commit %s", cpuModel(), runtime.Version(), runtime.NumCPU(), commit())
	say("# load average %s: beside others the figures say little, since answers are held to a share of the wall time", load())
	say("%-22s %14s %8s %8s %12s %8s %10s %10s", "questions", "events/CPU-s", "CPU s", "wall s", "engine CPU s", "asked", "median ms", "p99 ms")
	var sides [2][]turn
	for round := range *rounds + 1 { // the first is the warm-up
		for side := range sides {
			if round%2 == 1 {
				side = 1 - side // neither always comes first
			}
			t, err := read(broker, engine, dir, 2*round+side+1, side == 1)
			if err != nil {
				return err
			}
			if round > 0 {
				sides[side] = append(sides[side], t)
			}
		}
	}
	events := float64(*clicks + *clicks/10)
	var per [2]float64
	for side, name := range []string{"none", fmt.Sprintf("%d a second", *rate)} {
		t := slices.MinFunc(sides[side], func(a, b turn) int { return int(a.cpu - b.cpu) })
		per[side] = events / t.cpu.Seconds()
		var asked int
		var slow []time.Duration
		for _, t := range sides[side] {
			asked += t.asked
			slow = append(slow, t.slow...)
		}
		slices.Sort(slow)
		at := func(share float64) string {
			if len(slow) == 0 {
				return "-"
			}
			return fmt.Sprintf("%.2f", slow[int(share*float64(len(slow)-1))].Seconds()*1000)
		}
		say("%-22s %14.0f %8.2f %8.2f %12.2f %8d %10s %10s", name, per[side], t.cpu.Seconds(), t.wall.Seconds(), t.engine.Seconds(), asked, at(0.5), at(0.99))
	}
	ratio := per[1] / per[0]
	say("ratio %.3f (floor %.2f)", ratio, least)
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(*out, []byte(report.String()), 0o644); err != nil {
		return err
	}
	if ratio < least && *floor {
		return errors.New("below the floor")
	}
	return nil
}

// read reads both topics to their ends, into tables and groups of their own.
func read(broker string, engine server, dir string, version int, asking bool) (t turn, err error) {
	at, err := freeAddress()
	if err != nil {
		return t, err
	}
	file := filepath.Join(dir, "weir.yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {url: %q, database: bench}
http: {listen: "127.0.0.1:0"}
resp: {listen: %q}
jobs:
  - {name: clicks, version: %d, topic: clicks, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], by: [page], measures: [{name: users, sketch: hll, field: user_id}]}
  - {name: locations, version: %d, topic: locations, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], measures: [{name: places, sketch: geo, member: user_id, lon: lon, lat: lat}]}
`, broker, engine.url, at, version, version)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return t, err
	}
	if out, err := exec.Command(*bin, "migrate", "-c", file).CombinedOutput(); err != nil {
		return t, fmt.Errorf("weir migrate: %w\n%s", err, out)
	}
	var log bytes.Buffer
	cmd := exec.Command(*bin, "run", "-c", file, "--until", "end")
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	before, began := engine.cpu(), time.Now()
	if err := cmd.Start(); err != nil {
		return t, err
	}
	ended := make(chan struct{})
	asked := make(chan error, 1)
	go func() {
		if !asking {
			asked <- nil
			return
		}
		asked <- t.ask(at, ended)
	}()
	err = cmd.Wait()
	close(ended)
	if err := errors.Join(err, <-asked); err != nil {
		return t, fmt.Errorf("%w\n%s", err, log.String())
	}
	t.wall, t.cpu, t.engine = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), engine.cpu()-before
	got, err := engine.query("SELECT (SELECT sum(hits) FROM bench.clicks_1m) + (SELECT sum(hits) FROM bench.locations_1m)")
	if err == nil && got != strconv.FormatInt(*clicks+*clicks/10, 10) {
		err = fmt.Errorf("%s events counted, want %d", got, *clicks+*clicks/10)
	}
	return t, err
}

// ask asks at the rate until the process has ended. Not one answer may be an
// error, and the numbers of one question never fall.
func (t *turn) ask(at string, ended <-chan struct{}) error {
	var c *redistest.Conn
	for {
		var err error
		if c, err = redistest.Dial(at); err == nil {
			break
		}
		select {
		case <-ended:
			return fmt.Errorf("nobody answered: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	defer c.Close()
	highest := map[string]int64{}
	tick := time.NewTicker(time.Second / time.Duration(*rate))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return nil
		case <-tick.C:
		}
		began := time.Now()
		q := question(i)
		reply, err := c.Do(q...)
		if err != nil {
			<-ended // it hung up because it is done
			return nil
		}
		t.slow = append(t.slow, time.Since(began))
		t.asked++
		n := int64(-1)
		switch r := reply.(type) {
		case redistest.Error:
			select {
			case <-ended: // who stops calls off what is being read
				return nil
			case <-time.After(5 * time.Second):
				return fmt.Errorf("%v: %w", q, r)
			}
		case int64:
			n = r
		case string:
			n, err = strconv.ParseInt(r, 10, 64)
		}
		minute := began.Truncate(time.Minute)
		if !minute.Equal(time.Now().Truncate(time.Minute)) {
			continue // another hour may be meant
		}
		key := fmt.Sprint(minute, q)
		if err != nil || n >= 0 && n < highest[key] {
			return fmt.Errorf("%v: %v after %d", q, reply, highest[key])
		}
		highest[key] = max(highest[key], n)
	}
}

// question is the i-th: of each ten, three and two about distinct users of the
// last hour, on all pages and on one, two and one about hits of one page and of
// all, and two about who is near.
func question(i int) []any {
	page := "/p/" + strconv.Itoa(i/10%20+1)
	switch i % 10 {
	case 0, 3, 6:
		return []any{"PFCOUNT", "w:clicks:users:-60..now:*"}
	case 1, 4:
		return []any{"PFCOUNT", "w:clicks:users:-60..now:" + page}
	case 2, 5:
		return []any{"GET", "w:clicks:hits:-" + strconv.Itoa(i/10%10+1) + ":" + page}
	case 7:
		return []any{"GET", "w:clicks:hits:-60..now:*"}
	default:
		return []any{"GEOSEARCH", "w:locations:places:-60..now", "FROMLONLAT", "13.404954", "52.520008", "BYRADIUS", "2", "km", "ASC", "COUNT", "10"}
	}
}

// seed fills both topics with ten minutes of traffic that ended just now.
func seed(ctx context.Context, broker string) error {
	start := event.Time(time.Now().Add(-10 * time.Minute).UnixMilli())
	for topic, n := range map[string]int64{"clicks": *clicks, "locations": *clicks / 10} {
		cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
			kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedRecords(200_000), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		if err != nil {
			return err
		}
		defer cl.Close()
		if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("2097152")}, topic); err != nil {
			return err
		}
		cfg := gen.Default()
		cfg.Pages, cfg.Events, cfg.Rate, cfg.Start = 1000, n, max(1, n/600), start
		make := gen.Clicks
		if cfg.Users = 2_000_000; topic == "locations" {
			make, cfg.Users = gen.Locations, 100_000
		}
		g, err := make(cfg)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "filling %s …\n", topic)
		var failed error
		for {
			var r gen.Record // a new one each: the client keeps the value until it is sent
			if !g.Next(&r) {
				break
			}
			cl.Produce(ctx, &kgo.Record{Value: r.Value, Timestamp: time.UnixMilli(int64(r.Time))}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed = err
				}
			})
		}
		if err := errors.Join(cl.Flush(ctx), failed); err != nil {
			return err
		}
	}
	return nil
}

// A server is the engine, as a process of its own.
type server struct {
	url string
	pid int
}

func startEngine(ctx context.Context, data string) (s server, stop func(), err error) {
	listen, err := freeAddress()
	if err != nil {
		return s, nil, err
	}
	cmd := exec.CommandContext(ctx, *bin, "engine", "--listen", listen, "--data", data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return s, nil, err
	}
	s = server{"http://" + listen, cmd.Process.Pid}
	stop = func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }
	for range 300 {
		if res, err := http.Get(s.url + "/ping"); err == nil {
			res.Body.Close()
			return s, stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return s, nil, fmt.Errorf("the engine did not answer:\n%s", log.String())
}

func (s server) query(sql string) (string, error) {
	res, err := http.Get(s.url + "/?query=" + url.QueryEscape(sql))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", sql, body)
	}
	return strings.TrimSpace(string(body)), err
}

// cpu is the time the engine has used, from the kernel's books.
func (s server) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

// load is the machine's load average before anything is measured.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 3 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}

func commit() string {
	b, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
