//go:build prove

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/gen"
	"weir/event"
	"weir/internal/await"
)

// A strike is one kind of fault.
type strike struct {
	name   string
	weight int  // how often it is drawn
	needs  part // the part that no other strike may touch meanwhile
	// gentle strikes spare the member in slot 0, which TestSoak watches.
	gentle bool
	// begin starts the strike. A strike that takes some time returns a function
	// that ends it; another strike may come in between.
	begin func(c *cycle) (end func())
}

// A part of the arena.
type part uint8

const (
	fleet part = 1 << iota
	kafka
	sink
)

// A cycle has one or two strikes.
type cycle struct {
	*arena
	rng   *rand.Rand
	alone bool // there is no other strike, so times can be measured
}

// nap sleeps for up to d.
func (c *cycle) nap(d time.Duration) { time.Sleep(time.Duration(c.rng.Int64N(int64(d)))) }

// pick returns the slot of a random member. With spare, it is not the first one if
// there is another.
func (c *cycle) pick(spare bool) int {
	slots := c.arena.alive()
	if spare && len(slots) > 1 && slots[0] == 0 {
		slots = slots[1:]
	}
	return slots[c.rng.IntN(len(slots))]
}

// vacant is a slot without a member; -1: there is none.
func (c *cycle) vacant() int {
	for slot, p := range c.members {
		if p == nil {
			return slot
		}
	}
	return -1
}

// works waits until a member has partitions, unless another strike may prevent
// that.
func (c *cycle) works(p *process) {
	c.t.Helper()
	if c.alone {
		c.owns(p)
	}
}

// strikes are all kinds. The names are those of docs/proof.md.
var strikes = []*strike{
	{name: "kill", weight: 50, needs: fleet, begin: kill},
	{name: "take-over", weight: 6, needs: fleet, begin: takeOver},
	{name: "zombie", weight: 6, needs: fleet, gentle: true, begin: zombie},
	{name: "stop-one", weight: 5, needs: fleet | kafka | sink, begin: stopOne},
	{name: "stop-all", weight: 7, needs: fleet | kafka | sink, begin: stopAll},
	{name: "join", weight: 5, needs: fleet, gentle: true, begin: join},
	{name: "leave", weight: 5, needs: fleet | kafka | sink, gentle: true, begin: leave},
	{name: "broker-killed", weight: 6, needs: kafka, gentle: true, begin: brokerKilled},
	{name: "engine-killed", weight: 8, needs: sink, gentle: true, begin: engineKilled},
	{name: "engine-frozen", weight: 3, needs: sink, gentle: true, begin: engineFrozen},
	{name: "slow", weight: 4, needs: sink, gentle: true, begin: slow},
	{name: "cut", weight: 5, needs: sink, gentle: true, begin: cut},
	{name: "deaf", weight: 5, needs: sink, gentle: true, begin: deaf},
	{name: "errors", weight: 4, needs: sink, gentle: true, begin: refused},
	{name: "late", weight: 5, needs: sink, gentle: true, begin: late},
	{name: "disk-full", weight: 3, needs: sink, gentle: true, begin: diskFull},
	{name: "transactions", weight: 6, needs: kafka, gentle: true, begin: transactions},
	{name: "partition-added", weight: 3, needs: kafka, gentle: true, begin: partitionAdded},
	{name: "records-deleted", weight: 5, needs: kafka | sink, gentle: true, begin: recordsDeleted},
}

// kill -9 of a random member, which starts again at once.
func kill(c *cycle) func() {
	slot := c.pick(false)
	c.nap(600 * time.Millisecond)
	c.members[slot].kill()
	c.run(slot)
	return nil
}

// kill -9 of the member with the session of production, which is not started
// again: the group gives its partitions to the other members.
func takeOver(c *cycle) func() {
	if c.members[0] == nil {
		c.run(0)
	}
	if len(c.arena.alive()) < 2 {
		c.run(c.vacant())
	}
	for _, slot := range c.arena.alive() {
		c.works(c.members[slot])
	}
	c.nap(600 * time.Millisecond)
	c.members[0].kill()
	c.members[0] = nil
	if c.alone {
		c.recovered(c.ends("clicks"))
	}
	return func() { c.run(0) }
}

// A member is suspended for longer than its session, and continues when others
// have its partitions and are ahead.
func zombie(c *cycle) func() {
	if len(c.arena.alive()) < 2 {
		c.works(c.run(c.vacant()))
	}
	slot := c.pick(true)
	c.nap(400 * time.Millisecond)
	p := c.members[slot]
	session := shortSession
	if slot == 0 {
		session = longSession
	}
	asleep := time.Now()
	p.signal(syscall.SIGSTOP)
	return func() {
		time.Sleep(time.Until(asleep.Add(session + time.Second)))
		c.nap(time.Second)
		p.signal(syscall.SIGCONT)
	}
}

// stops sends the signal in the middle of a flush, and checks that the member
// ends cleanly, in time.
func (c *cycle) stops(slots ...int) {
	c.t.Helper()
	lag := c.proxy.slow(400*time.Millisecond, 0)
	c.proxy.handle(func(w http.ResponseWriter, r *http.Request) {
		if inserts(r, "clicks_state") { // a flush is in flight
			lag(w, r)
			return
		}
		c.proxy.forward.ServeHTTP(w, r)
	})
	defer c.proxy.handle(nil)
	c.nap(600 * time.Millisecond)
	for _, slot := range slots {
		c.members[slot].signal(syscall.SIGTERM)
	}
	for _, slot := range slots {
		c.members[slot].exits(0)
		c.members[slot] = nil
	}
}

// SIGTERM to one of the members: what it had counted is committed.
func stopOne(c *cycle) func() {
	slot := c.pick(false)
	c.owns(c.members[slot])
	counted := map[int32]int64{}
	for _, at := range c.members[slot].status()["clicks"].Partitions {
		counted[at.Partition] = at.Next
	}
	c.stops(slot)
	commits := c.commits()
	for p, next := range counted {
		if commits[p] < next {
			c.t.Errorf("partition %d: counted to %d before the stop, committed to %d after it", p, next, commits[p])
		}
	}
	c.run(slot)
	return nil
}

// SIGTERM to all at once, under load: nothing is left to replay, that is, the
// group's offsets are those of the ledger, and the ledger's counts those of
// the rows.
func stopAll(c *cycle) func() {
	slots := c.arena.alive()
	for _, slot := range slots {
		c.owns(c.members[slot])
	}
	c.stops(slots...)
	commits := c.commits()
	durable := int64(0)
	for p, at := range c.positions() {
		if commits[p] != at {
			c.t.Errorf("partition %d: after a clean stop of all the group is at %d, the ledger at %d", p, commits[p], at)
		}
		durable += at
	}
	await.Until(c.t, func() error { // the load goes on
		if c.stage.end("clicks") == durable {
			return notYet("all were stopped under load, yet nothing was left to read")
		}
		return nil
	})
	c.adds("clicks")
	for _, slot := range slots {
		c.run(slot)
	}
	return nil
}

func join(c *cycle) func() {
	slot := c.vacant()
	if slot < 0 { // all slots are taken: another member leaves instead
		slot = c.pick(true)
		c.members[slot].kill()
	}
	c.works(c.run(slot))
	return nil
}

func leave(c *cycle) func() {
	if len(c.arena.alive()) < 2 {
		c.owns(c.run(c.vacant()))
	}
	slot := c.pick(true)
	c.owns(c.members[slot])
	c.stops(slot)
	return nil
}

func brokerKilled(c *cycle) func() {
	c.kafka.Kill(1)
	return func() {
		c.nap(1500 * time.Millisecond)
		if err := c.kafka.Run(1); err != nil {
			c.t.Fatal(err)
		}
	}
}

func engineKilled(c *cycle) func() {
	c.engine.kill()
	return func() {
		c.nap(1500 * time.Millisecond)
		c.runEngine()
	}
}

// The engine stands still for longer than an insert may take.
func engineFrozen(c *cycle) func() {
	c.engine.signal(syscall.SIGSTOP)
	return func() {
		time.Sleep(2500 * time.Millisecond)
		c.engine.signal(syscall.SIGCONT)
	}
}

// struck waits until the proxy's present handler has got a request.
func (c *cycle) struck() {
	c.t.Helper()
	await.Until(c.t, func() error {
		if c.proxy.handled() == 0 {
			return notYet("no request came to the proxy")
		}
		return nil
	})
}

// through gives the handler all requests for some time.
func (c *cycle) through(handler http.HandlerFunc) func() {
	c.proxy.handle(handler)
	return func() {
		c.struck()
		time.Sleep(400 * time.Millisecond)
		c.nap(1200 * time.Millisecond)
		c.proxy.handle(nil)
	}
}

func slow(c *cycle) func() {
	return c.through(c.proxy.slow(300*time.Millisecond, 150*time.Millisecond))
}

func cut(c *cycle) func() { return c.through(c.proxy.cut) }

func deaf(c *cycle) func() { return c.through(c.proxy.deaf) }

func refused(c *cycle) func() { return c.through(c.proxy.refuse) }

// Inserts land seconds after others that came later, in this cycle or another.
func late(c *cycle) func() {
	by := time.Second + time.Duration(c.rng.Int64N(int64(9*time.Second)))
	return c.through(c.proxy.delay(by))
}

// diskFull sends the engine's answer to a full disk. TestDiskFull fills a real one.
func diskFull(c *cycle) func() {
	return c.through(func(w http.ResponseWriter, r *http.Request) { refuse(w, r, noSpace, noSpaceText) })
}

// transactions writes three transactions, each aborted or committed: the
// committed ones count, and while one is open no reader may read past it.
func transactions(c *cycle) func() {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...), kgo.UnknownTopicRetries(-1), kgo.TransactionalID(fmt.Sprintf("chaos-%d", c.rng.Uint64())),
		kgo.TransactionTimeout(await.Never), kgo.DefaultProduceTopic(c.topic("clicks")), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	ctx := await.Context(c.t)
	for range 3 {
		end := kgo.TryAbort
		if c.rng.IntN(3) == 0 {
			end = kgo.TryCommit
		}
		if err := client.BeginTransaction(); err != nil {
			c.t.Fatal(err)
		}
		now := event.Time(time.Now().UnixMilli())
		var made []*gen.Record
		for range 100 + c.rng.IntN(400) {
			r, record := c.click(now, now)
			client.Produce(ctx, record, nil)
			made = append(made, r)
		}
		if err := client.Flush(ctx); err != nil {
			c.t.Fatal(err)
		}
		c.nap(200 * time.Millisecond) // open
		if err := client.EndTransaction(ctx, end); err != nil {
			c.t.Fatal(err)
		}
		if end == kgo.TryCommit {
			for _, r := range made {
				c.producer.acknowledged(r, nil)
			}
		}
	}
	return nil
}

func partitionAdded(c *cycle) func() {
	n := len(c.ends("clicks"))
	if n == lastPartitions {
		c.t.Fatalf("the topic has %d partitions already", n) // the plan takes care
	}
	c.grow("clicks", n+1)
	if c.alone {
		await.Until(c.t, func() error { // until the producer and weir use the partition
			if at := c.positions()[int32(n)]; at == 0 {
				return notYet("nothing of partition %d is counted", n)
			}
			return nil
		})
	}
	return nil
}

// recordsDeleted deletes durable records, up to the beginning of a chunk:
// docs/exactly-once.md says what a cut inside a chunk costs.
func recordsDeleted(c *cycle) func() {
	cut := kadm.Offsets{}
	await.Until(c.t, func() error {
		starts, err := c.admin.ListStartOffsets(c.t.Context(), c.topic("clicks"))
		if err == nil {
			err = starts.Error()
		}
		if err != nil {
			return err
		}
		commits := c.commits()
		for p, at := range c.positions() {
			at = min(at, commits[p]) / c.chunk * c.chunk
			if start, _ := starts.Lookup(c.topic("clicks"), p); at > start.Offset {
				cut.Add(kadm.Offset{Topic: c.topic("clicks"), Partition: p, At: at})
			}
		}
		if len(cut) == 0 {
			return notYet("no partition has a chunk that is durable and not deleted")
		}
		return nil
	})
	c.deleteTo(cut)
	return nil
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
