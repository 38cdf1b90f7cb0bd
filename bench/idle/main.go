// Command idle measures what running jobs cost at a low rate, and without any traffic:
// the shares of a core that weir and the ClickHouse engine use, with one process and with
// three of a group, on a real Kafka 4 broker and the real engine, in one run.
//
//	make bench-idle
//
// Two jobs run, of clicks and of positions, with rollups of a minute, an hour and a day.
// First there are 2,500 events a second, then a hundred viewers of the page besides, then
// neither. What the engine uses before any job runs is measured first; the figures without
// traffic are above it. Last comes the demo, weir up at its default rate: its process, which
// is broker and generator, together with its worker, which has the jobs; and its engine.
//
// Except in the demo, the engine is ClickHouse with its own HTTP listener, as on a server.
// It has its data in memory, if the system has a file system there. An insert makes
// seventeen small files. On an ext4 without a journal each new file looks at all inodes that
// were deleted in the last minutes, so what that takes depends on what ran before.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/bench/internal/testbed"
	"weir/bench/internal/viewers"
	"weir/demo/gen"
	"weir/internal/await"
)

var (
	bench  = testbed.Command("idle")
	during = flag.Duration("for", 2*time.Minute, "how long each state is measured")
	only   = flag.Int("processes", 0, "measure so many processes only, 1 or 3, and no demo; 0: all")
	dir    = flag.String("dir", memory(), "the directory in which the engine has its data; empty: that for temporary files")
	clicks = flag.Int64("clicks", 2000, "clicks a second; there are a quarter as many positions")
)

// members are the numbers of processes, with the floors of the engine's shares: of a
// core, with traffic, and without, above what it uses alone.
var members = []struct {
	n              int
	traffic, still float64
}{{1, 0.08, 0.01}, {3, 0.10, 0.01}}

// The floors of the shares of the demo: of weir's two processes, and of its engine.
const (
	demoWeir   = 0.12
	demoEngine = 0.10
	demoRate   = 2500 // events a second, of both topics
)

// The floors of a hundred viewers that look at one process at the page's usual questions:
// what they add to the process's share of a core, how long the slowest in twenty waits for
// its first numbers, and the time between two answers that only one in twenty exceeds.
const (
	lookers     = 100
	lookShare   = 0.02
	lookFirst   = time.Second
	lookBetween = 2 * time.Second
)

// warmUp is how long traffic flows before it is measured, and rest how long there is none
// before that is measured: a minute until partitions count as idle, so that the last windows
// are complete and rolled up, and another one until the jobs, with nothing to do, ask less often.
const (
	warmUp = 45 * time.Second
	rest   = 150 * time.Second
)

func main() { bench.Main(run) }

// memory returns the directory of a file system in memory; empty: there is none.
func memory() string {
	const shared = "/dev/shm"
	if _, err := os.Stat(shared); err != nil {
		return ""
	}
	return shared
}

func run(ctx context.Context) error {
	if *only != 0 && *only != 1 && *only != 3 {
		return fmt.Errorf("-processes %d; want 1 or 3, or 0 for all", *only)
	}
	testbed.Root = *dir
	g, err := testbed.New()
	if err != nil {
		return err
	}
	defer g.Close()
	var report testbed.Report
	report.Say("# %d clicks and %d positions a second in %d partitions each, jobs with rollups of 1m, 1h, 1d; then none", *clicks, *clicks/4, testbed.Partitions)
	report.SayWhere()
	report.Say("# the engine's data in %s", filepath.Dir(g.Dir))
	report.Say("# shares of a core; statements a second that the engine ran")
	report.Say("%-12s %-9s %9s %9s %13s", "processes", "traffic", "engine", "weir", "statements/s")
	alone, err := observe(g, nil)
	if err != nil {
		return err
	}
	report.Say("%-12d %-9s %8.1f%% %9s %13.1f", 0, "none", 100*alone.engine, "-", alone.statements)
	var missed []string
	for _, m := range members {
		if *only != 0 && *only != m.n {
			continue
		}
		group, err := start(ctx, g, m.n)
		if err != nil {
			return err
		}
		busy, looked, still, err := group.measure(ctx)
		if err = errors.Join(err, group.stop()); err != nil {
			return err
		}
		report.Say("%-12d %-9s %8.1f%% %8.1f%% %13.1f", m.n, fmt.Sprintf("%d/s", *clicks+*clicks/4), 100*busy.engine, 100*busy.weir, busy.statements)
		if m.n == 1 {
			first, between := viewers.At(looked.seen.First, 0.95), viewers.At(looked.seen.Gaps, 0.95)
			report.Say("%-12d %-9s %8.1f%% %8.1f%% %13.1f", m.n, "viewers", 100*looked.engine, 100*looked.weir, looked.statements)
			report.Say("%d viewers: %.1f%% of a core more (floor %.0f%%); first numbers after %.2f s (floor %.0f s), then every %.2f s (floor %.0f s), at the 95th percentile", lookers, 100*(looked.weir-busy.weir), 100*lookShare, first.Seconds(), lookFirst.Seconds(), between.Seconds(), lookBetween.Seconds())
			if looked.weir-busy.weir > lookShare {
				missed = append(missed, "what viewers cost")
			}
			if first > lookFirst || between > lookBetween {
				missed = append(missed, "how long viewers wait")
			}
		}
		report.Say("%-12d %-9s %8.1f%% %8.1f%% %13.1f", m.n, "none", 100*still.engine, 100*still.weir, still.statements)
		above := still.engine - alone.engine
		report.Say("processes %d: engine %.1f%% (floor %.0f%%); without traffic %.2f%% above the engine alone (floor %.0f%%)", m.n, 100*busy.engine, 100*m.traffic, 100*above, 100*m.still)
		if busy.engine > m.traffic {
			missed = append(missed, fmt.Sprintf("%d processes with traffic", m.n))
		}
		if above > m.still {
			missed = append(missed, fmt.Sprintf("%d processes without traffic", m.n))
		}
	}
	if *only != 0 {
		return bench.Save(&report, missed)
	}
	up, rate, err := demo(g)
	if err != nil {
		return err
	}
	report.Say("weir up: its two processes %.1f%% (floor %.0f%%), its engine %.1f%% (floor %.0f%%), with %.0f events/s in ClickHouse", 100*up.weir, 100*demoWeir, 100*up.engine, 100*demoEngine, rate)
	if rate < 0.95*demoRate {
		missed = append(missed, "events a second of weir up, because the machine is busy: its shares mean nothing")
	}
	if up.weir > demoWeir {
		missed = append(missed, "the processes of weir up")
	}
	if up.engine > demoEngine {
		missed = append(missed, "the engine of weir up")
	}
	return bench.Save(&report, missed)
}

// shares are what was used while it was observed: of a core, and statements a second.
type shares struct{ engine, weir, statements float64 }

// looked is what was used, and seen, while viewers looked.
type looked struct {
	shares
	seen viewers.Seen
}

// observe measures the engine and these processes.
func observe(g *testbed.Bed, processes []*exec.Cmd) (s shares, err error) {
	cpu := func() (sum time.Duration) {
		for _, p := range processes {
			sum += testbed.CPU(p.Process.Pid)
		}
		return sum
	}
	count := func() (n float64, err error) {
		text, err := g.Engine.Query("SELECT value FROM system.events WHERE event = 'Query'")
		if err == nil {
			_, err = fmt.Sscan(text, &n)
		}
		return n, err
	}
	began, engine, weir := time.Now(), g.Engine.CPU(), cpu()
	before, err := count()
	if err != nil {
		return s, err
	}
	time.Sleep(*during)
	after, err := count()
	took := time.Since(began).Seconds()
	return shares{(g.Engine.CPU() - engine).Seconds() / took, (cpu() - weir).Seconds() / took, (after - before) / took}, err
}

// A group is some processes that run the same jobs.
type group struct {
	bed       *testbed.Bed
	name      string // of the database, the consumer group, and the end of the topics' names
	http      string // where its process answers, if it is one
	processes []*exec.Cmd
	log       await.Output
}

func start(ctx context.Context, g *testbed.Bed, n int) (*group, error) {
	p := &group{bed: g, name: fmt.Sprint("idle", n), http: "127.0.0.1:0"}
	if n == 1 {
		var err error
		if p.http, err = testbed.FreeAddress(); err != nil {
			return nil, err
		}
	}
	for _, topic := range []string{"clicks_", "locations_"} {
		if err := g.Create(ctx, topic+p.name); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(g.Dir, p.name+".yaml")
	config := fmt.Sprintf(`kafka: {brokers: [%[2]q], group: %[1]s}
clickhouse: {urls: %[3]q, database: %[1]s}
http: {listen: %[4]q}
jobs:
  - {name: clicks, topic: clicks_%[1]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m, 1h, 1d], by: [page], measures: [{name: users, kind: hll, field: user_id}, {name: active, kind: bitmap, field: user_id}]}
  - {name: locations, topic: locations_%[1]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m, 1h, 1d], by: [{name: cell, geohash: {lon: lon, lat: lat, precision: 5}}], measures: [{name: users, kind: hll, field: user_id}, {name: places, kind: geo, member: user_id, lon: lon, lat: lat}]}
`, p.name, g.Broker, g.Engine.URL, p.http)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return nil, err
	}
	if err := bench.Migrate(file); err != nil {
		return nil, err
	}
	for range n {
		cmd := exec.Command(bench.Weir, "run", "-c", file)
		cmd.Stdout, cmd.Stderr = &p.log, &p.log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, p.stop())
		}
		p.processes = append(p.processes, cmd)
	}
	return p, nil
}

// measure measures the group with traffic, with viewers too if it is one process, and
// without either, and compares the counts with what was sent.
func (p *group) measure(ctx context.Context) (busy shares, l looked, still shares, err error) {
	flowing, end := context.WithCancel(ctx)
	defer end()
	type result struct {
		sent int64
		err  error
	}
	sent := make(chan result)
	flow := func(topic string, traffic func(gen.Config) (*gen.Generator, error), rate int64) {
		n, err := p.bed.Flow(flowing, topic+p.name, traffic, rate)
		sent <- result{n, err}
	}
	go flow("clicks_", gen.Clicks, *clicks)
	go flow("locations_", gen.Locations, *clicks/4)
	time.Sleep(warmUp)
	if busy, err = observe(p.bed, p.processes); err == nil && len(p.processes) == 1 {
		l, err = p.look(ctx)
	}
	end()
	total := int64(0)
	for range 2 {
		r := <-sent
		total += r.sent
		err = errors.Join(err, r.err)
	}
	if err != nil {
		return busy, l, still, err
	}
	time.Sleep(rest)
	if still, err = observe(p.bed, p.processes); err == nil {
		err = p.bed.Engine.Check(total, p.name+".clicks_1m", p.name+".locations_1m")
	}
	return busy, l, still, err
}

// look measures the process while viewers look at it.
func (p *group) look(ctx context.Context) (l looked, err error) {
	looking, away := context.WithCancel(ctx)
	defer away()
	watched := make(chan error)
	go func() {
		var err error
		l.seen, err = viewers.Watch(looking, p.http, lookers, append(viewers.Questions, viewers.Again...))
		watched <- err
	}()
	l.shares, err = observe(p.bed, p.processes)
	away()
	err = errors.Join(err, <-watched)
	if err == nil && len(l.seen.First) != lookers {
		err = fmt.Errorf("%d viewers got their numbers, want %d, each once", len(l.seen.First), lookers)
	}
	return l, err
}

// stop ends the processes and waits for them.
func (p *group) stop() (err error) {
	for _, cmd := range p.processes {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM))
	}
	for _, cmd := range p.processes {
		err = errors.Join(err, cmd.Wait())
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.log.String())
	}
	return nil
}

// demo runs weir up at its default rate, and measures its process with its worker, its engine,
// and how many events a second become durable.
func demo(g *testbed.Bed) (s shares, rate float64, err error) {
	address, err := testbed.FreeAddress()
	if err != nil {
		return s, 0, err
	}
	var log await.Output
	cmd := exec.Command(bench.Weir, "up", "--data", filepath.Join(g.Dir, "up"), "--http.listen", address)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return s, 0, err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGINT), cmd.Wait())
		if err != nil {
			err = fmt.Errorf("weir up: %w\n%s", err, log.String())
		}
	}()
	time.Sleep(warmUp)
	engine, worker, err := childrenOf(cmd.Process.Pid)
	if err != nil {
		return s, 0, err
	}
	before, err := durable(address)
	if err != nil {
		return s, 0, err
	}
	weir := func() time.Duration { return testbed.CPU(cmd.Process.Pid) + testbed.CPU(worker) }
	began, ofEngine, ofWeir := time.Now(), testbed.CPU(engine), weir()
	time.Sleep(*during)
	after, err := durable(address)
	took := time.Since(began).Seconds()
	s.engine, s.weir = (testbed.CPU(engine)-ofEngine).Seconds()/took, (weir()-ofWeir).Seconds()/took
	return s, float64(after-before) / took, err
}

// durable returns how many records of all topics are in ClickHouse, says the process that
// answers HTTP there.
func durable(address string) (n int64, err error) {
	all, err := testbed.Status(address)
	for _, job := range all {
		for _, p := range job.Partitions {
			n += p.Durable
		}
	}
	return n, err
}

// childrenOf returns the two processes that a weir up has started: the engine, and the worker
// with the jobs.
func childrenOf(pid int) (engine, worker int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0, err
	}
	all := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // the process has ended
			continue
		}
		// pid (name) state parent …, and a name may have spaces and brackets
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), ") ")
		if f := strings.Fields(rest); len(f) < 2 || f[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return 0, 0, err
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil {
			return 0, 0, err
		}
		if all++; strings.Contains(string(command), "\x00engine\x00") {
			engine = child
		} else {
			worker = child
		}
	}
	if all != 2 || engine == 0 || worker == 0 {
		return 0, 0, fmt.Errorf("it has %d child processes, want two, the engine and the worker", all)
	}
	return engine, worker, nil
}
