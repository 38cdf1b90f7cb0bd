package event

// A Time is a number of milliseconds since the Unix epoch, UTC. Event times
// and Kafka record times share the type; nothing in the core knows "now".
type Time int64

// A Record is one Kafka record as the decoder needs it. Value is a view into
// a fetch buffer: it is valid until the Part it came from is released. A null
// value (a tombstone) is a nil slice, an empty one is empty but not nil.
type Record struct {
	Offset   int64
	Time     Time // the record's own timestamp (CreateTime or LogAppendTime)
	Value    []byte
	Envelope *Envelope // nil: not asked for
}

// A Batch is one Kafka record batch of one partition, or a piece of a large
// one. It covers every offset in [First, Next): offsets without a Record are
// gaps (control records, aborted transactions, compaction). Records are in
// ascending offset order and lie in [First, Next). The slice is reused.
//
// Where the log holds something that cannot be read, Unreadable says why, in
// words that depend on the log alone. Such a Batch has no Records, every offset
// in [First, Next) is lost to the counts, and Time is the record time that the
// log's own header gives for all of them.
type Batch struct {
	Partition   int32
	First, Next int64
	Records     []Record
	Unreadable  string
	Time        Time
}

// A Part is one partition's share of one fetch response, still packed. It
// travels from the fetcher, which has verified the checksums, to the worker
// that owns the partition, so that decompression and the walk over the records
// cost that worker's CPU and not the fetcher's.
//
// Its records are Packed. Outside of tests they are a packed of ingest/batch.go.
type Part struct {
	Partition  int32
	HighWater  int64 // end of the partition's log, as of this response
	LastStable int64 // end of the log for a read_committed reader; at most HighWater
	LogStart   int64 // first offset still in the log
	Packed
}

// A Packed is the records of a Part.
//
// Unpack calls yield for every batch in offset order and stops at the first
// error; the Batch and what it points to are valid during the call. Done must
// be called exactly once when the Part is no longer needed; its buffer is
// then reused.
type Packed interface {
	Unpack(yield func(*Batch) error) error
	Done()
}
