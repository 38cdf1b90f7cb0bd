// Command live measures what reading the live windows costs the pipeline: two
// processes with the same two jobs read the same topics to their ends, one with
// a hundred questions a second and one without, on a real Kafka 4 broker and the
// real ClickHouse engine.
//
//	make bench-live                  # 24 million clicks, 2.4 million positions, twice
//	make bench-live EVENTS=2000000
//
// The processes read a log as fast as they can, into empty tables. There are two
// logs. One is of two minutes, a few windows, like that of a process that keeps up
// with very many events. The other is that of bench/pipeline, ten minutes, like
// that of a process that catches up: every flush writes to all windows, which
// makes live answers dearest. The measure is the CPU time of a weir process for
// each event until it has counted the last one, answers included: the median over
// the rounds of the ratio of the two sides. Both logs have the same floor.
//
// The two processes run at the same time on the same CPUs, so other work on the
// machine slows both down alike. Each has half of the CPU time, so it takes twice
// as long for the log as a process that runs alone. It is therefore asked half as
// often, and flushes half as often, so that the work per event is the same.
// Broker, engine and client use the other half of the CPUs, so that they do not
// take the caches of the measured processes. -rate 0 asks neither process, and so
// shows the noise of the measurement.
//
//	make bench-viewers
//
// asks by another way: a hundred viewers look at the page. For the reason above half as
// many do.
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

	"weir/bench/internal/testbed"
	"weir/bench/internal/viewers"
	"weir/demo/gen"
	"weir/internal/redistest"
	"weir/jobs"
	"weir/window"
)

var (
	bench  = testbed.Command("live")
	clicks = flag.Int64("events", 24_000_000, "clicks in a log; there are a tenth as many positions")
	rounds = flag.Int("rounds", 4, "measured rounds a side")
	rate   = flag.Int("rate", 100, "questions a second, for a process that runs alone; 0: none")
	watch  = flag.Bool("viewers", false, "viewers of the page ask, instead of the questions")
)

// An audience asks a process while it reads.
type audience struct {
	name string
	key  string // in the names of its databases
	// least is its floor: the events per CPU-second with it, relative to those without.
	least float64
	ask   func(t *turn, r *reader, counted <-chan struct{}) error
}

// audiences returns those that are measured.
func audiences() []audience {
	if !*watch {
		return []audience{{fmt.Sprintf("%d a second", *rate), "q", 0.90, func(t *turn, r *reader, counted <-chan struct{}) error {
			if *rate == 0 {
				return nil
			}
			return t.ask(r.resp, counted)
		}}}
	}
	return []audience{
		{"100 viewers", "v", 0.95, func(t *turn, r *reader, counted <-chan struct{}) error {
			seen, err := viewers.Watch(until(counted), r.http, 100/sharing, viewers.Questions)
			if err == nil && len(seen.First) == 0 {
				err = errors.New("no viewer got its answers")
			}
			t.slow = append(t.slow, seen.First...)
			return err
		}},
	}
}

// until returns a context that ends with a channel.
func until(done <-chan struct{}) context.Context {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		<-done
		end()
	}()
	return ctx
}

// A pace is a log to read: how far behind the processes start.
type pace struct {
	name  string
	topic string        // what its topics' names end in
	span  time.Duration // of the log
}

var paces = []pace{
	{"keeping up", "2m", 2 * time.Minute},
	{"catching up", "10m", 10 * time.Minute},
}

func main() { bench.Main(run) }

// sharing is how many processes run on the same CPUs.
const sharing = 2

// A turn is one reading of the log by one process.
type turn struct {
	wall, cpu time.Duration
	slow      []time.Duration // how long each answer took
}

func run(ctx context.Context) error {
	ours, others, err := halves()
	if err == nil {
		err = settle(&others)
	}
	if err != nil {
		return err
	}
	g, err := testbed.New()
	if err != nil {
		return err
	}
	defer g.Close()
	var report testbed.Report
	report.Say("# %d clicks and %d positions in %d partitions each, Kafka 4 with lz4, the real ClickHouse", *clicks, *clicks/10, testbed.Partitions)
	report.SayWhere()
	report.Say("# %d CPUs for weir, %d for broker, engine and client", ours.Count(), others.Count())
	var missed []string
	for _, p := range paces {
		if err := p.fill(ctx, g); err != nil {
			return err
		}
		for _, a := range audiences() {
			ratio, err := p.measure(g, a, &ours, &others, &report)
			if err != nil {
				return err
			}
			if ratio < a.least {
				missed = append(missed, a.name+", "+p.name)
			}
		}
	}
	return bench.Save(&report, missed)
}

// fill fills the topics.
func (p *pace) fill(ctx context.Context, g *testbed.Bed) error {
	return errors.Join(g.Fill(ctx, "clicks"+p.topic, kgo.Lz4Compression(), gen.Clicks, testbed.Traffic(2_000_000, *clicks), p.span, nil),
		g.Fill(ctx, "locations"+p.topic, kgo.Lz4Compression(), gen.Locations, testbed.Traffic(100_000, *clicks/10), p.span, nil))
}

// measure runs the rounds.
func (p *pace) measure(g *testbed.Bed, a audience, ours, others *unix.CPUSet, report *testbed.Report) (ratio float64, err error) {
	report.Say("# %s: a log of %v", p.name, p.span)
	report.Say("%-22s %14s %8s %8s %10s %10s %10s", "asked by", "events/CPU-s", "CPU s", "wall s", "asked/s", "median ms", "p99 ms")
	var sides [sharing][]turn
	for round := range *rounds + 1 { // the first is the warm-up
		pair, err := p.race(g, a, ours, others, round)
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
	for side, name := range []string{"none", a.name} {
		middle := func(of func(turn) time.Duration) float64 {
			var all []float64
			for _, t := range sides[side] {
				all = append(all, of(t).Seconds())
			}
			return testbed.Median(all)
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
	ratio = testbed.Median(ratios)
	report.Say("ratio %.4f, in the rounds %.3f to %.3f (floor %.2f)", ratio, slices.Min(ratios), slices.Max(ratios), a.least)
	return ratio, nil
}

// race runs both processes at the same time: one that gets questions and one that
// gets none. Each has a database and consumer groups of its own.
func (p *pace) race(g *testbed.Bed, a audience, ours, others *unix.CPUSet, round int) (pair [sharing]turn, err error) {
	var readers [sharing]*reader
	for side := range readers {
		if readers[side], err = newReader(g, fmt.Sprintf("bench_%s%s_%d_%d", a.key, p.topic, round, side), p.topic); err != nil {
			return pair, err
		}
	}
	var both errgroup.Group
	for i := range readers {
		side := (i + round) % sharing // each side starts first in half of the rounds
		both.Go(func() (err error) {
			var ask func(*turn, *reader, <-chan struct{}) error
			if side == 1 {
				ask = a.ask
			}
			pair[side], err = readers[side].read(ours, others, ask)
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

// A reader is a process that has not started yet, with its configuration and its
// tables.
type reader struct {
	bed        *testbed.Bed
	name, file string
	http, resp string // where it listens
}

func newReader(g *testbed.Bed, name, topic string) (*reader, error) {
	r := &reader{bed: g, name: name, file: filepath.Join(g.Dir, name+".yaml")}
	var err error
	for _, at := range []*string{&r.http, &r.resp} {
		if *at, err = testbed.FreeAddress(); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(`kafka: {brokers: [%[2]q], group: %[1]s}
clickhouse: {urls: %[3]q, database: %[1]s}
flush: {interval: %[4]s}
http: {listen: %[5]q}
resp: {listen: %[6]q}
jobs:
  - {name: clicks, topic: clicks%[7]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], by: [page], measures: [{name: users, kind: hll, field: user_id}]}
  - {name: locations, topic: locations%[7]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], measures: [{name: places, kind: geo, member: user_id, lon: lon, lat: lat}]}
`, name, g.Broker, g.Engine.URL, sharing*time.Second, r.http, r.resp, topic)
	if err := os.WriteFile(r.file, []byte(config), 0o644); err != nil {
		return nil, err
	}
	return r, bench.Migrate(r.file)
}

// read reads both topics to their ends, while ask runs, if it is not nil.
func (r *reader) read(ours, others *unix.CPUSet, ask func(*turn, *reader, <-chan struct{}) error) (t turn, err error) {
	var log bytes.Buffer
	cmd := exec.Command(bench.Weir, "run", "-c", r.file, "--until", "end")
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
		t.wall, t.cpu = time.Since(began), testbed.CPU(cmd.Process.Pid)
		return nil
	})
	if ask != nil {
		beside.Go(func() error { return ask(&t, r, counted) })
	}
	err = cmd.Wait()
	close(ended)
	if err := errors.Join(err, beside.Wait()); err != nil {
		return t, fmt.Errorf("%w\n%s", err, log.String())
	}
	return t, nil
}

// countsAll waits until the process has counted every event. It asks both sides
// for their status equally often.
func (r *reader) countsAll(ended <-chan struct{}) error {
	var failed error // of the last question: before it listens, each one fails
	for {
		select {
		case <-ended:
			return errors.Join(errors.New("it ended before it was seen to have counted everything"), failed)
		case <-time.After(100 * time.Millisecond):
		}
		var status []jobs.Status
		status, failed = testbed.Status(r.http)
		n := int64(0)
		for _, job := range status {
			n += int64(job.Records[window.Counted.String()])
		}
		if n == *clicks+*clicks/10 {
			return nil
		}
	}
}

// check compares the counts with the log, and drops the tables.
func (r *reader) check() error {
	err := r.bed.Engine.Check(*clicks+*clicks/10, r.name+".clicks_1m", r.name+".locations_1m")
	if err == nil {
		_, err = r.bed.Engine.Query("DROP DATABASE " + r.name)
	}
	return err
}

// ask sends questions at the rate until everything is counted, over so many
// connections that a slow answer does not delay other questions.
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

// ask asks one question a tick. No answer may be an error, and the numbers of one
// question must never fall.
func (a *asker) ask(at string, ticks <-chan int, counted <-chan struct{}) error {
	var c *redistest.Conn
	for {
		var err error
		if c, err = redistest.Dial(at); err == nil {
			break
		}
		select {
		case <-counted:
			return fmt.Errorf("no answer: %w", err)
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
			<-counted // the process closed the connection because it is done
			return nil
		}
		a.slow = append(a.slow, time.Since(began))
		n := int64(-1)
		switch r := reply.(type) {
		case redistest.Error:
			select {
			case <-counted: // a process that stops cancels the questions in flight
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
			continue // the question may be about another hour than before
		}
		key := fmt.Sprint(minute, q)
		if err != nil || n >= 0 && n < highest[key] {
			return fmt.Errorf("%v: %v after %d", q, reply, highest[key])
		}
		highest[key] = max(highest[key], n)
	}
	return nil
}

// question returns the i-th question. Of each ten, three are about the distinct users
// of the last hour on all pages, two about those on one page, two about the hits
// of one page, one about the hits of all pages, and two about the users near a
// place.
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
