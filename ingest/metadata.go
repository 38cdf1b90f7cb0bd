package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// A topic is the present metadata of the topic. kafka-go's own metadata is
// cached, has no topic id, and is not refreshed after an error; this is
// requested each time it is needed.
type topic struct {
	id         [16]byte
	partitions []leadership // by partition number
	racks      []string     // of the brokers that have one, sorted, each once
}

// noID is the id of a topic whose brokers do not tell it (see supported).
var noID [16]byte

// otherTopic reports whether two ids, as far as they are known, are of different topics.
func otherTopic(a, b [16]byte) bool { return a != b && a != noID && b != noID }

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
	return parseMetadata(q, name)
}

func parseMetadata(q *call, name string) (*topic, error) {
	r := q.reader()
	r.throttle(true)
	var racks []string
	for n := r.array(11); n > 0; n-- {
		r.int32() // broker id
		r.text()  // host
		r.int32() // port
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
	t.racks = slices.Compact(racks)
	slices.SortFunc(t.partitions, func(a, b leadership) int { return int(a.partition) - int(b.partition) })
	return t, nil
}

// of finds a partition.
func (t *topic) of(partition int32) (leadership, bool) {
	i, ok := slices.BinarySearchFunc(t.partitions, partition, func(l leadership, p int32) int { return int(l.partition) - int(p) })
	if !ok {
		return leadership{}, false
	}
	return t.partitions[i], true
}

// The timestamps and isolation levels of a ListOffsets request.
const (
	earliest = -2
	latest   = -1

	readUncommitted = 0
	readCommitted   = 1
)

// offsets asks the leaders of the wanted partitions where their logs start or
// end. It returns all offsets, or the error of the first partition that has
// one.
func (s *Source) offsets(ctx context.Context, t *topic, wanted []int32, at int64, isolation int8) (map[int32]int64, error) {
	byLeader := make(map[int32][]leadership)
	for _, p := range wanted {
		l, ok := t.of(p)
		if !ok {
			return nil, fmt.Errorf("partition %d: %w", p, kafka.UnknownTopicOrPartition)
		}
		if l.leader < 0 {
			return nil, fmt.Errorf("partition %d: %w", p, errNoLeader)
		}
		byLeader[l.leader] = append(byLeader[l.leader], l)
	}
	found := make(map[int32]int64, len(wanted))
	for leader, partitions := range byLeader {
		q, err := s.newCall(ctx, protocol.ListOffsets, leader)
		if err != nil {
			return nil, err
		}
		q.int32(-1) // not a replica
		q.int8(isolation)
		q.array(1)
		q.text(s.config.Topic)
		q.array(len(partitions))
		for _, l := range partitions {
			q.int32(l.partition)
			if q.version >= 4 {
				q.int32(l.epoch)
			}
			q.int64(at)
		}
		if err := s.exchange(ctx, q, requestTimeout); err != nil {
			return nil, err
		}
		if err := parseOffsets(q, found); err != nil {
			return nil, err
		}
	}
	for _, p := range wanted {
		if _, ok := found[p]; !ok {
			return nil, fmt.Errorf("partition %d: the broker did not say where its log starts or ends", p)
		}
	}
	return found, nil
}

func parseOffsets(q *call, found map[int32]int64) error {
	r := q.reader()
	r.throttle(true)
	var problems []error
	for n := r.array(6); n > 0; n-- {
		r.text() // topic
		for p := r.array(22); p > 0; p-- {
			partition, code := r.int32(), kafka.Error(r.int16())
			r.int64() // timestamp
			offset := r.int64()
			if q.version >= 4 {
				r.int32() // epoch
			}
			if code != 0 {
				problems = append(problems, fmt.Errorf("partition %d: %w", partition, code))
				continue
			}
			found[partition] = offset
		}
	}
	if err := r.done("offsets"); err != nil {
		return err
	}
	return errors.Join(problems...)
}
