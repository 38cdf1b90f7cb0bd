package audit

import "weir/event"

// A Coverage is the part of a log that a sink's ledger covers at one moment.
type Coverage struct {
	Now        event.Time // of the sink's clock
	Partitions map[int32]Covered

	Restarted bool // a server of the sink was started again since this process read the ledger, and may have lost what it acknowledged
	Lags      bool // the answer may be of a replica that lags: that a position is lower says nothing
}

// Covered is the coverage of one partition in an epoch: in its latest one, or in the epoch of the topic
// that is read (Coverage.Of).
type Covered struct {
	Epoch   uint8
	TopicID [16]byte   // the topic that is counted
	Next    int64      // every offset below has an outcome, or was deleted before it was read
	Flushed event.Time // when a line of it was last written, by the sink's clock, in whole seconds. Only whether it differs says anything, because the clock may step

	// Watermark is the latest event time of the ledger's lines; 0: none. It leaves out the
	// chunks in which this time is ahead of the sink's clock by more than the job's skew.
	// Ahead reports that there is such a chunk. It has a record whose own time is as
	// far ahead: the clock of the record's producer is wrong.
	Watermark event.Time
	Ahead     bool

	Earlier *Covered // the same of the epoch before this one; nil if there is none
}

// Add adds what the ledger covers of a partition in an epoch. Epochs may come in any order.
func (c *Coverage) Add(partition int32, e Covered) {
	var later *Covered
	if old, ok := c.Partitions[partition]; ok {
		later = &old
	}
	if c.Partitions == nil {
		c.Partitions = map[int32]Covered{}
	}
	c.Partitions[partition] = *later.with(e)
}

// with returns c with the entry e of an epoch.
func (c *Covered) with(e Covered) *Covered {
	switch {
	case c == nil || e.Epoch > c.Epoch:
		e.Earlier = c
		return &e
	case e.Epoch == c.Epoch:
		e.Earlier = c.Earlier
		return &e
	}
	l := *c
	l.Earlier = c.Earlier.with(e)
	return &l
}

// Of leaves of each partition of a log the epoch that counts the topic of the log, and nothing of
// a partition that has no such epoch. A later epoch of another topic says nothing about this log.
func (c *Coverage) Of(log map[int32]event.Span) {
	for p, s := range log {
		latest, ok := c.Partitions[p]
		if !ok {
			continue
		}
		delete(c.Partitions, p)
		for at := &latest; at != nil; at = at.Earlier {
			if !event.OtherTopic(at.TopicID, s.TopicID) {
				found := *at
				found.Earlier = nil
				c.Partitions[p] = found
				break
			}
		}
	}
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
