package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/await"
)

// four returns a cluster with a topic of four partitions, of five records each.
func four(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c := fakeKafka(t, append(opts, kfake.SeedTopics(4, "four"))...)
	for p := range int32(4) {
		produce(t, c.ListenAddrs(), "four", p, numbered(fmt.Sprint("p", p, "-"), 0, 5))
	}
	return c
}

// without takes the leader of a partition away until the handle is removed.
func without(c *kfake.Cluster, partitions ...int32) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch}, Partitions: partitions, Err: kerr.LeaderNotAvailable, Count: -1})
}

// misses returns the partitions that an error names.
func misses(err error) []int32 {
	var m *MissingError
	if !errors.As(err, &m) {
		return nil
	}
	return m.Missing()
}

// reads reads what a generation has, to the ends.
func reads(t *testing.T, ctx context.Context, g *Generation) *taker {
	t.Helper()
	ends := map[int32]int64{}
	for p := range starts(g) {
		ends[p] = 5
	}
	return fetchTo(t, ctx, g, starts(g), ends)
}

// A member begins with one of four partitions without a leader. It reads the others, and that one as soon as it
// has a leader; the group does not rebalance for that.
func TestOnePartitionWithoutALeader(t *testing.T) {
	for name, member := range map[string]Member{"group": {}, "fixed": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := four(t)
			away := without(c, 2)
			joins := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Observe: true, Count: -1})
			s, book := open(t, Config{Brokers: c.ListenAddrs(), Topic: "four", Group: "g", Member: member})
			ctx := await.Context(t)
			g := next(t, ctx, s)
			if got := numbers(g); !slices.Equal(got, []int32{0, 1, 3}) || !slices.Equal(misses(g.Missing()), []int32{2}) {
				t.Fatalf("it has %v, and misses %v", got, g.Missing())
			}
			k := reads(t, ctx, g)
			for _, p := range []int32{0, 1, 3} {
				sameList(t, fmt.Sprint("partition ", p), k.plain[p], numbered(fmt.Sprint("p", p, "-"), 0, 5))
			}
			for _, text := range []string{s.Trouble(), g.Missing().Error()} {
				contains(t, "the trouble", text, "topic four", "partition 2: ", "Leader Not Available")
			}
			if err := g.Commit(ctx, map[int32]int64{0: 3, 1: 5}); err != nil {
				t.Fatal(err)
			}
			seen := away.Hits()
			eventually(t, "it asks again", func() bool { return away.Hits() > seen+3 })
			if ended(g) {
				t.Fatalf("the generation has ended while the leader is away: %v", g.Err())
			}
			joined := joins.Hits()
			away.Remove()
			<-g.Done()
			if !errors.Is(g.Err(), ErrEnded) {
				t.Errorf("it ended with %v", g.Err())
			}
			g.Release()
			g = next(t, ctx, s)
			if got := numbers(g); !slices.Equal(got, []int32{0, 1, 2, 3}) || g.Missing() != nil {
				t.Fatalf("then it has %v, and misses %v", got, g.Missing())
			}
			if at := g.Partitions(); member.Fixed() == (at[0].Committed == 3) || at[2].Committed != -1 {
				t.Errorf("assigned %+v", at)
			}
			sameList(t, "partition 2", reads(t, ctx, g).plain[2], numbered("p2-", 0, 5))
			if joins.Hits() != joined {
				t.Errorf("it joined the group again: %d times", joins.Hits()-joined)
			}
			if s.Trouble() != "" {
				t.Errorf("there is still trouble: %s", s.Trouble())
			}
			log := book.String()
			if strings.Count(log, "level=WARN") != 2 || !strings.Contains(log, "a partition of topic four has no leader that answers; it waits") || !strings.Contains(log, "every partition of topic four has a leader again") {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

// Two members share four partitions, one of which has no leader since before the second joined. Both read. When
// the leader is back, the generation of the partition's owner ends, and that of the other goes on.
func TestRebalanceWithoutALeader(t *testing.T) {
	c := four(t)
	ctx := await.Context(t)
	config := Config{Brokers: c.ListenAddrs(), Topic: "four", Group: "g"}
	a, _ := open(t, config)
	g := next(t, ctx, a)
	away := without(c, 2)
	b, _ := open(t, config)
	got := later(ctx, b)
	<-g.Done()
	g.Release()
	mine := next(t, ctx, a)
	theirs := <-got
	if theirs == nil {
		t.Fatal("the second member has no partitions")
	}
	owner, other, source := mine, theirs, a
	if mine.Missing() == nil {
		owner, other, source = theirs, mine, b
	}
	if len(owner.Partitions()) != 1 || !slices.Equal(misses(owner.Missing()), []int32{2}) || len(other.Partitions()) != 2 || other.Missing() != nil {
		t.Fatalf("%v without %v, and %v without %v", numbers(owner), owner.Missing(), numbers(other), other.Missing())
	}
	for _, g := range []*Generation{owner, other} {
		k := reads(t, ctx, g)
		for _, p := range numbers(g) {
			sameList(t, fmt.Sprint("partition ", p), k.plain[p], numbered(fmt.Sprint("p", p, "-"), 0, 5))
		}
	}
	away.Remove()
	<-owner.Done()
	owner.Release()
	whole := next(t, ctx, source)
	sameList(t, "partition 2", reads(t, ctx, whole).plain[2], numbered("p2-", 0, 5))
	if ended(other) {
		t.Errorf("the other member's generation has ended: %v", other.Err())
	}
}

// Spans has the partitions that answer, and names the others. It waits for a short election, once.
func TestSpansWithoutALeader(t *testing.T) {
	c := four(t)
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "four"})
	ctx := await.Context(t)
	look := func(missing ...int32) {
		t.Helper()
		spans, err := s.Spans(ctx)
		if !slices.Equal(misses(err), missing) || len(spans) != 4-len(missing) || len(missing) == 0 && err != nil {
			t.Errorf("%v, %v; want it without %v", spans, err, missing)
		}
		for p, span := range spans {
			if slices.Contains(missing, p) || span.First != 0 || span.Next != 5 || span.End != 5 {
				t.Errorf("partition %d: %+v", p, span)
			}
		}
	}
	election := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: 2})
	look()
	if election.Hits() != 2 {
		t.Errorf("%d refusals", election.Hits())
	}
	away := without(c, 2)
	look(2)
	before := away.Hits()
	look(2)
	if n := away.Hits() - before; n != 1 {
		t.Errorf("the next look asked for a partition that was missing %d times", n)
	}
	also := without(c, 0)
	look(0, 2)
	away.Remove()
	look(0)
	also.Remove()
	look()
	if s.Trouble() != "" {
		t.Errorf("there is still trouble: %s", s.Trouble())
	}
}

// Newer counts the records of a time and later ones, and names partitions without a leader as Spans does.
func TestNewer(t *testing.T) {
	c := four(t)
	client := newClient(t, c.ListenAddrs(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	now := time.Now().Truncate(time.Millisecond)
	for i := range 6 { // five records of now or before are there
		r := &kgo.Record{Topic: "four", Partition: 1, Value: []byte("later"), Timestamp: now.Add(time.Duration(i) * time.Hour)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "four"})
	newer := func(than time.Time, missing []int32, want map[int32]int64) {
		t.Helper()
		if got, err := s.Newer(await.Context(t), than); !maps.Equal(got, want) || !slices.Equal(misses(err), missing) {
			t.Errorf("newer than %v: %v, %v; want %v", than.Sub(now), got, err, want)
		}
	}
	newer(now.Add(time.Hour), nil, map[int32]int64{1: 5})
	newer(now.Add(5*time.Hour), nil, map[int32]int64{1: 1})
	newer(now.Add(6*time.Hour), nil, map[int32]int64{})
	newer(time.UnixMilli(0), nil, map[int32]int64{0: 5, 1: 11, 2: 5, 3: 5})
	without(c, 2)
	newer(time.UnixMilli(0), []int32{2}, map[int32]int64{0: 5, 1: 11, 3: 5})
}

// The partitions of a broker that does not answer are missing, and those of the other are there.
func TestBrokerDoesNotAnswer(t *testing.T) {
	c := four(t, kfake.NumBrokers(2))
	for p := range int32(4) {
		if err := c.MoveTopicPartition("four", p, p/2); err != nil {
			t.Fatal(err)
		}
	}
	c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("the connection breaks"), c.CurrentNode() == 1
	})
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "four"})
	if spans, err := s.Spans(await.Context(t)); !slices.Equal(misses(err), []int32{2, 3}) || len(spans) != 2 {
		t.Errorf("%v, %v; want it without 2 and 3", spans, err)
	}
}

// The metadata names no leader of a partition, at the start or while it is read. The others are read, and Trouble
// and one line of the log name it.
func TestNoLeaderInTheMetadata(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			t.Parallel()
			c := four(t)
			var away atomic.Bool
			id := c.TopicInfo("four").TopicID
			host, port, _ := net.SplitHostPort(c.ListenAddrs()[0])
			number, _ := strconv.Atoi(port)
			c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				r := req.ResponseKind().(*kmsg.MetadataResponse)
				r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: c.CurrentNode(), Host: host, Port: int32(number)}}
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.TopicID = kmsg.StringPtr("four"), id
				for i := range int32(4) {
					p := kmsg.NewMetadataResponseTopicPartition()
					if p.Partition, p.Leader = i, c.CurrentNode(); i == 2 {
						p.Leader, p.ErrorCode = -1, kerr.LeaderNotAvailable.Code
					}
					topic.Partitions = append(topic.Partitions, p)
				}
				r.Topics = append(r.Topics, topic)
				return r, nil, away.Load()
			})
			s, book := open(t, Config{Brokers: c.ListenAddrs(), Topic: "four", Group: "g", Member: Member{0, 1}, MaxWait: 20 * time.Millisecond})
			ctx := await.Context(t)
			away.Store(!running)
			g := next(t, ctx, s)
			from := starts(g)
			ends := map[int32]int64{0: 5, 1: 5, 3: 5}
			if running {
				moved := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{2}, Err: kerr.NotLeaderForPartition, Count: -1})
				defer moved.Remove()
				away.Store(true)
			} else if !slices.Equal(misses(g.Missing()), []int32{2}) {
				t.Fatalf("%v is missing", g.Missing())
			}
			fetching, stop := context.WithCancel(ctx)
			defer stop()
			k, done := newTaker(from), make(chan error, 1)
			go func() { done <- k.fetch(fetching, g, nil) }()
			eventually(t, "the others are read", func() bool { ok, err := k.reached(ends); return ok && err == nil })
			eventually(t, "the trouble is known", func() bool { return strings.Contains(s.Trouble(), "partition 2: it has no leader") })
			stop()
			<-done
			if log := book.String(); strings.Count(log, "a partition of topic four has no leader that answers; it waits") != 1 {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}
