package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/await"
)

// A member's metadata and a leader's shares are in the form that Kafka's
// consumers write and read, byte by byte.
func TestConsumerProtocol(t *testing.T) {
	m := &member{source: &Source{config: Config{Topic: "clicks", Database: Database{"1f", "weir at ch:8123"}}}, held: 7}
	var sub kmsg.ConsumerMemberMetadata
	if err := sub.ReadFrom(m.metadata()); err != nil {
		t.Fatal(err)
	}
	if sub.Version != 0 || !slices.Equal(sub.Topics, []string{"clicks"}) || string(sub.UserData) != `{"weir_database":"1f","name":"weir at ch:8123","held":7}` {
		t.Errorf("a member says %+v, user data %s", sub, sub.UserData)
	}
	if !slices.Equal(sub.AppendTo(nil), m.metadata()) {
		t.Errorf("written anew it is %q, not %q", sub.AppendTo(nil), m.metadata())
	}

	var share kmsg.ConsumerMemberAssignment
	b := newAssignment(map[string][]int32{"b": {3}, "a": {0, 1}}, []byte("word"))
	if err := share.ReadFrom(b); err != nil || len(share.Topics) != 2 || share.Topics[0].Topic != "a" || !slices.Equal(share.Topics[0].Partitions, []int32{0, 1}) || string(share.UserData) != "word" {
		t.Errorf("a share reads as %+v, %v", share, err)
	}
	topics, data, err := assignment(b)
	if err != nil || !maps.EqualFunc(topics, map[string][]int32{"a": {0, 1}, "b": {3}}, slices.Equal) || string(data) != "word" {
		t.Errorf("a share reads back as %v %q, %v", topics, data, err)
	}
	if _, _, err := assignment(b[:len(b)-1]); err == nil {
		t.Error("half a share is read as a whole one")
	}

	// The metadata of other programs have more fields.
	other := kmsg.NewConsumerMemberMetadata()
	other.Version, other.Topics, other.Generation = 3, []string{"clicks", "views"}, 5
	other.OwnedPartitions = append(other.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: "clicks", Partitions: []int32{1}})
	if topics, c := subscription(other.AppendTo(nil)); !slices.Equal(topics, other.Topics) || c != nil {
		t.Errorf("a member of version 3 reads as %v, %v", topics, c)
	}
	if topics, _ := subscription([]byte{0, 0, 0, 0, 0, 9, 1}); topics != nil {
		t.Errorf("nonsense reads as %v", topics)
	}
}

// held returns a channel of the partitions that a Source's generations have, in
// order; nil when one is over.
func held(ctx context.Context, s *Source) <-chan []int32 {
	out := make(chan []int32, 100)
	go func() {
		for {
			g, err := wait(ctx, s)
			if err != nil {
				return
			}
			var ps []int32
			at := make(map[int32]int64)
			for _, p := range g.Partitions() {
				ps = append(ps, p.Partition)
				at[p.Partition] = 1
			}
			_ = g.Commit(ctx, at) // a late commit is refused
			out <- ps
			<-g.Done()
			g.Release()
			out <- nil
		}
	}()
	return out
}

// holds waits until the held partitions are the wanted ones.
func holds(t *testing.T, what string, c <-chan []int32, want ...int32) {
	t.Helper()
	var last []int32
	for limit := time.After(await.Never); ; {
		select {
		case last = <-c:
			if slices.Equal(last, want) {
				return
			}
		case <-limit:
			t.Fatalf("%s: holds %v, want %v", what, last, want)
		}
	}
}

// settled waits until the held partitions do not change for a while, and
// returns them. On a slow machine it can miss a change, but it never reports a
// change that did not happen.
func settled(c <-chan []int32, last []int32) []int32 {
	for {
		select {
		case last = <-c:
		case <-time.After(2 * time.Second):
			return last
		}
	}
}

// Two deployments of one group count into two databases. The first deployment
// keeps every partition, whichever member leads; the other gets none, and both
// log the names of the databases. When the first ends, the other takes over.
func TestOneGroupTwoDatabases(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 4)
	config := func(db string, n int) Config {
		return Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: fmt.Sprintf("weir-%s-%d-1", db, n), Session: 10 * time.Second,
			Database: Database{ID: strings.Repeat(db, 32), Name: "database " + db + " at host-" + db}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a1, bookA := open(t, config("b", 1))
	inA1 := held(ctx, a1)
	holds(t, "the first", inA1, 0, 1, 2, 3)

	b1, bookB := open(t, config("a", 1)) // the lesser id: it would win a tie
	inB1 := held(ctx, b1)
	b2, _ := open(t, config("a", 2)) // and the greater number
	inB2 := held(ctx, b2)
	for _, s := range []*Source{b1, b2} {
		eventually(t, "the second is refused", func() bool {
			return strings.Contains(s.Trouble(), "database b at host-b (id bbbbbbbb)") && strings.Contains(s.Trouble(), "database a at host-a (id aaaaaaaa)")
		})
	}
	contains(t, "the log of the second", bookB.String(), "level=ERROR", "group "+topic+" is taken", "database b at host-b", "database a at host-a")
	eventually(t, "the first says so", func() bool {
		return strings.Contains(bookA.String(), "counts into another database") && strings.Contains(bookA.String(), "database a at host-a")
	})
	holds(t, "the first, beside the second", inA1, 0, 1, 2, 3)
	if a1.Trouble() != "" {
		t.Errorf("the first has trouble: %s", a1.Trouble())
	}

	// A second member of the first database joins. If the leader leaves, the next
	// leader may be of the second database; the claims of the members that hold
	// partitions decide.
	a2, _ := open(t, config("b", 2))
	inA2 := held(ctx, a2)
	holds(t, "two of the first database", inA2, 2, 3)
	if err := a1.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, "the other of the first database", inA2, 0, 1, 2, 3)
	if got := append(settled(inB1, nil), settled(inB2, nil)...); len(got) > 0 {
		t.Errorf("the second database holds %v", got)
	}

	// The last member of the first database restarts: the group's committed
	// offsets are of that database.
	if err := a2.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, "the second takes over", inB1, 0, 1)
	holds(t, "the second takes over", inB2, 2, 3)
	eventually(t, "the second is well", func() bool { return b1.Trouble() == "" && b2.Trouble() == "" })
	a3, _ := open(t, config("b", 3))
	inA3 := held(ctx, a3)
	eventually(t, "the first is refused now", func() bool { return strings.Contains(a3.Trouble(), "is taken") })
	if got := settled(inA3, nil); len(got) > 0 {
		t.Errorf("the first database, come back, holds %v", got)
	}
}

// Which database gets the partitions does not depend on the leader.
func TestOwner(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 3)
	// A group without members, whose committed offsets are of database c.
	c, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Database: Database{"c", "c"}})
	ctx := await.Context(t)
	g := next(t, ctx, c)
	if err := g.Commit(ctx, map[int32]int64{0: 1, 1: 1, 2: 1}); err != nil {
		t.Fatal(err)
	}
	g.Release()
	c.Close()
	s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic})
	at, err := s.coordinator(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{source: s}
	of := func(database string, held int32) claim { return claim{database, database, held} }
	for _, test := range []struct {
		what   string
		claims []claim
		want   string
	}{
		{"none", nil, ""},
		{"one database", []claim{of("a", 0), of("a", 3)}, "a"},
		{"holds partitions", []claim{of("c", 0), of("c", 0), of("b", 4)}, "b"},
		{"held them last", []claim{of("c", 3), of("c", 0), of("b", 4)}, "b"},
		{"the group's positions are of it", []claim{of("b", 0), of("b", 0), of("c", 0)}, "c"},
		{"has more members", []claim{of("a", 0), of("b", 0), of("b", 0)}, "b"},
		{"has the lesser id", []claim{of("b", 0), of("a", 0)}, "a"},
	} {
		claims := make(map[string]claim)
		for i, c := range test.claims {
			claims[fmt.Sprint(i)] = c
		}
		for range 5 { // the order of the map must not matter
			if got, err := m.owner(ctx, at, claims); err != nil || got.ID != test.want {
				t.Errorf("%s: %v, %v; want %s", test.what, got, err, test.want)
			}
		}
	}
}

func known(ctx context.Context, s *Source, topic string) bool {
	_, err := s.metadataOf(ctx, anyBroker, topic)
	return err == nil
}

// A leader of weir gives the partitions to the members of one database, and nothing to a
// program that is not weir.
func TestLeaderDivides(t *testing.T) {
	kafka := realKafka(t)
	topic, second := newTopic(t, kafka.Addrs(), 4), newTopic(t, kafka.Addrs(), 1)
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Database: Database{"a", "a"}})
	ctx := await.Context(t)
	var c coordinator
	eventually(t, "a coordinator is there", func() bool {
		var err error
		if c, err = s.coordinator(ctx); err == nil {
			_, err = c.commits(ctx, []int32{0}) // the coordinator may not have read the groups yet
		}
		return err == nil
	})
	eventually(t, "both topics are known", func() bool { return s.partitions(ctx) == 4 && known(ctx, s, second) })
	says := func(version int16, data string, topics ...string) []byte {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version, m.Topics = version, topics
		if data != "" {
			m.UserData = []byte(data)
		}
		return m.AppendTo(nil)
	}
	claims := func(id string) string { b, _ := json.Marshal(claim{Database: id, Name: id}); return string(b) }
	shares, seen, err := (&member{source: s}).divide(ctx, c, []joingroup.ResponseMember{
		{MemberID: "weir-h-1-x-5", Metadata: says(0, claims("a"), topic)},
		{MemberID: "weir-h-2-x-4", Metadata: says(0, claims("b"), topic)},
		{MemberID: "weir-h-3-x-3", Metadata: says(0, claims("a"), topic)},
		{MemberID: "rdkafka-2", Metadata: says(3, "", topic, second)},
		{MemberID: "weir-h-4-x-1", Metadata: says(0, claims("a"), second)}, // another topic: the configuration is being changed
		{MemberID: "nonsense", Metadata: []byte{0}},
	})
	if err != nil || seen != 4 {
		t.Fatalf("the topic has %d partitions, %v", seen, err)
	}
	var got []string
	for _, s := range shares {
		topics, data, err := assignment(s.Assignment)
		if string(data) != `{"weir_database":"a","name":"a","held":0}` || err != nil {
			t.Errorf("%s is told %s, %v", s.MemberID, data, err)
		}
		got = append(got, fmt.Sprint(s.MemberID, " ", topics))
	}
	sameList(t, "shares", got, []string{
		fmt.Sprintf("weir-h-1-x-5 map[%s:[0 1]]", topic),
		"weir-h-2-x-4 map[]",
		fmt.Sprintf("weir-h-3-x-3 map[%s:[2 3]]", topic),
		"rdkafka-2 map[]",
		fmt.Sprintf("weir-h-4-x-1 map[%s:[0]]", second),
		"nonsense map[]",
	})
	contains(t, "the log", book.String(), "weir-h-2-x-4", "another database")
}

// A consumer that is not weir leads weir's group. It can read weir's metadata:
// it gives weir some of the partitions and keeps the others. weir reports its
// name.
func TestStrangerInGroup(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stranger := newClient(t, kafka.Addrs(), kgo.ClientID("tail-of-clicks"), kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(100*time.Millisecond), kgo.SessionTimeout(10*time.Second))
	go func() {
		for ctx.Err() == nil {
			stranger.PollFetches(ctx)
		}
	}()
	admin := newAdmin(t, kafka.Addrs())
	eventually(t, "the stranger has the group", func() bool {
		d, err := admin.DescribeGroups(ctx, topic)
		return err == nil && d[topic].State == "Stable" && len(d[topic].Members) == 1
	})
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: "weir-a-1-x", Database: Database{"a", "a"}})
	mine := held(ctx, s)
	words := []string{`client "tail-of-clicks" at 127.0.0.1`, "member tail-of-clicks-", `assignor "range"`, "not weir", "partitions 0 1 of topic " + topic}
	eventually(t, "it is said who has the others", func() bool { return strings.Contains(s.Trouble(), "tail-of-clicks") })
	contains(t, "the trouble", s.Trouble(), words...)
	contains(t, "the log", strings.ReplaceAll(book.String(), `\"`, `"`), append(words, "level=ERROR")...)
	holds(t, "what the stranger gave, which can read what this member says", mine, 2, 3)
	stranger.Close()
	holds(t, "when the stranger has left", mine, 0, 1, 2, 3)
	eventually(t, "all is well", func() bool { return s.Trouble() == "" })

	// It joins again while weir leads, and gets no partitions.
	again := newClient(t, kafka.Addrs(), kgo.ClientID("tail-again"), kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(100*time.Millisecond), kgo.SessionTimeout(10*time.Second))
	go func() {
		for ctx.Err() == nil {
			again.PollFetches(ctx)
		}
	}()
	eventually(t, "it is named", func() bool { return strings.Contains(book.String(), "tail-again") })
	contains(t, "the log", book.String(), "level=WARN", "has no partitions of topic "+topic)
	holds(t, "with the stranger in its group", mine, 0, 1, 2, 3)
	if s.Trouble() != "" {
		t.Errorf("weir says %q", s.Trouble())
	}
}

// A consumer of the other group protocol (KIP-848), in which the broker divides
// the partitions, cannot join weir's group, and weir does not stay in the
// consumer's.
func TestOtherProtocol(t *testing.T) {
	kafka := realKafka(t)
	client := newClient(t, kafka.Addrs(), kgo.ClientID("new-consumer"))
	beat := func(topic string) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		r.Group, r.MemberID, r.RebalanceTimeoutMillis = topic, "0123456789abcdef012345", 60000
		r.SubscribedTopicNames = []string{topic}
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		return r.RequestWith(t.Context(), client)
	}
	t.Run("joins weir", func(t *testing.T) {
		topic := newTopic(t, kafka.Addrs(), 2)
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Database: Database{"a", "a"}})
		next(t, await.Context(t), s)
		r, err := beat(topic)
		if err != nil || r.ErrorCode == 0 {
			t.Errorf("the broker lets it into weir's group: %+v, %v", r, err)
		}
	})
	t.Run("weir joins it", func(t *testing.T) {
		topic := newTopic(t, kafka.Addrs(), 2)
		eventually(t, "the other is in its group", func() bool {
			r, err := beat(topic)
			return err == nil && r.ErrorCode == 0
		})
		s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Database: Database{"a", "a"}})
		_, err := s.Next(await.Context(t))
		if err == nil {
			t.Fatal("weir is in a group whose partitions the broker divides")
		}
		contains(t, "the error", err.Error(), topic, "KIP-848", "choose another group")
	})
}
