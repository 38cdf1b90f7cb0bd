// Package ingest reads one Kafka topic: it joins the consumer group, fetches the
// partitions that the group gives to this process, and hands their records on,
// still packed.
//
//	source, err := ingest.Open(ingest.Config{Brokers: brokers, Group: "weir", Topic: "clicks"})
//	defer source.Close()
//	for {
//		generation, err := source.Next(ctx) // joins the group, waits for partitions
//		...                                 // choose where to start from generation.Partitions()
//		err = generation.Fetch(ctx, from, func(p event.Part) error { queue <- p; return nil })
//		...                                 // stop, flush, generation.Commit
//		generation.Release()
//	}
//
// # What is guaranteed
//
// The Parts of a partition come in offset order, one after the other. The
// batches unpacked from them are contiguous: each begins where the one before
// ended, the first at the requested offset. Every offset between the first
// position and the last is inside exactly one batch. If it has no record there,
// it is a transaction's marker, an aborted record, or one that compaction
// removed.
//
// No contents of a batch stop the reader: a batch with a correct checksum that
// cannot be read is handed out as such (event.Batch.Unreadable).
//
// No byte of a batch is handed out, and no position moves past it, before its
// checksum is verified. A Source sees what a read_committed reader sees.
//
// Every fetch names the topic by its id (KIP-516, Kafka 3.1), so the broker itself
// refuses to read a recreated topic at the old one's offsets. With older brokers
// that know ids, each response is delivered only after a look at the topic's id.
//
// # What is not guaranteed
//
// The ownership of a partition is a lease: after a pause longer than the
// session, two members may read the same partition for a while. Committed
// offsets are only a hint. Neither matters to a reader whose writes merge.
//
// Brokers before Kafka 2.8 tell no ids of topics: a topic that is deleted and created
// again is noticed only if its log is shorter than what was read. Which requests a
// broker needs is in versions.go; one that lacks them is refused, with their names.
//
// # How it is put together
//
// kafka-go has the messages of the protocol, and the mechanisms of SASL. This package
// keeps connections itself (connection.go): kafka-go's Transport would write and read a
// request of bytes only by calling back, and looks up the brokers a second time. It
// handles records itself, because kafka-go's own Reader returns aborted
// records and transaction markers, checks no checksum, jumps backwards on an
// empty batch, panics on a compacted topic, and costs several times the CPU. It
// also speaks the group's protocol, because kafka-go's ConsumerGroup claims a
// version of its metadata whose fields it does not write, so that other clients
// cannot read them, fails on the metadata of others when it leads the group, and
// forgets its member id with its coordinator:
//
// Files:
//
//	source.go        a source: opens, closes, and knows the topic's spans
//	transactions.go  transactions that stay open
//	inspect.go       what weir check asks of a broker, and which errors are permanent
//	fixed.go         partitions divided by number, without a group
//	group.go         generations: joining, waiting, releasing
//	loop.go          the loop that reads from one broker, and its buffers
//	fetch.go         the dispatcher, which assigns partitions to brokers
//	survey.go        which members own what, and why some partitions have no reader
//	member.go        this process as a member: JoinGroup, SyncGroup, heartbeats
//	coordinator.go   requests to the group's coordinator
//	config.go        its settings, and the database that a member counts into
//	request.go       the Fetch request and its response, as bytes
//	batch.go         verifies record batches, and unpacks their records for the worker
//	compress.go      gzip, snappy, lz4, zstd
//	metadata.go      topic id, partitions and leaders
//	notice.go        log lines about outages
//	versions.go      which versions of each request are supported, and which to use with a broker
//	errors.go        errors about positions and recreated topics
//	wire.go          one request to one broker
//	connection.go    connections to brokers: opened, kept, and given to one request at a time
//	token.go         OAUTHBEARER: tokens, where they come from, and when they end
package ingest
