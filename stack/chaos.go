package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/gen"
)

// This file runs cycles of faults against the three brokers of the stack; see brokers.go. In each cycle a
// producer writes clicks, of which the exact counts are known, while one strike hits a
// broker. After the cycle the counts are compared: hits and the exact users of every
// page and minute, and the result of weir verify.

// A strike is what happens to the containers in the middle of a cycle's traffic.
type strike struct {
	name string
	run  func(c *chaos, ctx context.Context) error
}

// session is how long a silent member keeps its partitions: kafka.session of weir.yaml.
const session = 10 * time.Second

type chaos struct {
	*check
	random  *rand.Rand
	truth   truth
	events  int64
	counted []time.Duration // by cycle, how long after its end every click was counted
}

// cycles runs n cycles. Each kind of strike comes once, in random order, before any comes
// again.
func (c *chaos) cycles(ctx context.Context, n int, seed uint64) (err error) {
	if c.env, err = readEnv("demo.env"); err != nil {
		return err
	}
	if _, err := c.compose(ctx, "build", "weir"); err != nil {
		return err
	}
	services := append([]string{"clickhouse", "weir"}, nodes...)
	if err := c.publish(ctx, services...); err != nil {
		return err
	}
	if _, err := c.compose(ctx, append([]string{"up", "--detach", "--no-build", "--wait"}, services...)...); err != nil {
		return err
	}
	say("%d cycles of seed %d", n, seed)
	c.random, c.truth = rand.New(rand.NewPCG(seed, 0)), truth{}
	var order []int
	for i := range n {
		if len(order) == 0 {
			order = c.random.Perm(len(strikes))
		}
		if err := c.cycle(ctx, i, strikes[order[0]]); err != nil {
			return fmt.Errorf("cycle %d of seed %d, %s: %w", i+1, seed, strikes[order[0]].name, err)
		}
		order = order[1:]
	}
	ok("%d cycles: %d clicks, %d pages and minutes, 0 lost, 0 doubled, the same users, weir verify clean", n, c.events, len(c.truth))
	slices.Sort(c.counted)
	ok("all counted after a strike's and the traffic's end: median %.1f s, longest %.1f s (floor %v)", c.counted[len(c.counted)/2].Seconds(), c.counted[len(c.counted)-1].Seconds(), freshWithin)
	return c.floorsHold()
}

// cycle runs traffic with a strike in the middle, then compares the counts.
func (c *chaos) cycle(ctx context.Context, i int, s strike) error {
	if err := c.whole(ctx); err != nil {
		return err
	}
	began := time.Now()
	traffic := make(chan error, 1)
	go func() { traffic <- c.produce(ctx, uint64(i+1), 1000, 12_000) }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(1000+c.random.IntN(4000)) * time.Millisecond):
	}
	if err := s.run(c, ctx); err != nil {
		return err
	}
	healed := time.Now()
	if err := <-traffic; err != nil {
		return err
	}
	produced := time.Now()
	if err := c.wait(ctx, "every click counted", func() error { return c.compare(ctx) }); err != nil {
		return err
	}
	counted := time.Since(latest(produced, healed))
	if _, err := c.weir(ctx, "verify"); err != nil {
		return err
	}
	c.counted = append(c.counted, counted)
	verdict := ""
	if counted > freshWithin {
		verdict = "  MISSED"
		c.missed = append(c.missed, fmt.Sprintf("cycle %d, %s", i+1, s.name))
	}
	fmt.Printf("%3d  %-22s %5.1f s, all counted %4.1f s after its end%s\n", i+1, s.name, time.Since(began).Seconds(), counted.Seconds(), verdict)
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// client returns a client of Kafka outside of the containers.
func (c *chaos) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.kafka...), kgo.MetadataMinAge(100 * time.Millisecond), kgo.AlwaysRetryEOF()}, opts...)...)
}

// produce sends clicks from outside of the containers, and adds their counts to the
// truth. The producer is idempotent, waits for all acknowledgements and retries without
// end, so that each click is in the log once, whatever happens to the brokers.
func (c *chaos) produce(ctx context.Context, seed uint64, rate, events int64) error {
	config := gen.Default()
	config.Seed, config.Start, config.Rate, config.Events, config.Pages, config.Users = seed, event.Time(time.Now().UnixMilli()), rate, events, 50, 20_000
	clicks, err := gen.Clicks(config)
	if err != nil {
		return err
	}
	client, err := c.client(kgo.DefaultProduceTopic("clicks"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	t := gen.NewTruth(gen.Rules{Window: 60_000, Lateness: 86_400_000, Skew: 600_000}) // of weir.yaml
	var failed error                                                                  // of the client's one goroutine, until Flush
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		r := new(gen.Record) // a new one each: the client keeps the value until it is sent
		if !clicks.Next(r) {
			tick.Stop()
			break
		}
		for time.Until(time.UnixMilli(int64(r.Time))) > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		client.Produce(ctx, &kgo.Record{Value: r.Value, Timestamp: time.UnixMilli(int64(r.Time))}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
			t.Add(r)
		})
	}
	if err := errors.Join(client.Flush(ctx), failed); err != nil {
		return err
	}
	for g, n := range t.Counts {
		gen.Merge(c.truth, place(g.Window, g.Name), n)
		c.events += n.Hits
	}
	return nil
}

// A truth has the exact counts of all clicks that were produced, by minute and page.
type truth map[string]*gen.Count

func place(window event.Time, page string) string { return fmt.Sprintf("%d\t%s", window/1000, page) }

// compare compares the view's hits, and the users in the bitmaps, with the truth.
func (c *chaos) compare(ctx context.Context) error {
	text, err := c.sql(ctx, "grafana", `
		SELECT toUnixTimestamp(window_start) AS t, page, n, ids
		FROM (SELECT window_start, page, sum(hits) AS n FROM clicks_1m GROUP BY window_start, page) AS view
		JOIN (SELECT window_start, page, arraySort(bitmapToArray(groupBitmapMergeState(active))) AS ids FROM clicks_state GROUP BY window_start, page) AS states
		USING (window_start, page)`)
	if err != nil {
		return err
	}
	return c.truth.differs(text)
}

// differs returns an error if rows of minute, page, hits and users differ from the truth.
func (t truth) differs(rows string) error {
	seen, wrong := 0, ""
	for row := range strings.Lines(rows) {
		f := strings.SplitN(strings.TrimSuffix(row, "\n"), "\t", 4)
		if len(f) != 4 {
			return fmt.Errorf("a row of %d columns: %q", len(f), row)
		}
		want := t[f[0]+"\t"+f[1]]
		if want == nil {
			return fmt.Errorf("minute %s has page %s, which no click named", f[0], f[1])
		}
		seen++
		var ids []string
		for _, id := range slices.Sorted(maps.Keys(want.Users)) {
			ids = append(ids, strconv.FormatUint(uint64(id), 10))
		}
		if people := "[" + strings.Join(ids, ",") + "]"; f[2] != strconv.FormatInt(want.Hits, 10) || f[3] != people {
			wrong = fmt.Sprintf("minute %s, page %s: %s hits, want %d; %d bytes of people, want %d", f[0], f[1], f[2], want.Hits, len(f[3]), len(people))
		}
	}
	if wrong != "" || seen != len(t) {
		return fmt.Errorf("%d of %d pages and minutes; %s", seen, len(t), wrong)
	}
	return nil
}

// killProcess kills a container's processes, as a crash does. The restart policy starts
// the container again.
func (c *chaos) killProcess(ctx context.Context, service string) error {
	text, err := c.inspect(ctx, service, "{{.State.Pid}}")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return fmt.Errorf("%s has process %q", service, text)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return c.wait(ctx, service+" started again", func() error {
		again, err := c.inspect(ctx, service, "{{.State.Pid}}")
		if err == nil && (again == text || again == "0") {
			err = errors.New("not yet")
		}
		if err != nil {
			return err
		}
		return c.healthy(ctx, service)
	})
}

// between runs a docker command, waits, and runs the command that undoes it.
func (c *chaos) between(ctx context.Context, long time.Duration, do, undo []string) error {
	// On a busy machine the kernel does not freeze a container at the first try.
	if err := c.wait(ctx, strings.Join(do, " "), func() error { return c.run(ctx, "docker", do...) }); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
	return c.run(context.WithoutCancel(ctx), "docker", undo...)
}
