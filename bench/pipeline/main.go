// Command pipeline measures the main job against the pipeline a Go programmer
// would write first: events per CPU-second, peak memory, on a real Kafka 4
// broker and the real ClickHouse engine, in one run.
//
//	make bench-pipeline            # ten million events
//	make bench-pipeline EVENTS=2000000
//
// Each side reads the same topic in a process of its own; the measure is that
// process's user and system time. Each side reads the topic once before it is
// measured, because the first pass over a topic is slow for any reader. The
// naive side stores nothing; weir's side flushes to the engine, whose CPU is
// printed beside it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/axiomhq/hyperloglog"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/ground"
	"weir/gen"
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
	g, err := ground.New(*bin)
	if err != nil {
		return err
	}
	defer g.Close()

	var report ground.Report
	report.Say("# %d events of about 190 bytes, 1,000 Zipf pages, 2 million users, %d partitions, Kafka 4, flush to the embedded engine", *events, ground.Partitions)
	report.SayWhere()
	report.Say("%-6s %-6s %16s %10s %10s %12s %12s", "codec", "side", "events/CPU-s", "CPU s", "wall s", "peak MiB", "engine CPU s")
	below := false
	for _, c := range []struct {
		name       string
		codec      kgo.CompressionCodec
		floor, aim float64
	}{{"none", kgo.NoCompression(), 7, 14}, {"lz4", kgo.Lz4Compression(), 6, 14}} {
		topic := "clicks_" + c.name
		if err := g.Fill(ctx, topic, c.codec, gen.Clicks, 2_000_000, *events, 10*time.Minute); err != nil {
			return err
		}
		var ours, theirs side
		var engineCPU time.Duration
		for round := range *rounds + 1 { // the first is the warm-up
			// The sides take turns, so that a noisy minute slows down both.
			t, err := measure(exec.Command(os.Args[0], "-naive", topic, "-brokers", g.Broker, "-events", strconv.FormatInt(*events, 10)))
			if err != nil {
				return fmt.Errorf("naive side: %w", err)
			}
			before := g.Engine.CPU()
			o, err := readWithWeir(g, topic, round+1)
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
				ours, engineCPU = o, g.Engine.CPU()-before
			}
		}
		report.Say("%-6s %-6s %16.0f %10.2f %10.2f %12.0f %12s", c.name, "naive", theirs.perSecond(), theirs.cpu.Seconds(), theirs.wall.Seconds(), float64(theirs.peak)/(1<<20), "-")
		report.Say("%-6s %-6s %16.0f %10.2f %10.2f %12.0f %12.2f", c.name, "weir", ours.perSecond(), ours.cpu.Seconds(), ours.wall.Seconds(), float64(ours.peak)/(1<<20), engineCPU.Seconds())
		ratio := ours.perSecond() / theirs.perSecond()
		report.Say("%-6s ratio %.1f (floor %.0f, aim %.0f); peak %.0f MiB (floor 256)", c.name, ratio, c.floor, c.aim, float64(ours.peak)/(1<<20))
		below = below || ratio < c.floor || ours.peak > 256<<20
	}
	if err := report.Save(*out); err != nil {
		return err
	}
	if below && *floor {
		return errors.New("below a floor")
	}
	return nil
}

// measure runs a process and reads what it cost.
func measure(cmd *exec.Cmd) (side, error) {
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return side{}, err
	}
	// The kernel's own figure (ru_maxrss) begins with the memory of the parent
	// process, so the peak is read while the process runs.
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

// readWithWeir reads the topic to its end with weir, into tables and a group of
// its own, and compares the total.
func readWithWeir(g *ground.Ground, topic string, round int) (side, error) {
	file := filepath.Join(g.Dir, topic+".yaml")
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
`, g.Broker, g.Engine.URL, topic, round, topic)
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
	got, err := g.Engine.Query("SELECT sum(hits) FROM bench." + topic + "_1m")
	if err != nil {
		return s, err
	}
	if got != strconv.FormatInt(*events, 10) {
		return s, fmt.Errorf("%s events counted, want %d", got, *events)
	}
	return s, nil
}

// readNaively is the naive side: kafka-go's Reader, encoding/json, a map of
// sketches.
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
	// The process ends without Reader.Close, which can wait for seconds.
	fmt.Println(len(cells))
}

// highWater returns a process's peak resident set in bytes.
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
