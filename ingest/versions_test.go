package ingest

import (
	"errors"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"weir/event"
	"weir/internal/await"
)

// olderBrokers are the greatest versions that some brokers support, by a name for the
// broker. Event Hubs supports those of Kafka 1.0, and Redpanda 24 those of Kafka 3.0 but
// for two.
func olderBrokers() map[string]dialect {
	of := func(v *kversion.Versions, fewer dialect) dialect {
		d := make(dialect)
		v.EachMaxKeyVersion(func(api, most int16) { d[protocol.ApiKey(api)] = most })
		maps.Copy(d, fewer)
		return d
	}
	return map[string]dialect{
		"kafka-0.11":  of(kversion.V0_11_0(), nil),
		"event-hubs":  of(kversion.V1_0_0(), nil),
		"kafka-2.1":   of(kversion.V2_1_0(), nil),
		"kafka-2.8":   of(kversion.V2_8_0(), nil),
		"kafka-3.0":   of(kversion.V3_0_0(), nil),
		"redpanda-24": of(kversion.V3_0_0(), dialect{protocol.Fetch: 11, protocol.Metadata: 8}),
	}
}

// tellsID reports whether the broker tells the ids of topics.
func tellsID() bool { return ceiling == nil || ceiling[protocol.Metadata] >= 10 }

// namesReplicas reports whether the broker names a replica to read from (KIP-392).
func namesReplicas() bool { return ceiling == nil || ceiling[protocol.Fetch] >= 11 }

// While the brokers of a cluster are replaced, a request to any of them has a version that all support
// which have told theirs, in whatever order.
func TestAnyBrokerOlder(t *testing.T) {
	defer func() { ceiling = nil }()
	c := fakeKafka(t)
	for _, order := range [][]dialect{{nil, {protocol.Metadata: 7}}, {{protocol.Metadata: 7}, nil}, {{protocol.Metadata: 7}, {protocol.Metadata: 9}}} {
		s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "mixed"})
		for _, ceiling = range order {
			if _, err := s.conns.connect(await.Context(t), anyBroker, c.ListenAddrs()[0]); err != nil {
				t.Fatal(err)
			}
		}
		d, err := s.conns.dialect(await.Context(t), anyBroker)
		if v, _ := d.of(protocol.Metadata); err != nil || v != 7 {
			t.Errorf("brokers with %v are asked in version %d, %v", order, v, err)
		}
	}
}

// Records that were fetched by the topic's name are delivered only if the topic still is
// the one of the generation.
func TestFetchByNameIsRechecked(t *testing.T) {
	ceiling = olderBrokers()["kafka-2.8"]
	defer func() { ceiling = nil }()
	c := fakeKafka(t, kfake.SeedTopics(1, "young"))
	produce(t, c.ListenAddrs(), "young", 0, numbered("", 0, 10))
	var fetched atomic.Bool
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		fetched.Store(true)
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if !fetched.Load() || r.GetVersion() < 10 {
			return nil, nil, false
		}
		res := r.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID = kmsg.StringPtr("young"), [16]byte{9}
		topic.Partitions = append(topic.Partitions, kmsg.NewMetadataResponseTopicPartition())
		res.Topics = append(res.Topics, topic)
		return res, nil, true
	})
	s, _ := open(t, Config{Brokers: c.ListenAddrs(), Topic: "young"})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	err = g.Fetch(ctx, starts(g), func(p event.Part) error { records++; return errors.New("delivered") })
	if !errors.Is(err, ErrRecreated) || records > 0 {
		t.Errorf("Fetch: %v, with %d parts", err, records)
	}
}
