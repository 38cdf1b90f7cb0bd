package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// A topic is the present metadata of the topic. It is requested each time it is needed,
// which also tells the addresses of the brokers.
type topic struct {
	id         [16]byte
	partitions []leadership // by partition number
	racks      []string     // of the brokers that have one, sorted, each once
	addresses  map[int32]string
}

// A leadership is the broker that leads a partition, and the epoch of its
// election.
type leadership struct {
	partition int32
	leader    int32 // broker id; -1 while there is none
	epoch     int32
}

// metadata asks any broker about the topic. errNoTopic is the answer for one
// that does not exist.
func (s *Source) metadata(ctx context.Context) (*topic, error) {
	return s.metadataOf(ctx, anyBroker, s.config.Topic)
}

func (s *Source) metadataOf(ctx context.Context, broker int32, name string) (*topic, error) {
	q, err := s.newCall(ctx, protocol.Metadata, broker)
	if err != nil {
		return nil, err
	}
	q.array(1)
	if q.version >= 10 {
		q.raw(make([]byte, 16)) // ask by name, not by id
	}
	q.text(name)
	q.tags()
	q.int8(0) // do not create it
	if q.version >= 8 {
		q.int8(0) // without the authorized operations of the cluster
		q.int8(0) // and of the topic
	}
	q.tags()
	if err := s.exchange(ctx, q, requestTimeout); err != nil {
		return nil, err
	}
	t, err := parseMetadata(q, name)
	if err == nil {
		s.conns.learn(t.addresses)
	}
	return t, err
}

func parseMetadata(q *call, name string) (*topic, error) {
	r := q.reader()
	r.throttle(true)
	var racks []string
	addresses := make(map[int32]string)
	for n := r.array(11); n > 0; n-- {
		id, host := r.int32(), r.text()
		addresses[id] = address(host, r.int32())
		if rack := r.text(); rack != "" {
			racks = append(racks, rack)
		}
		r.tags()
	}
	slices.Sort(racks)
	r.text()  // cluster id
	r.int32() // controller
	var t *topic
	var code kafka.Error
	for n := r.array(9); n > 0; n-- {
		c := kafka.Error(r.int16())
		found := &topic{}
		ours := r.text() == name
		if q.version >= 10 {
			copy(found.id[:], r.take(16))
		}
		r.int8() // internal
		for p := r.array(18); p > 0; p-- {
			r.int16() // error code; leader -1 is enough
			l := leadership{partition: r.int32(), leader: r.int32(), epoch: -1}
			if q.version >= 7 {
				l.epoch = r.int32()
			}
			r.take(4 * r.array(4)) // replicas
			r.take(4 * r.array(4)) // in sync
			if q.version >= 5 {
				r.take(4 * r.array(4)) // offline
			}
			r.tags()
			found.partitions = append(found.partitions, l)
		}
		if q.version >= 8 {
			r.int32() // authorized operations
		}
		r.tags()
		if ours {
			t, code = found, c
		}
	}
	if q.version >= 8 {
		r.int32() // authorized operations of the cluster
	}
	r.tags()
	if err := r.done("metadata"); err != nil {
		return nil, err
	}
	switch {
	case t == nil, code == kafka.UnknownTopicOrPartition, code == 0 && len(t.partitions) == 0:
		return nil, fmt.Errorf("topic %q: %w", name, errNoTopic)
	case code != 0:
		return nil, fmt.Errorf("topic %q: %w", name, code)
	}
	t.racks, t.addresses = slices.Compact(racks), addresses
	slices.SortFunc(t.partitions, func(a, b leadership) int { return int(a.partition) - int(b.partition) })
	return t, nil
}

func (t *topic) of(partition int32) (leadership, bool) {
	i, ok := slices.BinarySearchFunc(t.partitions, partition, func(l leadership, p int32) int { return int(l.partition) - int(p) })
	if !ok {
		return leadership{}, false
	}
	return t.partitions[i], true
}

// An edge is what a ListOffsets request asks of a log: a timestamp and an isolation level.
type edge struct {
	at        int64
	isolation int8
}

const readCommitted = 1

var (
	logStart  = edge{-2, 0}
	logEnd    = edge{-1, 0} // open transactions included
	logStable = edge{-1, readCommitted}
)

// leaderWait is how long logs asks for partitions whose leaders do not answer, before it goes on
// without them: an election that is well takes less.
const leaderWait = time.Second

// logs asks for edges of the logs of the wanted partitions until the leaders of some of them
// answer. The others are named by its error then, a *MissingError. It does not wait if the
// last try of what has failed.
func (s *Source) logs(ctx context.Context, what string, wanted func(*topic) []int32, edges ...edge) (t *topic, logs map[int32][]int64, err error) {
	began, known := time.Now(), s.notices.fails(what)
	err = s.repeat(ctx, what, func(ctx context.Context) (err error) {
		if t, err = s.metadata(ctx); err != nil {
			return err
		}
		left := wanted(t)
		logs = make(map[int32][]int64, len(left))
		missing := &MissingError{topic: s.config.Topic, why: make(map[int32]error), settled: known || time.Since(began) > leaderWait}
		for _, e := range edges {
			found, err := s.offsets(ctx, t, left, e, missing.why)
			if err != nil {
				return err
			}
			left = slices.DeleteFunc(left, func(p int32) bool { return missing.why[p] != nil })
			for p, at := range found {
				logs[p] = append(logs[p], at)
			}
		}
		if len(missing.why) == 0 {
			return nil
		}
		maps.DeleteFunc(logs, func(p int32, _ []int64) bool { return missing.why[p] != nil })
		missing.settled = missing.settled && len(left) > 0
		return missing
	})
	return t, logs, err
}

// offsets asks the leaders of the wanted partitions for an edge of their logs. In missing it
// notes the partitions whose leader is not there, or does not say it for now.
func (s *Source) offsets(ctx context.Context, t *topic, wanted []int32, e edge, missing map[int32]error) (map[int32]int64, error) {
	byLeader := make(map[int32][]leadership)
	for _, p := range wanted {
		switch l, ok := t.of(p); {
		case !ok:
			missing[p] = kafka.UnknownTopicOrPartition
		case l.leader < 0:
			missing[p] = errNoLeader
		default:
			byLeader[l.leader] = append(byLeader[l.leader], l)
		}
	}
	found := make(map[int32]int64, len(wanted))
	for leader, partitions := range byLeader {
		codes := make(map[int32]error)
		err := s.offsetsAt(ctx, leader, partitions, e, found, codes)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, l := range partitions {
			p := l.partition
			if _, ok := found[p]; ok {
				continue
			}
			missing[p] = cmp.Or(err, codes[p], errors.New("the broker did not say where its log starts or ends"))
			if judge(missing[p]) != retry { // also where a Source with AwaitRights waits
				return nil, fmt.Errorf("partition %d: %w", p, missing[p])
			}
		}
	}
	return found, nil
}

// offsetsAt asks one leader. The errors of partitions go into codes.
func (s *Source) offsetsAt(ctx context.Context, leader int32, partitions []leadership, e edge, found map[int32]int64, codes map[int32]error) error {
	topic := listoffsets.RequestTopic{Topic: s.config.Topic}
	for _, l := range partitions {
		topic.Partitions = append(topic.Partitions, listoffsets.RequestPartition{Partition: l.partition, CurrentLeaderEpoch: l.epoch, Timestamp: e.at})
	}
	r, err := ask[*listoffsets.Response](ctx, s, leader, &listoffsets.Request{ReplicaID: -1, IsolationLevel: e.isolation, Topics: []listoffsets.RequestTopic{topic}}, requestTimeout)
	if err != nil {
		return err
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				codes[p.Partition] = kafka.Error(p.ErrorCode)
			} else {
				found[p.Partition] = p.Offset
			}
		}
	}
	return nil
}
