package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/await"
	"weir/internal/kafkatest"
)

// racks is a double of a cluster that chooses replicas by rack (KIP-392): one
// partition with a batch a record, its leader, a follower in rack "here", and a
// broker that has nothing to do with it.
type racks struct {
	*kfake.Cluster
	leader, follower, stranger int32

	mu      sync.Mutex
	asked   []string // which broker was asked, from which offset, with which rack
	nearest func(rack string) int32
	fails   func(n int, p *kmsg.FetchResponseTopicPartition) error // of the follower's n-th answer, from 1
	n       int
	ended   bool // the offset asked for is beyond the log of the leader
}

const ofRacks = 20 // records

func newRacks(t *testing.T) *racks {
	t.Helper()
	r := &racks{Cluster: fakeKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "racks"))}
	r.leader = r.LeaderFor("racks", 0)
	r.follower, r.stranger = (r.leader+1)%3, (r.leader+2)%3
	r.nearest = func(rack string) int32 {
		if rack == "here" {
			return r.follower
		}
		return -1
	}
	r.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r.KeepControl()
		return r.answer(req.(*kmsg.FetchRequest), r.CurrentNode())
	})
	r.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) { // the log is made by hand
		r.KeepControl()
		f := req.(*kmsg.ListOffsetsRequest)
		all := f.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = "racks"
		p := kmsg.NewListOffsetsResponseTopicPartition()
		if p.Offset = ofRacks; f.Topics[0].Partitions[0].Timestamp == logStart.at {
			p.Offset = 0
		}
		topic.Partitions = append(topic.Partitions, p)
		all.Topics = append(all.Topics, topic)
		return all, nil, true
	})
	return r
}

func (r *racks) answer(f *kmsg.FetchRequest, node int32) (kmsg.Response, error, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := f.Topics[0].Partitions[0].FetchOffset
	broker := map[int32]string{r.leader: "leader", r.follower: "follower", r.stranger: "stranger"}[node]
	r.asked = append(r.asked, fmt.Sprintf("%s %d %q", broker, from, f.Rack))
	all := f.ResponseKind().(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.TopicID, topic.Topic = f.Topics[0].TopicID, f.Topics[0].Topic
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = ofRacks, ofRacks, 0
	serve := true
	switch node {
	case r.leader:
		if near := r.nearest(f.Rack); near >= 0 {
			p.PreferredReadReplica, serve = near, false
		} else if r.ended {
			p.ErrorCode = kerr.OffsetOutOfRange.Code
		}
	case r.follower:
		if r.n++; r.fails != nil {
			if err := r.fails(r.n, &p); err != nil {
				return nil, err, true
			}
			serve = p.ErrorCode == 0 && p.RecordBatches == nil
		}
	default:
		p.ErrorCode, serve = kerr.NotLeaderForPartition.Code, false
	}
	if serve && from < ofRacks {
		p.RecordBatches = simple(from, fmt.Sprint("v", from)).bytes()
	}
	topic.Partitions = append(topic.Partitions, p)
	all.Topics = append(all.Topics, topic)
	return all, nil, true
}

// read reads the partition to its end, and returns which brokers were asked.
func (r *racks) read(t *testing.T, c Config) []string {
	t.Helper()
	c.Brokers, c.Topic, c.MaxWait = r.ListenAddrs(), "racks", 20*time.Millisecond
	s, _ := open(t, c)
	got := readAll(t, s)
	sameList(t, "read", got.plain[0], numbered("v", 0, ofRacks))
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func count(asked []string, prefix string) (n int) {
	for _, a := range asked {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

// The leader is asked once with the rack, and names the replica that is read from
// there on.
func TestNearestReplicaIsRead(t *testing.T) {
	asked := newRacks(t).read(t, Config{Rack: "here"})
	if !namesReplicas() {
		if n := count(asked, "leader"); n != len(asked) || n < ofRacks {
			t.Errorf("a broker that names no replicas; asked: %q", asked)
		}
		return
	}
	if asked[0] != `leader 0 "here"` || count(asked, "leader") != 1 || count(asked, "follower") < ofRacks {
		t.Errorf("asked: %q", asked)
	}
}

// Where no replica is in the rack, or none is named, the leader is read.
func TestNoNearestReplica(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	for _, rack := range []string{"", "elsewhere"} {
		asked := newRacks(t).read(t, Config{Rack: rack})
		if n := count(asked, fmt.Sprintf("leader 0 %q", rack)); n != 1 || count(asked, "follower") > 0 {
			t.Errorf("rack %q: asked: %q", rack, asked)
		}
	}
}

// Brokers may choose by something else than the rack.
func TestReplicaNamedWithoutRack(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	r := newRacks(t)
	r.nearest = func(string) int32 { return r.follower }
	if asked := r.read(t, Config{}); count(asked, "leader") != 1 {
		t.Errorf("asked: %q", asked)
	}
}

// Whatever a follower has against it, the leader is read, without a rack so that
// it does not name the follower again, and nothing is lost or read twice.
func TestNearestReplicaFails(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	type failure func(*racks, *kmsg.FetchResponseTopicPartition) error
	code := func(e *kerr.Error) failure {
		return func(_ *racks, p *kmsg.FetchResponseTopicPartition) error { p.ErrorCode = e.Code; return nil }
	}
	for name, fails := range map[string]failure{
		"offset out of range":   code(kerr.OffsetOutOfRange),
		"offset not available":  code(kerr.OffsetNotAvailable),
		"replica not available": code(kerr.ReplicaNotAvailable),
		"storage error":         code(kerr.KafkaStorageError),
		"unknown topic":         code(kerr.UnknownTopicID),
		"damage it found":       code(kerr.CorruptMessage),
		"hangs up":              func(*racks, *kmsg.FetchResponseTopicPartition) error { return errors.New("hang up") },
		"damage": func(_ *racks, p *kmsg.FetchResponseTopicPartition) error {
			p.RecordBatches = simple(7, "other").bytes()
			p.RecordBatches[len(p.RecordBatches)-1] ^= 1
			return nil
		},
		"names another": func(r *racks, p *kmsg.FetchResponseTopicPartition) error {
			p.PreferredReadReplica = r.stranger
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRacks(t)
			r.fails = func(n int, p *kmsg.FetchResponseTopicPartition) error {
				if n <= 7 {
					return nil
				}
				return fails(r, p)
			}
			asked := r.read(t, Config{Rack: "here"})
			if n := count(asked, "follower"); n != 8 {
				t.Errorf("the follower was asked %d times, want 7 and the one that failed", n)
			}
			for _, a := range asked[count(asked, "follower")+1:] {
				if !strings.HasPrefix(a, "leader") || !strings.HasSuffix(a, `""`) {
					t.Errorf("then asked: %s", a)
				}
			}
		})
	}
}

// A leader that moved is not the follower's failure: the new one is asked with the
// rack.
func TestNearestReplicaAfterElection(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	for _, e := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch} {
		r := newRacks(t)
		r.fails = func(n int, p *kmsg.FetchResponseTopicPartition) error {
			if n == 8 {
				p.ErrorCode = e.Code
			}
			return nil
		}
		asked := r.read(t, Config{Rack: "here"})
		if n := count(asked, `leader 7 "here"`); n != 1 || count(asked, "leader") != 2 {
			t.Errorf("%v: asked: %q", e, asked)
		}
	}
}

// The leader is asked again when the time is over for which it named a replica,
// and when that is over for which one that failed is left alone.
func TestNearestReplicaIsChosenAgain(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	const lease = 10 * time.Millisecond
	r := newRacks(t)
	r.fails = func(n int, _ *kmsg.FetchResponseTopicPartition) error {
		if n == 3 {
			time.Sleep(lease) // its answer comes when the time is over
		}
		return nil
	}
	if asked := r.read(t, Config{Rack: "here", Lease: lease}); count(asked, "leader") < 2 {
		t.Errorf("asked: %q", asked)
	}
	r = newRacks(t)
	r.fails = func(n int, p *kmsg.FetchResponseTopicPartition) error {
		if n == 1 {
			p.ErrorCode = kerr.OffsetNotAvailable.Code
		}
		return nil
	}
	s, _ := open(t, Config{Brokers: r.ListenAddrs(), Topic: "racks", MaxWait: 20 * time.Millisecond, Rack: "here", Lease: 200 * time.Millisecond})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k := newTaker(starts(g))
	ctx, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { _ = k.fetch(ctx, g, nil) })
	eventually(t, "the follower is read after it failed", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.n > 1
	})
	stop()
	reading.Wait()
	sameList(t, "read", k.plain[0], numbered("v", 0, len(k.plain[0])))
}

// A leader that names a broker which does not exist is read itself.
func TestNearestReplicaIsUnknown(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	r := newRacks(t)
	r.nearest = func(rack string) int32 {
		if rack == "here" {
			return 99
		}
		return -1
	}
	if asked := r.read(t, Config{Rack: "here"}); count(asked, `leader 0 ""`) == 0 {
		t.Errorf("asked: %q", asked)
	}
}

// The offset may be beyond the leader's log all the same, which is then said.
func TestOutOfRangeAtFollowerAndLeader(t *testing.T) {
	if !namesReplicas() {
		return // TestNearestReplicaIsRead reads such a broker
	}
	r := newRacks(t)
	r.ended = true
	r.fails = func(_ int, p *kmsg.FetchResponseTopicPartition) error {
		p.ErrorCode = kerr.OffsetOutOfRange.Code
		return nil
	}
	s, _ := open(t, Config{Brokers: r.ListenAddrs(), Topic: "racks", Rack: "here"})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = newTaker(map[int32]int64{0: ofRacks + 5}).fetch(ctx, g, nil)
	var out *RangeError
	if !errors.As(err, &out) || out.LogEnd != ofRacks {
		t.Errorf("Fetch: %v", err)
	}
}

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
		dial := s.transport.Dial
		s.transport.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
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
