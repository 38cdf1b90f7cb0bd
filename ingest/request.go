package ingest

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Fetch version 13 is the first that names topics by their ids (KIP-516, Kafka
// 3.1): the broker itself then refuses a recreated topic, without a time
// between a check of the id and the fetch.
const fetchVersion = 13

// appendFetch writes a Fetch request for these partitions of one topic, in
// this order, which is the order in which the broker fills its response. A leader
// that is told a rack may name a nearer replica in the place of records (KIP-392).
// share is the bytes of each partition.
func appendFetch(b []byte, c *Config, rack string, share int, id [16]byte, partitions []*partition) []byte {
	b = beginRequest(b, protocol.Fetch, fetchVersion, c.ClientID, true)
	b = appendInt32(b, -1) // not a replica
	b = appendInt32(b, int32(c.MaxWait.Milliseconds()))
	b = appendInt32(b, int32(c.MinBytes))
	b = appendInt32(b, int32(c.RequestBytes))
	b = append(b, readCommitted)
	b = appendInt32(b, 0)  // no fetch session (KIP-227): every request is complete
	b = appendInt32(b, -1) // the epoch of no session
	b = appendCompact(b, 1)
	b = append(b, id[:]...)
	b = appendCompact(b, len(partitions))
	for _, p := range partitions {
		b = appendInt32(b, p.id)
		b = appendInt32(b, p.epoch)
		b = appendInt64(b, p.next)
		b = appendInt32(b, -1) // last fetched epoch: only for followers
		b = appendInt64(b, -1) // log start: only for followers
		b = appendInt32(b, int32(share))
		b = append(b, 0)
	}
	b = append(b, 0)        // tags of the topic
	b = appendCompact(b, 0) // nothing to forget
	b = appendCompact(b, len(rack))
	b = append(b, rack...)
	b = append(b, 0)
	return endRequest(b)
}

// A fetched is one partition's share of a Fetch response. Its slices are
// views into the response, or into the buffer's list of transactions.
type fetched struct {
	partition  int32
	code       kafka.Error
	highWater  int64
	lastStable int64
	logStart   int64
	aborted    []transaction // ascending by first offset
	replica    int32         // the replica to read instead; -1: this one
	records    []byte        // record batches, the last perhaps cut off
}

// A transaction that was aborted: readers skip the producer's transactional
// batches from first on, up to its abort marker.
type transaction struct {
	producer, first int64
}

// A fetchResponse is a whole Fetch response. Its slices are reused.
type fetchResponse struct {
	throttle   int32 // milliseconds for which the broker throttles this client
	code       kafka.Error
	partitions []fetched
	aborted    []transaction // of all partitions
}

// begin reads up to the throttle time, and returns the rest.
func (f *fetchResponse) begin(response []byte) reader {
	r := reader{b: response}
	r.int32() // correlation
	r.tags()
	f.throttle = r.int32()
	return r
}

// parse reads a response to appendFetch. What it allocates is bounded by the
// length of the response.
func (f *fetchResponse) parse(response []byte) error {
	f.partitions, f.aborted = f.partitions[:0], f.aborted[:0]
	r := f.begin(response)
	f.code = kafka.Error(r.int16())
	r.int32()                            // session
	for n := r.compact(18); n > 0; n-- { // topics: the request named one
		r.take(16)
		for n := r.compact(37); n > 0; n-- {
			p := fetched{
				partition:  r.int32(),
				code:       kafka.Error(r.int16()),
				highWater:  r.int64(),
				lastStable: r.int64(),
				logStart:   r.int64(),
			}
			first := len(f.aborted)
			for n := r.compact(17); n > 0; n-- {
				f.aborted = append(f.aborted, transaction{producer: r.int64(), first: r.int64()})
				r.tags()
			}
			p.aborted = f.aborted[first:len(f.aborted):len(f.aborted)]
			// Brokers list them in the order of their index.
			slices.SortFunc(p.aborted, func(a, b transaction) int { return cmp.Compare(a.first, b.first) })
			p.replica = r.int32()
			p.records = r.compactBytes()
			r.tags()
			if r.bad {
				break
			}
			f.partitions = append(f.partitions, p)
		}
		r.tags()
	}
	r.tags()
	return r.done("records")
}

// be reads Kafka's byte order.
var be = binary.BigEndian
