// Command live measures what reading the live windows costs the pipeline: two
// processes with the same two jobs read the same topics to their ends, one with
// a hundred questions a second and one without, on a real Kafka 4 broker and the
// real ClickHouse engine.
//
//	make bench-live                  # 24 million clicks, 2.4 million positions, twice
//	make bench-live EVENTS=2000000
//
// A log is read as fast as it goes, and the tables begin empty, so nothing that
// an answer needs is known beforehand. One is of two minutes, a few windows, as a
// process meets that keeps up with a great many events. The other is that of
// bench/pipeline, ten minutes, as one meets that catches up: every flush writes to
// all windows that there are, and there is no worse time to ask. What counts is
// the CPU time of a weir process for each event until it has counted the last,
// which the answers are part of: the median over the rounds of one side's by the
// other's. Both logs have the same floor.
//
// The two run at the same time and on the same CPUs, by turns of a few
// milliseconds: whatever else the machine is busy with slows down both alike,
// while of two that run one after the other it slows down one. Each has half of
// the time, so it takes twice as long for the log as one that is alone, and is
// asked and flushes half as often: for each event it does as much. Broker,
// engine and who asks share the other half of the CPUs, as they would have
// machines of their own: or else their caches decide. -rate 0 asks neither, and
// so shows what is left of the noise.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"weir/bench/internal/ground"
	"weir/gen"
	"weir/internal/redistest"
	"weir/jobs"
	"weir/window"
)

var (
	clicks = flag.Int64("events", 24_000_000, "clicks in a log; there are a tenth as many positions")
	rounds = flag.Int("rounds", 4, "measured rounds a side")
	rate   = flag.Int("rate", 100, "questions a second, to a process that is alone; 0: none")
	bin    = flag.String("weir", "bin/weir", "the binary to measure")
	out    = flag.String("out", "bench/results/live.txt", "where the figures are kept besides")
	floor  = flag.Bool("floor", true, "exit 1 below the floor")
)

// A pace is how far a process is behind.
type pace struct {
	name  string
	topic string        // what its topics' names end in
	span  time.Duration // of the log
}

var paces = []pace{
	{"keeping up", "2m", 2 * time.Minute},
	{"catching up", "10m", 10 * time.Minute},
}

// least is the floor, of the events per CPU-second without questions.
const least = 0.95

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-live:", err)
		os.Exit(1)
	}
}

// sharing is how many processes share their CPUs.
const sharing = 2

// A turn is one reading of the log by a process of its own.
type turn struct {
	wall, cpu time.Duration
	slow      []time.Duration // how long each answer took
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
	var report ground.Report
	report.Say("# %d clicks and %d positions in %d partitions each, Kafka 4 with lz4, the embedded engine", *clicks, *clicks/10, ground.Partitions)
	report.SayWhere()
	report.Say("# %d CPUs for weir, %d for broker, engine and who asks", ours.Count(), others.Count())
	var missed []string
	for _, p := range paces {
		ratio, err := p.measure(ctx, g, &ours, &others, &report)
		if err != nil {
			return err
		}
		if ratio < least {
			missed = append(missed, p.name)
		}
	}
	if err := report.Save(*out); err != nil {
		return err
	}
	if len(missed) > 0 && *floor {
		return fmt.Errorf("below the floor: %s", strings.Join(missed, ", "))
	}
	return nil
}

// measure fills topics and has them read.
func (p *pace) measure(ctx context.Context, g *ground.Ground, ours, others *unix.CPUSet, report *ground.Report) (ratio float64, err error) {
	if err := errors.Join(g.Fill(ctx, "clicks"+p.topic, kgo.Lz4Compression(), gen.Clicks, 2_000_000, *clicks, p.span),
		g.Fill(ctx, "locations"+p.topic, kgo.Lz4Compression(), gen.Locations, 100_000, *clicks/10, p.span)); err != nil {
		return 0, err
	}
	report.Say("# %s: a log of %v", p.name, p.span)
	report.Say("%-22s %14s %8s %8s %10s %10s %10s", "questions", "events/CPU-s", "CPU s", "wall s", "asked/s", "median ms", "p99 ms")
	var sides [sharing][]turn
	for round := range *rounds + 1 { // the first is the warm-up
		pair, err := p.race(g, ours, others, round)
		if err != nil {
			return 0, err
		}
		if round > 0 {
			for side, t := range pair {
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
		report.Say("%-22s %14.0f %8.2f %8.2f %10.1f %10s %10s", name, events/cpu, cpu, middle(func(t turn) time.Duration { return t.wall }),
			float64(len(slow))/took.Seconds(), at(0.5), at(0.99))
	}
	var ratios []float64
	for i, none := range sides[0] {
		ratios = append(ratios, none.cpu.Seconds()/sides[1][i].cpu.Seconds())
	}
	ratio = ground.Median(ratios)
	report.Say("ratio %.4f, in the rounds %.3f to %.3f (floor %.2f)", ratio, slices.Min(ratios), slices.Max(ratios), least)
	return ratio, nil
}

// race lets the one that nobody asks and the one that is asked read the log side
// by side, into databases and groups of their own.
func (p *pace) race(g *ground.Ground, ours, others *unix.CPUSet, round int) (pair [sharing]turn, err error) {
	var readers [sharing]*reader
	for side := range readers {
		if readers[side], err = newReader(g, fmt.Sprintf("bench_%s_%d_%d", p.topic, round, side), p.topic); err != nil {
			return pair, err
		}
	}
	var both errgroup.Group
	for i := range readers {
		side := (i + round) % sharing // neither always comes first
		both.Go(func() (err error) {
			pair[side], err = readers[side].read(ours, others, side == 1 && *rate > 0)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return pair, err
	}
	for _, r := range readers {
		if err := r.check(); err != nil {
			return pair, err
		}
	}
	return pair, nil
}

// A reader is a process to be, with its configuration and its tables.
type reader struct {
	ground     *ground.Ground
	name, file string
	http, resp string // where it listens
}

func newReader(g *ground.Ground, name, topic string) (*reader, error) {
	r := &reader{ground: g, name: name, file: filepath.Join(g.Dir, name+".yaml")}
	var err error
	for _, at := range []*string{&r.http, &r.resp} {
		if *at, err = ground.FreeAddress(); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(`kafka: {brokers: [%[2]q], group: %[1]s}
clickhouse: {url: %[3]q, database: %[1]s}
flush: {interval: %[4]s}
http: {listen: %[5]q}
resp: {listen: %[6]q}
jobs:
  - {name: clicks, topic: clicks%[7]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], by: [page], measures: [{name: users, sketch: hll, field: user_id}]}
  - {name: locations, topic: locations%[7]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], measures: [{name: places, sketch: geo, member: user_id, lon: lon, lat: lat}]}
`, name, g.Broker, g.Engine.URL, sharing*time.Second, r.http, r.resp, topic)
	if err := os.WriteFile(r.file, []byte(config), 0o644); err != nil {
		return nil, err
	}
	if out, err := exec.Command(*bin, "migrate", "-c", r.file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("weir migrate: %w\n%s", err, out)
	}
	return r, nil
}

// read reads both topics to their ends.
func (r *reader) read(ours, others *unix.CPUSet, asking bool) (t turn, err error) {
	var log bytes.Buffer
	cmd := exec.Command(*bin, "run", "-c", r.file, "--until", "end")
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := startOn(ours, others, cmd); err != nil {
		return t, err
	}
	ended, counted := make(chan struct{}), make(chan struct{})
	var beside errgroup.Group
	beside.Go(func() error {
		defer close(counted)
		if err := r.countsAll(ended); err != nil {
			return err
		}
		t.wall, t.cpu = time.Since(began), ground.CPU(cmd.Process.Pid)
		return nil
	})
	if asking {
		beside.Go(func() error { return t.ask(r.resp, counted) })
	}
	err = cmd.Wait()
	close(ended)
	if err := errors.Join(err, beside.Wait()); err != nil {
		return t, fmt.Errorf("%w\n%s", err, log.String())
	}
	return t, nil
}

// countsAll waits until the process has counted every event. Both sides are asked
// for their status as often.
func (r *reader) countsAll(ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return errors.New("it ended before it was seen to have counted everything")
		case <-time.After(100 * time.Millisecond):
		}
		res, err := http.Get("http://" + r.http + "/api/v1/status")
		if err != nil {
			continue // it does not listen yet
		}
		var status struct{ Jobs []jobs.Status }
		err = json.NewDecoder(res.Body).Decode(&status)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
		n := int64(0)
		for _, job := range status.Jobs {
			n += int64(job.Records[window.Counted.String()])
		}
		if n == *clicks+*clicks/10 {
			return nil
		}
	}
}

// check holds what was counted against the log, and clears it away.
func (r *reader) check() error {
	got, err := r.ground.Engine.Query(fmt.Sprintf("SELECT (SELECT sum(hits) FROM %s.clicks_1m) + (SELECT sum(hits) FROM %[1]s.locations_1m)", r.name))
	if err == nil && got != strconv.FormatInt(*clicks+*clicks/10, 10) {
		err = fmt.Errorf("%s: %s events counted, want %d", r.name, got, *clicks+*clicks/10)
	}
	if err == nil {
		_, err = r.ground.Engine.Query("DROP DATABASE " + r.name)
	}
	return err
}

// ask asks at the rate until everything is counted, over as many connections as
// it takes to have slow answers not hold up other questions.
func (t *turn) ask(at string, counted <-chan struct{}) error {
	ticks := make(chan int)
	go func() {
		defer close(ticks)
		tick := time.NewTicker(sharing * time.Second / time.Duration(*rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-counted:
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
		asking.Go(func() error { return all[i].ask(at, ticks, counted) })
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
func (a *asker) ask(at string, ticks <-chan int, counted <-chan struct{}) error {
	var c *redistest.Conn
	for {
		var err error
		if c, err = redistest.Dial(at); err == nil {
			break
		}
		select {
		case <-counted:
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
			<-counted // it hung up because it is done
			return nil
		}
		a.slow = append(a.slow, time.Since(began))
		n := int64(-1)
		switch r := reply.(type) {
		case redistest.Error:
			select {
			case <-counted: // who stops calls off what is being read
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
