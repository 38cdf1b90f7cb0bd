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

// A leadership is the broker that leads a partition, and the epoch of its
// election.
type leadership struct {
	partition int32
	leader    int32 // broker id; -1 while there is none
	epoch     int32
}

// metadata versions: 10 is the first with topic ids. The others are the oldest
// versions with the needed fields (see request.go and offsets).
const (
	apiVersionsVersion = 0
	metadataVersion    = 10
	listOffsetsVersion = 5
)

// metadata asks any broker about the topic. errNoTopic is the answer for one
// that does not exist.
func (s *Source) metadata(ctx context.Context) (*topic, error) {
	return s.metadataOf(ctx, s.config.Topic)
}

func (s *Source) metadataOf(ctx context.Context, name string) (*topic, error) {
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	b := beginRequest(nil, protocol.Metadata, metadataVersion, s.config.ClientID, true)
	b = appendCompact(b, 1)
	b = append(b, make([]byte, 16)...) // ask by name, not by id
	b = appendCompact(b, len(name))
	b = append(b, name...)
	b = append(b, 0,
		0,    // do not create it
		0, 0, // without the authorized operations of cluster and topic
		0)
	c := &call{api: protocol.Metadata, broker: anyBroker, request: endRequest(b), limit: smallResponse}
	if err := s.exchange(ctx, c, requestTimeout); err != nil {
		return nil, err
	}
	return parseMetadata(c.response, name)
}

func parseMetadata(response []byte, name string) (*topic, error) {
	r := reader{b: response}
	r.int32() // correlation
	r.tags()
	r.int32() // throttle time: the broker has already waited
	var racks []string
	for n := r.compact(11); n > 0; n-- {
		r.int32()        // broker id
		r.compactBytes() // host
		r.int32()        // port
		if rack := string(r.compactBytes()); rack != "" {
			racks = append(racks, rack)
		}
		r.tags()
	}
	slices.Sort(racks)
	r.compactBytes() // cluster id
	r.int32()        // controller
	var t *topic
	var code kafka.Error
	for n := r.compact(26); n > 0; n-- {
		c := kafka.Error(r.int16())
		found := &topic{}
		ours := string(r.compactBytes()) == name
		copy(found.id[:], r.take(16))
		r.int8() // internal
		for p := r.compact(18); p > 0; p-- {
			r.int16() // error code; leader -1 is enough
			l := leadership{partition: r.int32(), leader: r.int32(), epoch: r.int32()}
			for range 3 { // replicas, in sync, offline
				r.take(4 * r.compact(4))
			}
			r.tags()
			found.partitions = append(found.partitions, l)
		}
		r.int32() // authorized operations
		r.tags()
		if ours {
			t, code = found, c
		}
	}
	r.int32() // authorized operations of the cluster
	r.tags()
	if err := r.done("metadata"); err != nil {
		return nil, err
	}
	switch {
	case t == nil, code == kafka.UnknownTopicOrPartition, code == 0 && len(t.partitions) == 0:
		return nil, fmt.Errorf("topic %q: %w", name, errNoTopic)
	case code != 0:
		return nil, fmt.Errorf("topic %q: %w", name, code)
	case t.id == [16]byte{}:
		return nil, ErrOldBroker
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

// probe asks a broker, once per Source, which versions it supports. An old
// broker would close the connection on the first fetch without an error code.
func (s *Source) probe(ctx context.Context) error {
	if s.probed.Load() {
		return nil
	}
	b := beginRequest(nil, protocol.ApiVersions, apiVersionsVersion, s.config.ClientID, false)
	c := &call{api: protocol.ApiVersions, broker: anyBroker, request: endRequest(b), limit: smallResponse}
	if err := s.exchange(ctx, c, requestTimeout); err != nil {
		return err
	}
	if err := parseVersions(c.response); err != nil {
		return err
	}
	s.probed.Store(true)
	return nil
}

func parseVersions(response []byte) error {
	r := reader{b: response}
	r.int32() // correlation
	if code := kafka.Error(r.int16()); code != 0 {
		return code
	}
	need := map[protocol.ApiKey]int16{protocol.Metadata: metadataVersion, protocol.ListOffsets: listOffsetsVersion, protocol.Fetch: fetchVersion}
	for n := r.count(6); n > 0; n-- {
		api, least, most := protocol.ApiKey(r.int16()), r.int16(), r.int16()
		if want, ok := need[api]; ok && !r.bad {
			if want < least || want > most {
				return fmt.Errorf("%w: it speaks %v from version %d to %d, not %d", ErrOldBroker, api, least, most, want)
			}
			delete(need, api)
		}
	}
	if err := r.done("its versions"); err != nil {
		return err
	}
	for api := range need {
		return fmt.Errorf("%w: it does not speak %v", ErrOldBroker, api)
	}
	return nil
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
func (s *Source) offsets(ctx context.Context, t *topic, wanted []int32, at int64, isolation byte) (map[int32]int64, error) {
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
		b := beginRequest(nil, protocol.ListOffsets, listOffsetsVersion, s.config.ClientID, false)
		b = appendInt32(b, -1) // not a replica
		b = append(b, isolation)
		b = appendInt32(b, 1)
		b = appendString(b, s.config.Topic)
		b = appendInt32(b, int32(len(partitions)))
		for _, l := range partitions {
			b = appendInt32(b, l.partition)
			b = appendInt32(b, l.epoch)
			b = appendInt64(b, at)
		}
		c := &call{api: protocol.ListOffsets, broker: leader, request: endRequest(b), limit: smallResponse}
		if err := s.exchange(ctx, c, requestTimeout); err != nil {
			return nil, err
		}
		if err := parseOffsets(c.response, found); err != nil {
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

func parseOffsets(response []byte, found map[int32]int64) error {
	r := reader{b: response}
	r.int32() // correlation
	r.int32() // throttle time
	var problems []error
	for n := r.count(6); n > 0; n-- {
		r.string() // topic
		for p := r.count(26); p > 0; p-- {
			partition, code := r.int32(), kafka.Error(r.int16())
			r.int64() // timestamp
			offset := r.int64()
			r.int32() // epoch
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
