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
}
