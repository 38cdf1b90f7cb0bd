package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
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
