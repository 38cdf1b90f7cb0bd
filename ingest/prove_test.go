//go:build prove

package ingest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/kafkatest"
)

// counted counts what comes from each address.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// Of three brokers in three racks each reader gets the records from its own. One
// broker is killed, the leader of a partition and perhaps the group's coordinator:
// a reader in its rack and a reader of the leaders read on from the others, without
// a gap, and the group works.
//
// In `make test`, TestNearestReplicaIsRead, TestNearestReplicaFails, TestLeaderMoves and TestBrokerKilled stand for it.
func TestOneOfThreeBrokersKilled(t *testing.T) {
	kafka := kafkatest.Start(t, kafkatest.Config{Brokers: 3, Racks: []string{"a", "b", "c"}, Properties: map[string]string{
		// A busy machine stops a broker for longer than the default of 1.5 s after
		// which others take over: the brokers would take over from each other again
		// and again.
		"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000", "controller.quorum.fetch.timeout.ms": "6000",
	}})
	topic := newTopic(t, kafka.Addrs(), 3)
	large := strings.Repeat("x", 10<<10)
	write := func(from, to int) {
		for p := range int32(3) {
			var values []string
			for i := from; i < to; i++ {
				values = append(values, fmt.Sprint(i, " ", large))
			}
			produce(t, kafka.Addrs(), topic, p, values)
		}
	}
	half := map[int32]int64{0: 100, 1: 100, 2: 100}
	write(0, 100)
	ctx := await.Context(t)
	// read reads up to ends, calls then when half is there, and returns how many
	// bytes came from each broker.
	read := func(rack string, ends map[int32]int64, then func()) []int64 {
		t.Helper()
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Rack: rack})
		from := make(map[string]*atomic.Int64)
		for _, a := range kafka.Addrs() {
			from[a] = new(atomic.Int64)
		}
		dial := s.conns.dial
		s.conns.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return counted{c, from[address]}, nil
		}
		g, err := s.Assign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		k := newTaker(starts(g))
		var writer sync.WaitGroup
		if then != nil {
			writer.Go(func() {
				eventually(t, "half is read", func() bool {
					ok, _ := k.reached(half)
					return ok
				})
				then()
			})
		}
		if err := k.fetch(ctx, g, ends); err != nil {
			t.Fatal(err)
		}
		writer.Wait()
		for p := range int32(3) {
			for n, v := range k.plain[p] {
				if want := fmt.Sprint(n, " "); !strings.HasPrefix(v, want) {
					t.Fatalf("partition %d: record %d is %.10q", p, n, v)
				}
			}
		}
		var bytes []int64
		for _, a := range kafka.Addrs() {
			bytes = append(bytes, from[a].Load())
		}
		return bytes
	}
	const much = 1 << 20 // the records have three times that; whatever else is said has kilobytes
	racks := []string{"a", "b", "c"}
	for i, rack := range racks {
		if !namesReplicas() {
			break // the leaders are read
		}
		// A broker that the controller has not heard of for a while is no choice, and
		// then the leaders are read: the next reader finds it again.
		await.Until(t, func() error {
			for at, bytes := range read(rack, half, nil) {
				if (at == i) != (bytes > much) {
					return fmt.Errorf("rack %s: %d bytes from broker %d", rack, bytes, at+1)
				}
			}
			return nil
		})
	}

	led := newTopic(t, kafka.Addrs(), 1)
	s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: led, Group: led, Session: 3 * time.Second})
	produce(t, kafka.Addrs(), led, 0, numbered("", 0, 50))
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := s.metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leader := int(meta.partitions[0].leader)
	k := newTaker(map[int32]int64{0: 0})
	fetched := make(chan error, 1)
	go func() { fetched <- k.fetch(ctx, g, map[int32]int64{0: 100}) }()
	read(racks[leader-1], map[int32]int64{0: 200, 1: 200, 2: 200}, func() {
		eventually(t, "some is read from the leader", func() bool { ok, _ := k.reached(map[int32]int64{0: 50}); return ok })
		kafka.Kill(leader)
		killed := time.Now()
		produce(t, kafka.Addrs(), led, 0, numbered("", 50, 100))
		t.Logf("the producer got through %v after the kill", time.Since(killed).Round(time.Millisecond))
		write(100, 200)
	})
	if err := <-fetched; err != nil {
		t.Fatal(err)
	}
	sameList(t, "read from the leaders", k.plain[0], numbered("", 0, 100))
	// The group works with two brokers of three, also if the third was its
	// coordinator.
	if g := next(t, ctx, s); len(g.Partitions()) != 1 {
		t.Errorf("%d partitions", len(g.Partitions()))
	}
}

// Tokens live for two seconds, and the broker closes connections whose token has expired.
// The reader reads on under load through many of them without a failure: it replaces connections in time.
//
// In `make test`, TestTokenIsRefused stands for it.
func TestTokensAreRefreshed(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	var made atomic.Int32
	s, book := open(t, Config{Brokers: kafka.Listener("SASL"), Topic: topic, Group: topic, SASL: SASL{
		Mechanism: "oauthbearer", Extensions: []string{"traceId=7"},
		Tokens: func(context.Context) (Token, error) {
			made.Add(1)
			value := unsigned(t, 2*time.Second)
			return Token{value, expiry(value)}, nil
		},
	}})
	ctx := await.Context(t)
	g := next(t, ctx, s)
	failed := strings.Count(book.String(), "outage") // while the broker made the topic of groups
	k := newTaker(starts(g))
	result := make(chan error, 1)
	const tokens, each = 5, 4000
	go func() { result <- k.fetch(ctx, g, map[int32]int64{0: tokens * each}) }()
	for i := range tokens { // records for each token, in small batches all the time, so that reading never rests
		for n := range 40 {
			time.Sleep(40 * time.Millisecond)
			produce(t, kafka.Addrs(), topic, 0, numbered("", i*each+n*each/40, i*each+(n+1)*each/40))
		}
		await.Until(t, func() error {
			if n := made.Load(); n <= int32(i)+1 {
				return fmt.Errorf("%d tokens", n)
			}
			return nil
		})
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	sameList(t, "read", k.plain[0], numbered("", 0, tokens*each))
	if ended(g) {
		t.Errorf("the generation has ended: %v", g.Err())
	}
	if n := strings.Count(book.String(), "outage"); n > failed {
		t.Errorf("%d outages", n-failed)
	}
}

// Two processes that cannot see each other, with one host name in two
// containers, each assume that the other is dead. Both stay in the group.
//
// In `make test`, TestDeadMemberIsRemoved stands for it.
func TestMembersThatTakeEachOtherForDead(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 2)
	ctx, cancel := context.WithCancel(await.Context(t))
	type process struct {
		id    string
		share atomic.Int32
		book  interface{ String() string }
	}
	ps := []*process{{id: "weir-a-1-x"}, {id: "weir-a-1-y"}}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, p := range ps {
		s, book := open(t, Config{
			Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: p.id,
			Gone: func(id string) bool { return id != p.id },
		})
		p.book = book
		all.Go(func() {
			for {
				g, err := wait(ctx, s)
				if err != nil {
					return
				}
				p.share.Store(int32(len(g.Partitions())))
				<-g.Done()
				p.share.Store(0)
				g.Release()
			}
		})
	}
	since := time.Now()
	eventually(t, "each has kept its share for a while", func() bool {
		if ps[0].share.Load() != 1 || ps[1].share.Load() != 1 {
			since = time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
	for _, p := range ps {
		if n := strings.Count(p.book.String(), "process is dead"); n > 1 {
			t.Errorf("%s took the other out %d times", p.id, n)
		}
	}
}
