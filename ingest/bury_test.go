package ingest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/await"
	"weir/internal/kafkatest"
)

// leaveBehind makes a member of the group that owns every partition and is
// never heard of again, as one that was killed.
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
		join.MemberID = res.MemberID // the second time, by its name
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

// A member that is known to be dead does not hold its successor up; one that
// is not known to be is waited for.
func TestDeadMemberIsBuried(t *testing.T) {
	kafka := realKafka(t)
	for _, c := range []struct {
		name, dead string
		session    time.Duration
		slow       bool
	}{
		{"dead", "weir-a-7-old", 5 * time.Minute, false}, // longer than is waited for
		{"silent", "weir-b-7-old", 6 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic := newTopic(t, kafka.Addrs(), 2)
			ctx := await.Context(t)
			leaveBehind(t, ctx, kafka.Addrs(), topic, c.dead, c.session)
			began := time.Now()
			s, book := open(t, Config{
				Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: "weir-a-7-new",
				Gone: func(id string) bool { return id == "weir-a-7-old" },
			})
			g := next(t, ctx, s)
			took := time.Since(began)
			if n := len(g.Partitions()); n != 2 {
				t.Errorf("%d partitions, want both", n)
			}
			if c.slow && took < c.session/2 {
				t.Errorf("partitions came after %v; the session is %v", took, c.session)
			}
			if said := strings.Contains(book.String(), "process is dead"); said == c.slow {
				t.Errorf("said so: %v", said)
			}
		})
	}
}

// A broker that was killed comes back and remembers the group. Its member
// joins anew under another id, and does not wait for its former self.
func TestFormerMemberIsDisowned(t *testing.T) {
	kafka := kafkatest.Start(t, kafkatest.Config{})
	topic := newTopic(t, kafka.Addrs(), 2)
	const session = 5 * time.Minute // longer than is waited for
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, ClientID: "weir-a-7-x", Session: session})
	ctx := await.Context(t)
	g := next(t, ctx, s)
	kafka.Kill(1)
	<-g.Done()
	g.Release()
	if err := kafka.Run(1); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	g = next(t, ctx, s)
	took := time.Since(back)
	t.Logf("in the group again %v after the broker was back; the session is %v", took, session)
	if n := len(g.Partitions()); n != 2 {
		t.Errorf("%d partitions, want both", n)
	}
	eventually(t, "it is said", func() bool { return strings.Contains(book.String(), "former member") })
}
