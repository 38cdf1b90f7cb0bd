package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/ground"
	"weir/internal/await"
)

// How fresh the numbers are: eight processes of weir run count a steady flow into the real engine.
// The age of a partition is that of its oldest event that the ledger does not cover yet; so its
// rows may not be in ClickHouse. It grows from one flush to the next, also if nothing is restarted.

// beat is how often each partition gets an event, and about how often ages are looked at.
const beat = 50 * time.Millisecond

// A fleet is eight processes that count one topic.
type fleet struct {
	g         *ground.Ground
	name      string // of the database, the topic and the group
	file      string
	byNumber  bool
	addresses [members]string
	processes [members]*exec.Cmd
	log       await.Output

	mu   sync.Mutex
	sent [partitions][]time.Time // when each event was acknowledged, by offset
}

// measureFreshness restarts one process after the other, and reports the greatest ages of windows of
// the same length before and from a restart on.
func measureFreshness(ctx context.Context, g *ground.Ground, name string, byNumber bool, report *ground.Report) (added time.Duration, err error) {
	f := &fleet{g: g, name: name, byNumber: byNumber, file: filepath.Join(g.Dir, name+".yaml")}
	defer func() {
		if stopped := f.stop(); err == nil {
			err = stopped
		}
	}()
	if err := f.start(ctx); err != nil {
		return 0, err
	}
	flowing, end := context.WithCancel(ctx)
	flow := make(chan error, 1)
	go func() { flow <- f.flow(flowing) }()
	defer func() {
		end()
		err = errors.Join(err, <-flow)
	}()
	var before, meanwhile, own []time.Duration
	for round := range *rounds {
		if err := f.settle(); err != nil {
			return 0, err
		}
		i := round % members
		had, err := f.partitions(i)
		if err != nil {
			return 0, err
		}
		ages, err := f.ages(*window, had)
		if err != nil {
			return 0, err
		}
		before = append(before, ages[false])
		restarted := make(chan error, 1)
		go func() { restarted <- f.restart(i) }()
		ages, err = f.ages(*window, had)
		if err = errors.Join(err, <-restarted); err != nil {
			return 0, err
		}
		meanwhile, own = append(meanwhile, ages[false]), append(own, ages[true])
	}
	report.Say("%-24s %20s %20s %18s", map[bool]string{true: "weir, by number", false: "weir, group"}[byNumber], middle(before), middle(meanwhile), middle(own))
	return meanwhile[len(meanwhile)/2] - before[len(before)/2], nil
}

func (f *fleet) start(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.g.Broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, f.name); err != nil {
		return err
	}
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: %[2]s, session: %[3]s}
clickhouse: {url: %[4]q, database: %[2]s}
jobs:
  - {name: clicks, topic: %[2]s, time: {field: ts}, window: 1m, by: [page], measures: [{name: users, kind: hll, field: user}]}
`, f.g.Broker, f.name, session, f.g.Engine.URL)
	if err := os.WriteFile(f.file, []byte(config), 0o600); err != nil {
		return err
	}
	if err := bench.Migrate(f.file); err != nil {
		return err
	}
	for i := range members {
		if f.addresses[i], err = ground.FreeAddress(); err != nil {
			return err
		}
		if err := f.run(i); err != nil {
			return err
		}
	}
	return nil
}

// run starts process i.
func (f *fleet) run(i int) error {
	args := []string{"run", "-c", f.file, "--http.listen", f.addresses[i]}
	if f.byNumber {
		args = append(args, fmt.Sprintf("--kafka.member=%d/%d", i, members))
	}
	cmd := exec.Command(bench.Weir, args...)
	cmd.Stdout, cmd.Stderr = &f.log, &f.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	f.processes[i] = cmd
	return cmd.Start()
}

// end stops process i, as a rolling restart does.
func (f *fleet) end(i int) error {
	cmd := f.processes[i]
	if cmd == nil || cmd.Process == nil {
		return nil
	}
	f.processes[i] = nil
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		return fmt.Errorf("process %d: %w\n%s", i, err, f.log.String())
	}
	return nil
}

func (f *fleet) restart(i int) error {
	if err := f.end(i); err != nil {
		return err
	}
	return f.run(i)
}

func (f *fleet) stop() (err error) {
	for i := range members {
		err = errors.Join(err, f.end(i))
	}
	return err
}

// flow sends an event to each partition at each beat.
func (f *fleet) flow(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.g.Broker), kgo.DefaultProduceTopic(f.name), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	var mu sync.Mutex
	var failed error
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		for p := range int32(partitions) {
			now := time.Now()
			value := fmt.Appendf(nil, `{"ts":%d,"page":"/p/%d","user":%d}`, now.UnixMilli(), n%20, n)
			cl.Produce(context.WithoutCancel(ctx), &kgo.Record{Partition: p, Value: value, Timestamp: now}, func(r *kgo.Record, err error) {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
				f.mu.Lock() // records of a partition are acknowledged in their order
				f.sent[p] = append(f.sent[p], time.Now())
				f.mu.Unlock()
			})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	err = cl.Flush(context.WithoutCancel(ctx))
	mu.Lock()
	defer mu.Unlock()
	return errors.Join(err, failed)
}

// partitions returns which partitions a process reads.
func (f *fleet) partitions(i int) (has [partitions]bool, err error) {
	all, err := ground.Status(f.addresses[i])
	if err != nil {
		return has, err
	}
	for _, job := range all {
		for _, p := range job.Partitions {
			has[p.Partition] = true
		}
	}
	return has, nil
}

// settle waits until each process reads some partitions, and has for a while.
func (f *fleet) settle() error {
	for began, since := time.Now(), time.Now(); time.Since(began) < never; time.Sleep(200 * time.Millisecond) {
		owned := [partitions]int{}
		some := 0
		for i := range members {
			has, err := f.partitions(i)
			if err == nil && slices.Contains(has[:], true) {
				some++
			}
			for p := range has {
				if has[p] {
					owned[p]++
				}
			}
		}
		if some < members || slices.Contains(owned[:], 0) || slices.Max(owned[:]) > 1 {
			since = time.Now()
		}
		if time.Since(since) > 5*heartbeat {
			return nil
		}
	}
	return fmt.Errorf("the partitions never settled:\n%s", f.log.String())
}

// ages returns the greatest age within a time: of the partitions that are had, and of the others.
func (f *fleet) ages(within time.Duration, had [partitions]bool) (map[bool]time.Duration, error) {
	oldest := map[bool]time.Duration{}
	for began := time.Now(); time.Since(began) < within; time.Sleep(beat) {
		text, err := f.g.Engine.Query("SELECT partition, max(next) FROM " + f.name + ".weir_ledger WHERE job = 'clicks' GROUP BY partition")
		if err != nil {
			return nil, err
		}
		now := time.Now()
		next := [partitions]int{}
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			var p, n int
			if _, err := fmt.Sscan(line, &p, &n); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			next[p] = n
		}
		f.mu.Lock()
		for p := range next {
			if next[p] < len(f.sent[p]) {
				oldest[had[p]] = max(oldest[had[p]], now.Sub(f.sent[p][next[p]]))
			}
		}
		f.mu.Unlock()
	}
	return oldest, nil
}
