//go:build prove

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/gen"
	"weir/internal/await"
)

// A landing says what becomes of a statement whose sender is struck. Its answer is lost
// in any case.
type landing int

const (
	landsBefore landing = iota // the engine has run it before the strike
	landsAfter                 // it lands behind the strike
	landsNever                 // the process had not sent it yet
	landings
)

// rollupKilled kills the member that rolls up, with signal 9, when it makes windows
// anew: closed ones, which late events have just touched.
func rollupKilled(c *cycle) func() {
	leader := c.leader()
	c.touchClosed()
	c.duringRollup(landing(c.rng.IntN(int(landings))), func() { c.members[leader].kill() })
	c.run(leader)
	return nil
}

// rollupFrozen suspends that member in the same place for longer than its session. Others
// roll up the same windows meanwhile, and the member goes on where it was when it wakes up.
func rollupFrozen(c *cycle) func() {
	if len(c.arena.alive()) < 2 {
		c.owns(c.run(c.vacant()))
	}
	leader := c.leader()
	c.touchClosed()
	p := c.members[leader]
	session := shortSession
	if leader == 0 {
		session = longSession
	}
	var asleep time.Time
	c.duringRollup(landing(c.rng.IntN(int(landings))), func() {
		p.signal(syscall.SIGSTOP)
		asleep = time.Now()
	})
	c.touchClosed() // for the others
	return func() {
		time.Sleep(time.Until(asleep.Add(session + time.Second)))
		c.nap(time.Second)
		p.signal(syscall.SIGCONT)
	}
}

// duringRollup strikes when a statement that makes windows of a rollup is on its way.
func (c *cycle) duringRollup(lands landing, strike func()) {
	c.t.Helper()
	arrived, struck := make(chan struct{}), make(chan struct{})
	var first sync.Once
	never := await.Context(c.t)
	c.proxy.handle(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r = r.WithContext(never) // the engine gets it although its sender died
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !makesWindows(body) {
			c.proxy.forward.ServeHTTP(w, r)
			return
		}
		if lands == landsBefore {
			c.proxy.forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		first.Do(func() { close(arrived) })
		<-struck
		if lands == landsAfter {
			c.proxy.forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	})
	select {
	case <-arrived:
	case <-never.Done():
		c.t.Fatal("no rollup makes a window")
	}
	strike()
	c.proxy.handle(nil)
	close(struck)
}

// makesWindows reports whether a statement writes finished numbers: INSERT INTO
// clicks_1m_rollup … SELECT.
func makesWindows(sql []byte) bool {
	into, _, found := bytes.Cut(sql, []byte("SELECT"))
	return found && bytes.HasPrefix(into, []byte("INSERT INTO")) && bytes.Contains(into, []byte("_rollup`"))
}

// leader returns the slot of the member that rolls up, as the members see it: the one
// with the lowest partition.
func (c *cycle) leader() (leader int) {
	c.t.Helper()
	await.Until(c.t, func() error {
		lowest := int32(lastPartitions)
		for _, slot := range c.arena.alive() {
			for _, at := range c.members[slot].status()["clicks"].Partitions {
				if at.Partition < lowest {
					lowest, leader = at.Partition, slot
				}
			}
		}
		if lowest > 0 {
			return notYet("no member has partition 0")
		}
		return nil
	})
	return leader
}

// touchClosed sends events into windows that were complete long ago, and one into the
// next window in each partition. So the watermark passes the end of a window, and the
// next rollup has old windows to make.
func (c *cycle) touchClosed() {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...), kgo.UnknownTopicRetries(-1), kgo.DefaultProduceTopic(c.topic("clicks")), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	partitions := len(c.ends("clicks"))
	now := event.Time(time.Now().UnixMilli())
	var made []*gen.Record
	var records []*kgo.Record
	send := func(partition int, ts event.Time) {
		r, record := c.click(now, ts)
		record.Partition = int32(partition)
		made, records = append(made, r), append(records, record)
	}
	for i := range 100 {
		send(i%partitions, now-2*clicksRules.Window-event.Time(c.rng.Int64N(60*60_000)))
	}
	// No further ahead of the clock than the job allows.
	next := min(max(now, c.latest())/clicksRules.Window*clicksRules.Window+clicksRules.Window, now+clicksRules.Skew)
	for partition := range partitions {
		send(partition, next)
	}
	if err := client.ProduceSync(await.Context(c.t), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	for _, r := range made {
		c.producer.acknowledged(r, nil)
	}
}

// click makes an event as the arena's producer does, with a time of its own.
func (c *cycle) click(made, ts event.Time) (*gen.Record, *kgo.Record) {
	c.t.Helper()
	r := &gen.Record{Time: made, Stamp: ts, User: 1 + c.rng.Uint32N(5000), Page: 1 + c.rng.Uint32N(40)}
	value, err := json.Marshal(map[string]any{"ts": r.Stamp, "user_id": r.User, "page": fmt.Sprintf("/p/%d", r.Page)})
	if err != nil {
		c.t.Fatal(err)
	}
	return r, &kgo.Record{Value: value, Timestamp: time.UnixMilli(int64(made))}
}
