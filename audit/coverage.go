package audit

import "weir/event"

// A Coverage is the part of a log that a sink's ledger covers at one moment.
type Coverage struct {
	Now        event.Time // of the sink's clock
	Partitions map[int32]Covered
}

// Covered is the coverage of one partition, in its latest epoch.
type Covered struct {
	Epoch   uint8
	Next    int64      // every offset below has an outcome, or was deleted before it was read
	Flushed event.Time // when a line of it was last written, by the sink's clock, in whole seconds. Only whether it differs says anything, because the clock may step

	// Watermark is the greatest event time counted; 0: none. It leaves out the chunks
	// in which this time is ahead of the sink's clock by more than the job's skew.
	// Ahead reports that there is such a chunk. It has a record whose own time is as
	// far ahead: the clock of the record's producer is wrong.
	Watermark event.Time
	Ahead     bool
}

// Waiting returns the number of records of a partition that the ledger does not
// cover. s is what the log holds of it.
func (c *Coverage) Waiting(partition int32, s event.Span) int64 {
	return max(0, s.Next-max(s.First, c.Partitions[partition].Next))
}

// whole reports whether the ledger covers a partition's log to its end: no record
// waits, and no transaction is open that could hide records.
func (c *Coverage) whole(partition int32, s event.Span) bool {
	return max(s.Next, s.End) <= max(s.First, c.Partitions[partition].Next)
}
