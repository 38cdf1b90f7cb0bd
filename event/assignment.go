package event

// An Assignment is a partition a reader has been given, with what is known of
// its log at that moment. Offsets are those of the next record: a log whose
// last record is 9 ends at 10.
type Assignment struct {
	Partition int32
	Committed int64    // the offset that the group has committed, or -1; it decides nothing
	LogStart  int64    // first offset still in the log
	LogEnd    int64    // end of the log, open transactions included
	TopicID   [16]byte // the topic's incarnation: another one under the same name has another id
}

// A Span is the part of a partition's log that a read_committed reader can see:
// offsets [First, Next).
type Span struct {
	First, Next int64

	// End is where the log ends for a read_uncommitted reader: beyond Next while a
	// transaction is open there.
	End int64

	TopicID [16]byte // as in Assignment
}

// OtherTopic reports whether two ids, as far as they are known, are of different topics.
// Brokers before Kafka 2.8 tell no ids; then both are zero.
func OtherTopic(a, b [16]byte) bool { return a != b && a != [16]byte{} && b != [16]byte{} }
