// Command live measures what reading the live windows costs the pipeline: the
// same two jobs read the same topics to their ends, in turns with a hundred
// questions a second and without, on a real Kafka 4 broker and the real
// ClickHouse engine, in one run.
//
//	make bench-live                  # 24 million clicks, 2.4 million positions
//	make bench-live EVENTS=2000000
//
// The log is that of bench/pipeline, ten minutes of traffic, and is read as
// fast as it goes: every flush writes to every window that there is, and the
// tables begin empty, so nothing that an answer needs is known beforehand.
// There is no worse time to ask. What counts is the CPU time of the weir
// process for each event, which the answers are part of: the median over the
// rounds of one side's by the other's. The process has half of the CPUs to
// itself, and broker, engine and who asks share the others, as they would have
// machines of their own: or else their caches decide. Wall time and the engine's
// CPU are printed beside it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"weir/bench/internal/ground"
	"weir/gen"
	"weir/internal/redistest"
)

var (
	clicks = flag.Int64("events", 24_000_000, "clicks in the log; there are a tenth as many positions")
	rounds = flag.Int("rounds", 7, "measured rounds a side")
	rate   = flag.Int("rate", 100, "questions a second")
	bin    = flag.String("weir", "bin/weir", "the binary to measure")
	out    = flag.String("out", "bench/results/live.txt", "where the figures are kept besides")
	floor  = flag.Bool("floor", true, "exit 1 below the floor")
)

const least = 0.95 // of the events per CPU-second without questions

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
	slow              []time.Duration // how long each answer took
}

func run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ours, others, err := halves()
	if err == nil {
		err = settle(&others)
	}
	if err != nil {
		return err
	}
	g, err := ground.New(*bin)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := errors.Join(g.Fill(ctx, "clicks", kgo.Lz4Compression(), gen.Clicks, 2_000_000, *clicks),
		g.Fill(ctx, "locations", kgo.Lz4Compression(), gen.Locations, 100_000, *clicks/10)); err != nil {
		return err
	}

	var report ground.Report
	report.Say("# %d clicks and %d positions, ten minutes of traffic in %d partitions each, Kafka 4 with lz4, the embedded engine", *clicks, *clicks/10, ground.Partitions)
	report.SayWhere()
	report.Say("# %d CPUs for weir, %d for broker, engine and who asks", ours.Count(), others.Count())
	report.Say("%-22s %14s %8s %8s %12s %8s %10s %10s", "questions", "events/CPU-s", "CPU s", "wall s", "engine CPU s", "asked/s", "median ms", "p99 ms")
	var sides [2][]turn
	for round := range *rounds + 1 { // the first is the warm-up
		for side := range sides {
			if round%2 == 1 {
				side = 1 - side // neither always comes first
			}
			t, err := read(g, &ours, &others, 2*round+side+1, side == 1)
			if err != nil {
				return err
			}
			if round > 0 {
				sides[side] = append(sides[side], t)
			}
		}
	}
	events := float64(*clicks + *clicks/10)
	for side, name := range []string{"none", fmt.Sprintf("%d a second", *rate)} {
		middle := func(of func(turn) time.Duration) float64 {
			var all []float64
			for _, t := range sides[side] {
				all = append(all, of(t).Seconds())
			}
			return ground.Median(all)
		}
		var slow []time.Duration
		var took time.Duration
		for _, t := range sides[side] {
			slow = append(slow, t.slow...)
			took += t.wall
		}
		slices.Sort(slow)
		at := func(share float64) string {
			if len(slow) == 0 {
				return "-"
			}
			return fmt.Sprintf("%.2f", slow[int(share*float64(len(slow)-1))].Seconds()*1000)
		}
		cpu := middle(func(t turn) time.Duration { return t.cpu })
		report.Say("%-22s %14.0f %8.2f %8.2f %12.2f %8.1f %10s %10s", name, events/cpu, cpu, middle(func(t turn) time.Duration { return t.wall }),
			middle(func(t turn) time.Duration { return t.engine }), float64(len(slow))/took.Seconds(), at(0.5), at(0.99))
	}
	var ratios []float64
	for i, none := range sides[0] {
		ratios = append(ratios, none.cpu.Seconds()/sides[1][i].cpu.Seconds())
	}
	ratio := ground.Median(ratios)
	report.Say("ratio %.3f, in the rounds %.3f to %.3f (floor %.2f)", ratio, slices.Min(ratios), slices.Max(ratios), least)
	if err := report.Save(*out); err != nil {
		return err
	}
	if ratio < least && *floor {
		return errors.New("below the floor")
	}
	return nil
}

// read reads both topics to their ends, into tables and groups of their own.
func read(g *ground.Ground, ours, others *unix.CPUSet, version int, asking bool) (t turn, err error) {
	at, err := ground.FreeAddress()
	if err != nil {
		return t, err
	}
	file := filepath.Join(g.Dir, "weir.yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: bench}
clickhouse: {url: %q, database: bench}
http: {listen: "127.0.0.1:0"}
resp: {listen: %q}
jobs:
  - {name: clicks, version: %d, topic: clicks, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], by: [page], measures: [{name: users, sketch: hll, field: user_id}]}
  - {name: locations, version: %d, topic: locations, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], measures: [{name: places, sketch: geo, member: user_id, lon: lon, lat: lat}]}
`, g.Broker, g.Engine.URL, at, version, version)
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
	before, began := g.Engine.CPU(), time.Now()
	if err := startOn(ours, others, cmd); err != nil {
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
	t.wall, t.cpu, t.engine = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), g.Engine.CPU()-before
	got, err := g.Engine.Query("SELECT (SELECT sum(hits) FROM bench.clicks_1m) + (SELECT sum(hits) FROM bench.locations_1m)")
	if err == nil && got != strconv.FormatInt(*clicks+*clicks/10, 10) {
		err = fmt.Errorf("%s events counted, want %d", got, *clicks+*clicks/10)
	}
	return t, err
}

// ask asks at the rate until the process has ended, over as many connections as
// it takes to have slow answers not hold up other questions.
func (t *turn) ask(at string, ended <-chan struct{}) error {
	ticks := make(chan int)
	go func() {
		defer close(ticks)
		tick := time.NewTicker(time.Second / time.Duration(*rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			select {
			case ticks <- i:
			default: // all are waiting
			}
		}
	}()
	var asking errgroup.Group
	var all [8]asker
	for i := range all {
		asking.Go(func() error { return all[i].ask(at, ticks, ended) })
	}
	err := asking.Wait()
	for i := range all {
		t.slow = append(t.slow, all[i].slow...)
	}
	return err
}

// An asker is one connection.
type asker struct {
	slow []time.Duration // how long each answer took
}

// ask asks one question a tick. Not one answer may be an error, and the numbers
// of one question never fall.
func (a *asker) ask(at string, ticks <-chan int, ended <-chan struct{}) error {
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
	for i := range ticks {
		began := time.Now()
		q := question(i)
		reply, err := c.Do(q...)
		if err != nil {
			<-ended // it hung up because it is done
			return nil
		}
		a.slow = append(a.slow, time.Since(began))
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
	return nil
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
