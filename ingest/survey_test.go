package ingest

import (
	"context"
	"strings"
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
