// Command latency measures what distance costs. It runs weir with round-trip times of 5,
// 20 and 50 ms to Kafka, to ClickHouse and to both. A proxy (bench/internal/far) delays
// the traffic to a real Kafka 4 broker and the real ClickHouse engine.
//
//	make bench-latency                  # ten million events, about a quarter of an hour
//	make bench-latency EVENTS=2000000
//
// Catch-up: a process reads a log of ten minutes to its end, as fast as it can. Its
// speed is measured from the first counted event to the last; the time before that is
// its start. The settings take turns. The best round of each setting is reported,
// because other work on the machine can only slow a round down.
//
// Freshness: a producer sends a thousand events a second. For fifteen seconds, the age
// of each event when it appears in the view is measured; the mean and the maximum are
// reported. Then a second process joins and the first is asked to stop. The maximum age
// meanwhile is the cost of the hand-over, and the time until the first process has ended
// is the stop.
//
// The first setting is the same proxy without a delay. In every setting, the producer
// and the client that asks for the view connect without the proxy.
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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/far"
	"weir/bench/internal/ground"
	"weir/event"
	"weir/gen"
	"weir/internal/kafkatest"
	"weir/jobs"
	"weir/window"
)

var (
	bench  = ground.Command("latency")
	events = flag.Int64("events", 10_000_000, "events in the log")
	rounds = flag.Int("rounds", 3, "rounds of catching up; the best counts")
	only   = flag.String("only", "", "catchup or fresh: measure nothing else")
)

// A setting has the round-trip times to Kafka and ClickHouse.
type setting struct{ kafka, clickhouse time.Duration }

func (s setting) String() string {
	return fmt.Sprintf("| %d ms | %d ms |", s.kafka.Milliseconds(), s.clickhouse.Milliseconds())
}

const ms = time.Millisecond

var (
	near     = setting{}
	settings = []setting{
		near,
		{kafka: 5 * ms}, {kafka: 20 * ms}, {kafka: 50 * ms},
		{clickhouse: 5 * ms}, {clickhouse: 20 * ms}, {clickhouse: 50 * ms},
		{5 * ms, 5 * ms}, {20 * ms, 20 * ms}, {50 * ms, 50 * ms},
	}
)

// The floors: a share of the speed without a delay, and an addition to the age.
const (
	speedAt20 = 0.85
	speedAt50 = 0.70
	freshAt20 = 100 * ms
)

// A result has the measurements of one setting.
type result struct {
	start, caught, cpu time.Duration // of the best round
	mean, longest      time.Duration // how old an event is when it is in the view
	handOver, stop     time.Duration
}

func (r result) speed() float64 { return float64(*events) / r.caught.Seconds() }

func main() { bench.Main(run) }

// A testbed is a broker and an engine with a proxy in front of each.
type testbed struct {
	*ground.Ground
	kafka, clickhouse *far.Link
	n                 int // number of names that were made
}

func run(ctx context.Context) error {
	s := &testbed{}
	var err error
	if s.kafka, err = far.Open(); err != nil {
		return err
	}
	defer s.kafka.Close()
	if s.clickhouse, err = far.Open(); err != nil {
		return err
	}
	defer s.clickhouse.Close()
	// The broker tells clients of this listener the proxy's address.
	if s.Ground, err = ground.New(kafkatest.Listener{Name: "FAR", Security: "PLAINTEXT", Advertise: s.kafka.Addr()}); err != nil {
		return err
	}
	defer s.Close()
	s.kafka.To(s.Kafka.Listener("FAR")[0])
	s.clickhouse.To(strings.TrimPrefix(s.Engine.URL, "http://"))

	var report ground.Report
	report.Say("# catching up: %d events of about 190 bytes, lz4, 1,000 pages, %d partitions of one broker, HLL users by page and minute, best of %d rounds", *events, ground.Partitions, *rounds)
	report.Say("# then 1,000 events a second, flush.interval 1s; each figure with the engine and the broker on the same CPUs")
	report.SayWhere()
	results := make([]result, len(settings))
	if *only != "fresh" {
		if err := s.Fill(ctx, "log", kgo.Lz4Compression(), gen.Clicks, ground.Traffic(2_000_000, *events), 10*time.Minute, nil); err != nil {
			return err
		}
		for round := range *rounds + 1 { // the first is the warm-up
			for i, at := range settings {
				if round == 0 && i > 0 {
					break
				}
				r, err := s.catchUp(at)
				if err != nil {
					return fmt.Errorf("%v catching up: %w", at, err)
				}
				if best := &results[i]; round > 0 && (best.caught == 0 || r.caught < best.caught) {
					*best = r
				}
			}
		}
	}
	if *only != "catchup" {
		for i, at := range settings {
			if err := s.keepUp(ctx, at, &results[i]); err != nil {
				return fmt.Errorf("%v keeping up: %w", at, err)
			}
		}
	}
	return say(&report, results)
}

func say(report *ground.Report, results []result) error {
	report.Say("| Kafka | ClickHouse | events/s | of near | events/CPU-s | start | in the view, mean | longest | hand-over | stop |")
	report.Say("|---|---|---|---|---|---|---|---|---|---|")
	var missed []string
	holds := func(what string, at setting, ok bool) {
		if !ok {
			missed = append(missed, fmt.Sprintf("%s at %v", what, at))
		}
	}
	base := results[0]
	for i, at := range settings {
		r := results[i]
		catching, fresh := "| | | | |", " | | | |"
		if *only != "fresh" {
			share := r.speed() / base.speed()
			catching = fmt.Sprintf("%.2f million | %.0f %% | %.2f million | %.1f s |", r.speed()/1e6, 100*share, float64(*events)/r.cpu.Seconds()/1e6, r.start.Seconds())
			holds("catch-up speed", at, at != setting{kafka: 20 * ms} || share >= speedAt20)
			holds("catch-up speed", at, at != setting{kafka: 50 * ms} || share >= speedAt50)
		}
		if *only != "catchup" {
			fresh = fmt.Sprintf(" %.2f s | %.1f s | %.1f s | %.1f s |", r.mean.Seconds(), r.longest.Seconds(), r.handOver.Seconds(), r.stop.Seconds())
			holds("freshness", at, at != setting{clickhouse: 20 * ms} || r.mean-base.mean <= freshAt20)
		}
		report.Say("%v %s%s", at, catching, fresh)
	}
	report.Say("floors: %.0f %% of the near speed with 20 ms to Kafka, %.0f %% with 50 ms; at most %v more in the view with 20 ms to ClickHouse: missed %d", 100*speedAt20, 100*speedAt50, freshAt20, len(missed))
	return bench.Save(report, missed)
}

// A process is a running `weir run`, with its log.
type process struct {
	cmd   *exec.Cmd
	http  string
	began time.Time
	log   bytes.Buffer
	ended chan error
}

// names returns a new name for the tables of a measurement.
func (s *testbed) names(at setting) string {
	s.kafka.RoundTrip(at.kafka)
	s.clickhouse.RoundTrip(at.clickhouse)
	s.n++
	return fmt.Sprintf("latency_%d", s.n)
}

// configure writes a configuration with the addresses of the proxies.
func (s *testbed) configure(name, member, topic string) (file, listen string, err error) {
	if listen, err = ground.FreeAddress(); err != nil {
		return "", "", err
	}
	file = filepath.Join(s.Dir, name+member+".yaml")
	return file, listen, os.WriteFile(file, fmt.Appendf(nil, `kafka: {brokers: [%q], group: %s}
clickhouse: {url: "http://%s", database: %[2]s}
http: {listen: %[4]q}
jobs:
  - {name: clicks, topic: %[5]s, time: {field: ts, unit: ms}, window: 1m, rollups: [1m], by: [page], measures: [{name: users, kind: hll, field: user_id}]}
`, s.kafka.Addr(), name, s.clickhouse.Addr(), listen, topic), 0o600)
}

func start(file, listen string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(bench.Weir, append([]string{"run", "-c", file}, args...)...), http: listen, began: time.Now(), ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// status returns the status of the process's job; nil if it does not answer yet.
func (p *process) status() *jobs.Status {
	all, err := ground.Status(p.http)
	if err != nil || len(all) != 1 {
		return nil
	}
	return &all[0]
}

// until waits until a condition on the status holds.
func (p *process) until(what string, holds func(*jobs.Status) bool) error {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * ms) {
		if at := p.status(); at != nil && holds(at) {
			return nil
		}
		select {
		case err := <-p.ended:
			return fmt.Errorf("it ended before %s: %w\n%s", what, err, p.log.String())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within ten minutes: %s", what)
		}
	}
}

// end asks the process to stop, and returns how long that took.
func (p *process) end() (time.Duration, error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	if err := <-p.ended; err != nil {
		return 0, fmt.Errorf("it ended with %w\n%s", err, p.log.String())
	}
	return time.Since(began), nil
}

func counted(at *jobs.Status) int64 { return int64(at.Records[window.Counted.String()]) }

// catchUp measures a process that reads the log to its end.
func (s *testbed) catchUp(at setting) (r result, err error) {
	name := s.names(at)
	file, listen, err := s.configure(name, "", "log")
	if err == nil {
		err = bench.Migrate(file)
	}
	if err != nil {
		return r, err
	}
	p, err := start(file, listen)
	if err != nil {
		return r, err
	}
	defer p.cmd.Process.Kill() //nolint:errcheck // it has ended already, unless something failed
	var first time.Time
	var before int64
	if err := p.until("everything was counted", func(at *jobs.Status) bool {
		n := counted(at)
		if n > 0 && first.IsZero() {
			first, before = time.Now(), n
		}
		return n == *events
	}); err != nil {
		return r, err
	}
	r.start, r.caught = first.Sub(p.began), time.Since(first)
	r.cpu = ground.CPU(p.cmd.Process.Pid)
	// The events that were counted before the first answer are assumed to have been
	// counted at the same speed.
	r.caught = time.Duration(float64(r.caught) * float64(*events) / float64(*events-before))
	if _, err := p.end(); err != nil {
		return r, err
	}
	return r, s.check(name, *events)
}

func (s *testbed) check(name string, want int64) error {
	err := s.Engine.Check(want, name+".clicks_1m")
	if err == nil {
		_, err = s.Engine.Query("DROP DATABASE " + name)
	}
	return err
}

// ages has the ages of events when they are first seen in the view.
type ages struct {
	mu   sync.Mutex
	made []time.Time // when each event was made, in the order of the log
	seen int         // how many of them the view has had
	all  []time.Duration
}

// take notes that the view has n events.
func (a *ages) take(n int, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; a.seen < min(n, len(a.made)); a.seen++ {
		a.all = append(a.all, now.Sub(a.made[a.seen]))
	}
}

// reset returns the mean and the greatest of the ages so far, and forgets them.
func (a *ages) reset() (mean, longest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) == 0 {
		return 0, 0
	}
	var sum time.Duration
	for _, d := range a.all {
		sum += d
	}
	mean, longest = sum/time.Duration(len(a.all)), slices.Max(a.all)
	a.all = a.all[:0]
	return mean, longest
}

// produce sends a thousand clicks a second until ctx ends, to the partitions in turn and
// without the proxy.
func (s *testbed) produce(ctx context.Context, topic string, a *ages) error {
	cfg := gen.Default()
	cfg.Start, cfg.Rate = event.Time(time.Now().UnixMilli()), 1000
	made, err := gen.Clicks(cfg)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Broker), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	tick := time.NewTicker(10 * ms)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return client.Flush(context.Background())
		case <-tick.C:
		}
		for range 10 {
			r := new(gen.Record)
			made.Next(r)
			a.mu.Lock()
			a.made = append(a.made, time.Now())
			a.mu.Unlock()
			client.Produce(context.Background(), &kgo.Record{Value: r.Value}, nil)
		}
	}
}

// keepUp measures a process that keeps up with traffic and then hands over to another.
func (s *testbed) keepUp(ctx context.Context, at setting, r *result) error {
	name := s.names(at)
	topic := name
	if err := s.Create(ctx, topic); err != nil {
		return err
	}
	var members [2]*process
	var files, listens [2]string
	for i, m := range []string{"a", "b"} {
		var err error
		if files[i], listens[i], err = s.configure(name, m, topic); err != nil {
			return err
		}
	}
	if err := bench.Migrate(files[0]); err != nil {
		return err
	}
	join := func(i, partitions int) (err error) {
		if members[i], err = start(files[i], listens[i]); err != nil {
			return err
		}
		return members[i].until("it had its partitions", func(at *jobs.Status) bool {
			return at.State == "running" && len(at.Partitions) == partitions
		})
	}
	defer func() {
		for _, p := range members {
			if p != nil {
				p.cmd.Process.Kill() //nolint:errcheck // it has ended already, unless something failed
			}
		}
	}()
	if err := join(0, ground.Partitions); err != nil {
		return err
	}
	a := &ages{}
	producing, stop := context.WithCancel(ctx)
	var both sync.WaitGroup
	var produced, asked error
	watching, enough := context.WithCancel(ctx)
	both.Go(func() { produced = s.produce(producing, topic, a) })
	both.Go(func() {
		for watching.Err() == nil && asked == nil {
			var text string
			now := time.Now() // before the question, so the age may be a little too low
			if text, asked = s.Engine.Query("SELECT sum(hits) FROM " + name + ".clicks_1m"); asked == nil {
				var n int
				n, asked = strconv.Atoi(text)
				a.take(n, now)
			}
			time.Sleep(40 * ms)
		}
	})
	err := func() (err error) {
		defer func() { stop(); enough(); both.Wait() }()
		time.Sleep(5 * time.Second)
		a.reset()
		time.Sleep(15 * time.Second)
		r.mean, r.longest = a.reset()
		if err := join(1, ground.Partitions/2); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		a.reset()
		if r.stop, err = members[0].end(); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		_, r.handOver = a.reset()
		stop()
		time.Sleep(2 * time.Second)
		_, err = members[1].end()
		return err
	}()
	if err := errors.Join(err, produced, asked); err != nil {
		return err
	}
	return s.check(name, int64(len(a.made)))
}
