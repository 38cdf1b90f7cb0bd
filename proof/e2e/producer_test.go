//go:build prove

package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/gen"
	"weir/event"
	"weir/internal/await"
)

// A producer writes clicks at a steady rate until it is stopped, and keeps the
// truth about the records that the broker acknowledged. It is idempotent and
// repeats a record until it is acknowledged, so the log has every record of the
// truth once.
type producer struct {
	t      *testing.T
	client *kgo.Client
	rate   int

	work   sync.Mutex // held while records are made, and while paused
	paused bool       // of the test's goroutine

	mu      sync.Mutex // guards what follows
	truth   *gen.Truth
	records int64 // acknowledged, those of committed transactions among them
	failed  error
}

// clicksRules are the rules of clicksJob and of the arena's job.
var clicksRules = gen.Rules{Window: 60_000, Lateness: 86_400_000, Skew: 600_000}

// produce starts a producer, paused.
func produce(t *testing.T, brokers []string, topic string, cfg gen.Config) *producer {
	t.Helper()
	g, err := gen.Clicks(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.UnknownTopicRetries(-1), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	p := &producer{t: t, client: client, rate: int(cfg.Rate), paused: true, truth: gen.NewTruth(clicksRules)}
	p.work.Lock()
	ctx, stop := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() { p.loop(ctx, g) })
	t.Cleanup(func() {
		stop()
		if p.paused {
			p.work.Unlock()
		}
		client.Close() // ends a loop that waits for a broker
		loop.Wait()
	})
	return p
}

func (p *producer) loop(ctx context.Context, g *gen.Generator) {
	const beat = 50 * time.Millisecond // each costs the broker and its readers a request
	tick := time.NewTicker(beat)
	defer tick.Stop()
	owed := 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.work.Lock()
		for owed += float64(p.rate) * beat.Seconds(); owed >= 1 && ctx.Err() == nil; owed-- {
			r := new(gen.Record)
			g.Next(r)
			// Without ctx, so that a record is in the log and in the truth, or in
			// neither.
			p.client.Produce(context.Background(), &kgo.Record{Value: r.Value, Timestamp: time.UnixMilli(int64(r.Time))},
				func(_ *kgo.Record, err error) { p.acknowledged(r, err) })
		}
		p.work.Unlock()
	}
}

// acknowledged takes a record into the truth.
func (p *producer) acknowledged(r *gen.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = err
		return
	}
	p.truth.Add(r)
	p.records++
}

func (p *producer) resume() {
	p.paused = false
	p.work.Unlock()
}

// pause returns when everything that was made is acknowledged.
func (p *producer) pause() {
	p.t.Helper()
	p.work.Lock()
	p.paused = true
	ctx, cancel := context.WithTimeout(context.Background(), await.Never)
	defer cancel()
	if err := p.client.Flush(ctx); err != nil {
		p.t.Errorf("the producer cannot get rid of its records: %v", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		p.t.Errorf("it is not known whether a record is in the log, so there is no truth: %v", p.failed)
	}
}

// state is the truth so far; it does not change while the producer is paused.
func (p *producer) state() (truth *gen.Truth, records int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.truth, p.records
}

// since is the part of the truth about windows that begin at from or later.
func since(truth *gen.Truth, from event.Time) *gen.Truth {
	part := gen.NewTruth(truth.Rules)
	for g, c := range truth.Counts {
		if g.Window >= from {
			part.Counts[g] = c
		}
	}
	return part
}
