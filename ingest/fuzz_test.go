package ingest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/event"
)

// FuzzResponse gives a whole Fetch response, as bytes from the network, to all
// the code that reads them. It corrects the checksums first, so that mutations
// reach the code after the check. For any input there must be no panic, the
// guarantees about offsets must hold, and memory must be bounded by the input
// and the limit.
func FuzzResponse(f *testing.F) {
	seed := func(aborted []transaction, batches ...batchSpec) {
		var set []byte
		for _, b := range batches {
			set = append(set, b.bytes()...)
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset = 1000, 1000
		p.RecordBatches = set
		for _, a := range aborted {
			p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.producer, FirstOffset: a.first})
		}
		for _, version := range []int16{4, 11, 13} {
			f.Add(fetchResponseOf(version, p).response, int64(2))
		}
	}
	text := simple(0, click(1), click(2), "", click(3))
	seed(nil)
	seed(nil, text, simple(10, "a"))
	for codec := uint16(codecGzip); codec <= codecZstd; codec++ {
		seed(nil, compressed(f, codec, text))
	}
	aborted := text
	aborted.attributes, aborted.producer = attrTransactional, 7
	seed([]transaction{{7, 0}}, aborted, marker(4, 7, 0), simple(5, "visible"))
	seed(nil, batchSpec{lastDelta: 9}, simple(10, "behind an empty batch"))

	u := newUnpacker(1<<20, true)
	f.Fuzz(func(t *testing.T, response []byte, from int64) {
		if from < 0 || len(response) > 1<<20 {
			return
		}
		for version := supported[protocol.Fetch].least; version <= supported[protocol.Fetch].most; version++ {
			fuzzResponse(t, u, version, slices.Clone(response), from)
		}
	})
}

func fuzzResponse(t *testing.T, u *unpacker, version int16, response []byte, from int64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var parsed fetchResponse
	if parsed.parse(&call{api: protocol.Fetch, version: version, response: response}) != nil {
		return
	}
	for _, p := range parsed.partitions {
		mend(p.records)
		next := from
		to, err := unpackAll(u, p.records, from, p.aborted, func(b *event.Batch) error {
			if b.First != next || b.Next <= b.First {
				return fmt.Errorf("a batch of [%d, %d), want it to begin at %d", b.First, b.Next, next)
			}
			if b.Unreadable != "" && len(b.Records) > 0 {
				return fmt.Errorf("%d records in an unreadable batch", len(b.Records))
			}
			previous := b.First - 1
			for _, r := range b.Records {
				if r.Offset <= previous || r.Offset >= b.Next {
					return fmt.Errorf("offset %d after %d in [%d, %d)", r.Offset, previous, b.First, b.Next)
				}
				previous = r.Offset
			}
			next = b.Next
			return nil
		})
		if err == nil && next != to {
			t.Errorf("unpacked to %d, want %d", next, to)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20+uint64(len(response))*100 {
		t.Errorf("%d bytes allocated for a response of %d", n, len(response))
	}
}

// mend corrects the checksums of all batches whose length is in bounds.
func mend(set []byte) {
	for len(set) >= batchHeader {
		n := int64(int32(be.Uint32(set[8:]))) + batchHead
		if n < batchHeader || n > int64(len(set)) {
			return
		}
		set[16] = 2
		seal(set[:n])
		set = set[n:]
	}
}

// FuzzMetadata does the same for the other response that is read here.
func FuzzMetadata(f *testing.F) {
	name := "t"
	m := kmsg.NewPtrMetadataResponse()
	mt := kmsg.NewMetadataResponseTopic()
	mt.Topic, mt.TopicID = &name, [16]byte{1}
	mt.Partitions = append(mt.Partitions, kmsg.NewMetadataResponseTopicPartition())
	m.Topics = append(m.Topics, mt)
	m.Brokers = append(m.Brokers, kmsg.NewMetadataResponseBroker())
	for _, v := range []int16{4, 10} {
		f.Add(response(m, v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for v := supported[protocol.Metadata].least; v <= supported[protocol.Metadata].most; v++ {
			if got, err := parseMetadata(&call{api: protocol.Metadata, version: v, response: b}, name); err == nil && len(got.partitions) == 0 {
				t.Errorf("a topic without partitions: %+v", got)
			}
		}
	})
}
