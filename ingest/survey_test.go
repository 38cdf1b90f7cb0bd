package ingest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/await"
)

// leaveBehind makes a member of the group that owns every partition and then
// sends nothing more, like a killed process.
func leaveBehind(t *testing.T, ctx context.Context, addrs []string, group, clientID string, session time.Duration) {
	t.Helper()
	client := newClient(t, addrs, kgo.ClientID(clientID))
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType = group, "consumer"
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = int32(session.Milliseconds()), 60_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "range"
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{group}
	protocol.Metadata = meta.AppendTo(nil)
	join.Protocols = append(join.Protocols, protocol)
	for {
		res, err := join.RequestWith(ctx, client)
		if err != nil {
			t.Fatal(err)
		}
		join.MemberID = res.MemberID // the second request carries the id
		err = kerr.ErrorForCode(res.ErrorCode)
		if err == nil {
			sync := kmsg.NewPtrSyncGroupRequest()
			sync.Group, sync.MemberID, sync.Generation = group, res.MemberID, res.Generation
			if _, err := sync.RequestWith(ctx, client); err != nil {
				t.Fatal(err)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A member that is known to be dead, at once or later, does not delay its
// successor. A member that may be alive is awaited, and named.
func TestDeadMemberIsRemoved(t *testing.T) {
	kafka := realKafka(t)
	t.Run("dead", func(t *testing.T) {
		topic := newTopic(t, kafka.Addrs(), 2)
		const session = await.Never + 5*time.Minute // longer than the test waits
		ctx := await.Context(t)
		leaveBehind(t, ctx, kafka.Addrs(), topic, "weir-a-7-old", session)
		var asked atomic.Int32
		s, book := open(t, Config{
			Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: "weir-a-7-new",
			Gone: func(id string) bool { return id == "weir-a-7-old" && asked.Add(1) > 8 },
		})
		g := next(t, ctx, s)
		if n := len(g.Partitions()); n != 2 {
			t.Errorf("%d partitions, want both", n)
		}
		contains(t, "the log", book.String(), "process is dead", "weir-a-7-old")
	})
	t.Run("silent", func(t *testing.T) {
		topic := newTopic(t, kafka.Addrs(), 2)
		const session = 10 * time.Second
		ctx := await.Context(t)
		began := time.Now()
		leaveBehind(t, ctx, kafka.Addrs(), topic, "weir-b-7-old", session)
		s, book := open(t, Config{
			Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: "weir-a-7-new",
			Gone: func(id string) bool { return id == "weir-a-7-old" },
		})
		got := later(ctx, s)
		eventually(t, "it is said which member is waited for", func() bool {
			return strings.Contains(s.Trouble(), `client "weir-b-7-old" at 127.0.0.1`)
		})
		if g := <-got; g == nil || len(g.Partitions()) != 2 {
			t.Errorf("got %v, want both partitions", g)
		}
		if took := time.Since(began); took < session {
			t.Errorf("a member that may be alive was waited for %v; its session is %v", took, session)
		}
		contains(t, "the log", book.String(), "waits until all its members", "weir-b-7-old", "127.0.0.1")
		eventually(t, "nothing is waited for any more", func() bool { return s.Trouble() == "" })
	})
}

// Two processes that cannot see each other, with one host name in two
// containers, each assume that the other is dead. Both stay in the group.
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
				g, err := s.Next(ctx)
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
