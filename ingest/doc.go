// Package ingest reads one Kafka topic: it knows which partitions are this
// process's to read, fetches them, and hands them on still packed.
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
// # What may be relied on
//
// Per partition, Parts come in offset order, one after the other, and the
// batches unpacked from them join without a seam: each begins where the one
// before ended, the first where it was asked to. Every offset between the
// first position and the last is inside exactly one batch; if it has no record
// there, the log has none to give: a transaction's marker, an aborted record,
// one that compaction removed.
//
// What a producer has put into a batch ends nothing: a batch whose checksum is
// right but that cannot be read is handed out as such (event.Batch.Unreadable).
//
// No byte of a batch is handed out, nor a position moved past it, before its
// checksum is verified. Only what a read_committed reader may see is seen.
//
// Every fetch names the topic by its id (KIP-516), so the broker itself
// refuses to read a recreated topic at the old one's offsets.
//
// # What may not
//
// Owning a partition is a lease: after a pause longer than the session two
// members may read the same partition for a while. Committed offsets are a
// hint about where reading got to. Neither matters to a reader whose writes
// are joins.
//
// Brokers must be Kafka 3.1 or newer, for topic ids in fetches; an older one
// is refused with its name and version numbers.
//
// # How it is put together
//
// kafka-go's Transport keeps connections with TLS and SASL (wire.go). Everything
// about records is done here, because kafka-go's own Reader returns aborted
// records and transaction markers, checks no checksum, jumps backwards on an
// empty batch, panics on a compacted topic, and costs several times the CPU.
// The group's protocol is spoken here too, because kafka-go's ConsumerGroup
// claims a version of its metadata whose fields it does not write, so that
// other clients cannot read them, fails on the metadata of others when it leads
// the group, and forgets its member id with its coordinator:
//
//	config.go     settings and their defaults
//	source.go     Source: open, close, the topic's partitions and their ends
//	group.go      membership: Next, Generation, Commit, Release
//	member.go     one round of the group's protocol, and how a leader divides the partitions
//	coordinator.go  the group protocol's requests, in bytes
//	bury.go       a look at the group: the dead are taken out, others named
//	inspect.go    what a check before the start wants to know
//	transactions.go  transactions that are open, and whose they are
//	fetch.go      who asks which broker for what, and what happens when that fails
//	request.go    the Fetch request and its response, in bytes
//	part.go       one partition's share of a response, and the buffer it lives in
//	batch.go      record batches: verified, unpacked, walked in place
//	compress.go   the four codecs, with a limit on what they may become
//	metadata.go   the topic's id, its leaders, its log ends
//	wire.go       requests over kafka-go's connections; the primitive types
//	notice.go     trouble is logged once, and once that it is over
//	errors.go     what is worth another try, what is final, and the errors callers see
package ingest
