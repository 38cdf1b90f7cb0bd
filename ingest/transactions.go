package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// An OpenTransaction is a transaction that keeps readers of committed records
// from reading further in a partition.
type OpenTransaction struct {
	Partition int32
	Offset    int64     // the last stable offset: its first record
	Records   int64     // from there to the end of the log
	Producer  int64     // its producer's id; -1: not known
	Epoch     int32     // of the producer
	Written   time.Time // the time of the producer's last record; zero: not known
}

// DescribeProducers (KIP-664, Kafka 2.8) tells who writes to a partition. It
// needs READ on the topic, as a fetch does.
const describeProducers protocol.ApiKey = 61

// OpenTransactions returns the transactions that are open now, even if only briefly.
// The producer is missing if the broker does not name it, and so are partitions without a
// leader. Temporary errors are retried until ctx ends.
func (s *Source) OpenTransactions(ctx context.Context) ([]OpenTransaction, error) {
	spans, err := s.Spans(ctx)
	if err != nil && !Lacks(err) {
		return nil, err
	}
	var open []OpenTransaction
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		if at := spans[p]; at.End > at.Next {
			open = append(open, OpenTransaction{Partition: p, Offset: at.Next, Records: at.End - at.Next, Producer: -1})
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	t, err := s.metadata(ctx)
	if err != nil {
		return open, nil
	}
	for i := range open {
		o := &open[i]
		l, ok := t.of(o.Partition)
		if !ok || l.leader < 0 {
			continue
		}
		q, err := s.newCall(ctx, describeProducers, l.leader)
		if err != nil {
			continue // report it without its producer
		}
		q.array(1)
		q.text(s.config.Topic)
		q.array(1)
		q.int32(o.Partition)
		q.tags()
		q.tags()
		if s.exchange(ctx, q, requestTimeout) != nil {
			continue
		}
		_ = o.parse(q.reader()) // if this fails, report it without its producer
	}
	return open, nil
}

// parse takes from a DescribeProducers response the producer whose transaction
// is open and began first.
func (o *OpenTransaction) parse(r *reader) error {
	r.throttle(true)
	first := int64(-1)
	var code int16
	for n := r.array(3); n > 0; n-- {
		r.text() // topic
		for n := r.array(9); n > 0; n-- {
			r.int32() // partition
			code = r.int16()
			r.text() // the code as text
			for n := r.array(37); n > 0; n-- {
				id, epoch := r.int64(), r.int32()
				r.int32() // last sequence number
				written := r.int64()
				r.int32() // the coordinator's epoch
				begins := r.int64()
				r.tags()
				if !r.bad && begins >= 0 && (first < 0 || begins < first) {
					first = begins
					o.Producer, o.Epoch = id, epoch
					if written > 0 {
						o.Written = time.UnixMilli(written)
					}
				}
			}
			r.tags()
		}
		r.tags()
	}
	r.tags()
	return cmp.Or(r.done("the producers of a partition"), codeError(code))
}

// String describes the transaction and its producer.
func (o OpenTransaction) String() string {
	text := fmt.Sprintf("partition %d cannot be read beyond offset %d: %d records are in or behind a transaction that is open", o.Partition, o.Offset, o.Records)
	if o.Producer >= 0 {
		text += fmt.Sprintf(", of producer %d in epoch %d", o.Producer, o.Epoch)
	}
	if !o.Written.IsZero() {
		text += ", which wrote last at " + o.Written.UTC().Format(time.RFC3339)
	}
	return text
}
