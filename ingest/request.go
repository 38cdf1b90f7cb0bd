package ingest

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/segmentio/kafka-go"
)

// fetch writes a Fetch request for these partitions of one topic, in this order,
// which is the order in which the broker fills its response. The topic is named by its id
// from version 13 on, and by its name below. A leader that is told a rack may name a nearer
// replica in the place of records (KIP-392). partitionBytes is the limit of each partition.
func (c *call) fetch(config *Config, rack string, partitionBytes int, id [16]byte, partitions []*partition) {
	c.begin(config.ClientID)
	c.int32(-1) // not a replica
	c.int32(int32(config.MaxWait.Milliseconds()))
	c.int32(int32(config.MinBytes))
	c.int32(int32(config.RequestBytes))
	c.int8(readCommitted)
	if c.version >= 7 {
		c.int32(0)  // no fetch session (KIP-227): every request is complete
		c.int32(-1) // the epoch of no session
	}
	c.array(1)
	if c.version >= 13 {
		c.raw(id[:])
	} else {
		c.text(config.Topic)
	}
	c.array(len(partitions))
	for _, p := range partitions {
		c.int32(p.id)
		if c.version >= 9 {
			c.int32(p.epoch)
		}
		c.int64(p.next)
		if c.version >= 12 {
			c.int32(-1) // last fetched epoch: only for followers
		}
		if c.version >= 5 {
			c.int64(-1) // log start: only for followers
		}
		c.int32(int32(partitionBytes))
		c.tags()
	}
	c.tags()
	if c.version >= 7 {
		c.array(0) // nothing to forget
	}
	if c.version >= 11 {
		c.text(rack)
	}
	c.tags()
}

// A fetched is what a Fetch response has of one partition. Its slices are
// views into the response, or into the buffer's list of transactions.
type fetched struct {
	partition  int32
	code       kafka.Error
	highWater  int64
	lastStable int64
	logStart   int64         // 0 below version 5, which does not tell it
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

// parse reads the response to a fetch. What it allocates is bounded by the
// length of the response.
func (f *fetchResponse) parse(c *call) error {
	f.partitions, f.aborted, f.code = f.partitions[:0], f.aborted[:0], 0
	r := c.reader()
	f.throttle = r.int32()
	if c.version >= 7 {
		f.code = kafka.Error(r.int16())
		r.int32() // session
	}
	for n := r.array(6); n > 0; n-- { // topics: the request named one
		if c.version >= 13 {
			r.take(16)
		} else {
			r.text()
		}
		for n := r.array(30); n > 0; n-- {
			p := fetched{
				partition:  r.int32(),
				code:       kafka.Error(r.int16()),
				highWater:  r.int64(),
				lastStable: r.int64(),
				replica:    -1,
			}
			if c.version >= 5 {
				p.logStart = r.int64()
			}
			first := len(f.aborted)
			for n := r.array(16); n > 0; n-- {
				f.aborted = append(f.aborted, transaction{producer: r.int64(), first: r.int64()})
				r.tags()
			}
			p.aborted = f.aborted[first:len(f.aborted):len(f.aborted)]
			// Brokers list them in the order of their index.
			slices.SortFunc(p.aborted, func(a, b transaction) int { return cmp.Compare(a.first, b.first) })
			if c.version >= 11 {
				p.replica = r.int32()
			}
			p.records = r.bytes()
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
