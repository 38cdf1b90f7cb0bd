// Command pipeline measures the main job against the pipeline a Go programmer
// would write first: events per CPU-second, peak memory, on a real Kafka 4
// broker and the real ClickHouse engine, in one run.
//
//	make bench-pipeline            # ten million events
//	make bench-pipeline EVENTS=2000000
//
// Both sides read the same topic in a process of their own; what counts is
// that process's user and system time. Each side reads the topic once before
// it is measured: the first pass over a topic costs the machine, not the
// reader. The naive side stores nothing; weir's side flushes to the engine,
// whose CPU is printed beside it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/axiomhq/hyperloglog"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/gen"
	"weir/internal/kafkatest"
)

var (
	events = flag.Int64("events", 10_000_000, "events in the topic")
	rounds = flag.Int("rounds", 3, "measured rounds a side; the best counts")
	bin    = flag.String("weir", "bin/weir", "the binary to measure")
	out    = flag.String("out", "bench/results/pipeline.txt", "where the figures are kept besides")
	naive  = flag.String("naive", "", "internal: read this topic the naive way")
	addr   = flag.String("brokers", "", "internal: where")
	floor  = flag.Bool("floor", true, "exit 1 below a floor")
)

const partitions = 4

// A side is one measured process.
type side struct {
	wall, cpu time.Duration
	peak      int64 // resident set, bytes
}

func (s side) perSecond() float64 { return float64(*events) / s.cpu.Seconds() }

func main() {
	flag.Parse()
	if *naive != "" {
		readNaively(*naive)
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
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
	engine, enginePid, stopEngine, err := startEngine(ctx, dir)
	if err != nil {
		return err
	}
	defer stopEngine()

	var report strings.Builder
	say := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		fmt.Println(line)
		report.WriteString(line + "\n")
	}
	say("# %d events of about 190 bytes, 1,000 Zipf pages, 2 million users, %d partitions, Kafka 4, flush to the embedded engine", *events, partitions)
	say("# %s, %s, %d CPUs, commit %s", cpuModel(), runtime.Version(), runtime.NumCPU(), commit())
	say("%-6s %-6s %16s %10s %10s %12s %12s", "codec", "side", "events/CPU-s", "CPU s", "wall s", "peak MiB", "engine CPU s")
	below := false
	for _, c := range []struct {
		name       string
		codec      kgo.CompressionCodec
		floor, aim float64
	}{{"none", kgo.NoCompression(), 7, 14}, {"lz4", kgo.Lz4Compression(), 6, 14}} {
		topic := "clicks_" + c.name
		if err := seed(ctx, broker, topic, c.codec); err != nil {
			return err
		}
		var ours, theirs side
		var engineCPU time.Duration
		for round := range *rounds + 1 { // the first is the warm-up
			// In turns, so that a noisy minute hits both.
			t, err := measure(exec.Command(os.Args[0], "-naive", topic, "-brokers", broker, "-events", strconv.FormatInt(*events, 10)))
			if err != nil {
				return fmt.Errorf("naive side: %w", err)
			}
			before := processCPU(enginePid)
			o, err := readWithWeir(broker, engine, dir, topic, round+1)
			if err != nil {
				return fmt.Errorf("weir's side: %w", err)
			}
			if round == 0 {
				continue
			}
			if theirs.cpu == 0 || t.cpu < theirs.cpu {
				theirs = t
			}
			if ours.cpu == 0 || o.cpu < ours.cpu {
				ours, engineCPU = o, processCPU(enginePid)-before
			}
		}
		say("%-6s %-6s %16.0f %10.2f %10.2f %12.0f %12s", c.name, "naive", theirs.perSecond(), theirs.cpu.Seconds(), theirs.wall.Seconds(), float64(theirs.peak)/(1<<20), "-")
		say("%-6s %-6s %16.0f %10.2f %10.2f %12.0f %12.2f", c.name, "weir", ours.perSecond(), ours.cpu.Seconds(), ours.wall.Seconds(), float64(ours.peak)/(1<<20), engineCPU.Seconds())
		ratio := ours.perSecond() / theirs.perSecond()
		say("%-6s ratio %.1f (floor %.0f, aim %.0f); peak %.0f MiB (floor 256)", c.name, ratio, c.floor, c.aim, float64(ours.peak)/(1<<20))
		below = below || ratio < c.floor || ours.peak > 256<<20
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(*out, []byte(report.String()), 0o644); err != nil {
		return err
	}
	if below && *floor {
		return errors.New("below a floor")
	}
	return nil
}

// startEngine runs `weir engine` until stop.
func startEngine(ctx context.Context, dir string) (at string, pid int, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // any free port; the engine takes it over
	if err != nil {
		return "", 0, nil, err
	}
	listen := l.Addr().String()
	l.Close()
	at = "http://" + listen
	cmd := exec.CommandContext(ctx, *bin, "engine", "--listen", listen, "--data", filepath.Join(dir, "engine"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return "", 0, nil, err
	}
	stop = func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }
	for range 300 {
		if res, err := http.Get(at + "/ping"); err == nil {
			res.Body.Close()
			return at, cmd.Process.Pid, stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return "", 0, nil, fmt.Errorf("the engine did not answer:\n%s", log.String())
}

// seed fills a topic.
func seed(ctx context.Context, broker, topic string, codec kgo.CompressionCodec) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedRecords(200_000), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("2097152")}, topic); err != nil {
		return err
	}
	cfg := gen.Default()
	cfg.Users, cfg.Pages, cfg.Events = 2_000_000, 1000, *events
	// Ten minutes of traffic that ended just now.
	cfg.Rate = max(1, *events/600)
	cfg.Start = event.Time(time.Now().Add(-10 * time.Minute).UnixMilli())
	g, err := gen.Clicks(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling %s …\n", topic)
	var failed error
	for i := int64(0); ; i++ {
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
	return errors.Join(cl.Flush(ctx), failed)
}

// measure runs a process and reads what it cost.
func measure(cmd *exec.Cmd) (side, error) {
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return side{}, err
	}
	// The kernel's own figure (ru_maxrss) begins with the memory of whoever
	// forked, so the peak is looked up while the process runs.
	peak, done := int64(0), make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return side{}, fmt.Errorf("%w\n%s", err, log.String())
			}
			return side{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak}, nil
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

// readWithWeir reads the topic to its end with the product, into tables and a
// group of its own, and compares the total.
func readWithWeir(broker, engine, dir, topic string, round int) (side, error) {
	file := filepath.Join(dir, topic+".yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {url: %q, database: bench}
http: {listen: "127.0.0.1:0"}
jobs:
  - name: %s
    version: %d
    topic: %s
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m]
    by: [page]
    measures: [{name: users, sketch: hll, field: user_id}]
`, broker, engine, topic, round, topic)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return side{}, err
	}
	if _, err := measure(exec.Command(*bin, "migrate", "-c", file)); err != nil {
		return side{}, err
	}
	s, err := measure(exec.Command(*bin, "run", "-c", file, "--until", "end"))
	if err != nil {
		return s, err
	}
	got, err := ask(engine, "SELECT sum(hits) FROM bench."+topic+"_1m")
	if err != nil {
		return s, err
	}
	if got != strconv.FormatInt(*events, 10) {
		return s, fmt.Errorf("%s events counted, want %d", got, *events)
	}
	return s, nil
}

func ask(engine, sql string) (string, error) {
	res, err := http.Get(engine + "/?query=" + url.QueryEscape(sql))
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

// readNaively is the peer: kafka-go's Reader, encoding/json, a map of sketches.
func readNaively(topic string) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{*addr}, Topic: topic, GroupID: fmt.Sprint("naive-", time.Now().UnixNano()),
		StartOffset: kafka.FirstOffset, MaxBytes: 4 << 20, MaxWait: 500 * time.Millisecond,
	})
	type click struct {
		TS     int64       `json:"ts"`
		UserID json.Number `json:"user_id"`
		Page   string      `json:"page"`
	}
	type key struct {
		minute int64
		page   string
	}
	type cell struct {
		hits  uint64
		users *hyperloglog.Sketch
	}
	cells := map[key]*cell{}
	for n := int64(0); n < *events; n++ {
		m, err := r.FetchMessage(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var c click
		if err := json.Unmarshal(m.Value, &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		k := key{c.TS / 60_000, c.Page}
		at := cells[k]
		if at == nil {
			at = &cell{users: hyperloglog.New14()}
			cells[k] = at
		}
		at.hits++
		at.users.Insert([]byte(c.UserID))
	}
	// Reader.Close can take seconds of waiting; its CPU is not the point.
	fmt.Println(len(cells))
}

// highWater is a process's peak resident set in bytes.
func highWater(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// processCPU is the time a process has used, from the kernel's books.
func processCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
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

func commit() string {
	b, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
