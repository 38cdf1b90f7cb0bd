package event

// An Assignment is a partition a reader has been given, with what is known of
// its log at that moment. Offsets are those of the next record: a log whose
// last record is 9 ends at 10.
type Assignment struct {
	Partition int32
	Committed int64    // where the group says reading got to; -1: nowhere yet. A hint, not a promise
	LogStart  int64    // first offset still in the log
	LogEnd    int64    // end of the log, open transactions included
	TopicID   [16]byte // the topic's incarnation: another one under the same name has another id
}

// A Span is what a partition's log holds for a read_committed reader: offsets
// [First, Next).
type Span struct {
	First, Next int64

	// End is where the log ends for a read_uncommitted reader: beyond Next as
	// long as a transaction is open there.
	End int64
}
