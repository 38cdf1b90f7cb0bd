package jobs

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/event"
	"weir/window"
)

// Status describes the present state of a job.
type Status struct {
	Job     string `json:"job"`
	Version int    `json:"version"`
	Topic   string `json:"topic"`
	State   string `json:"state"`           // joining, running, draining, stopped
	Group   string `json:"group,omitempty"` // the fault of the consumer group or of the topic, in words
	Error   string `json:"error,omitempty"` // why the job has stopped, in words; empty: it was asked to, or has not

	Partitions []PartitionStatus `json:"partitions"`

	OpenRows     int64 `json:"open_rows"` // (window, group) rows not yet flushed
	MemoryBytes  int64 `json:"memory_bytes"`
	MemoryBudget int64 `json:"memory_budget_bytes"`

	Records map[string]uint64 `json:"records"` // by outcome, since the process started, replays included
	// Events counts the events of these records in the same way, if a record is an array of events.
	Events map[string]uint64 `json:"events,omitempty"`
	// Skipped counts, by measure with bad: skip, the values that it could not take.
	Skipped map[string]uint64 `json:"skipped,omitempty"`
	// Timeless counts the events of records without a time of their own, with which the event's cannot be compared.
	Timeless uint64 `json:"without_record_time,omitempty"`

	Flushes        uint64        `json:"flushes"`
	FlushFailures  uint64        `json:"flush_failures"`
	FlushRows      uint64        `json:"flush_rows"`
	LastFlush      time.Time     `json:"last_flush"`
	LastFlushTook  time.Duration `json:"last_flush_took_ns"`
	LastError      string        `json:"last_error,omitempty"`
	LastErrorAt    time.Time     `json:"last_error_at,omitzero"`
	Rollups        uint64        `json:"rollups"`
	RollupFailures uint64        `json:"rollup_failures"`
	LastRollup     time.Time     `json:"last_rollup"`
	CommitFailures uint64        `json:"commit_failures"`
	Generations    uint64        `json:"generations"`

	// SinkError is the error of the last read of the sink's ledger, which is also
	// read while nothing is flushed.
	SinkError string `json:"sink_error,omitempty"`
	// Uncounted is nil while this process or another flushes every partition of
	// the topic that has records to count.
	Uncounted *Uncounted `json:"uncounted,omitempty"`
	// Waited is how long the partition that has waited longest has had records
	// without a flush of it; 0 while the ledger covers all records.
	Waited time.Duration `json:"waited_ns"`
	// OpenTransactions are the transactions that have kept records of the topic
	// from being read for longer than Config.Open, by ascending partition.
	OpenTransactions []OpenTransaction `json:"open_transactions,omitempty"`
	// Complete is the event time by which a window must end to be complete; 0:
	// not known.
	Complete event.Time `json:"complete_until"`

	// Malformed is a warning while more than 1 % of the last minute's records were
	// malformed: the share, the most frequent reason, an example.
	Malformed string `json:"malformed,omitempty"`

	// FlushSeconds is a histogram of the answered flushes: how many took at
	// most FlushBuckets[i] seconds, and the sum of all.
	FlushSeconds    [len(FlushBuckets)]uint64 `json:"-"`
	FlushSecondsSum float64                   `json:"-"`

	// Beat is the time of the flush loop's last turn; a running job with an old
	// Beat is stuck.
	Beat time.Time `json:"beat"`
}

// FlushBuckets are the upper bounds of Status.FlushSeconds, in seconds.
var FlushBuckets = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20}

// PartitionStatus is the status of one partition that this process owns.
type PartitionStatus struct {
	Partition int32      `json:"partition"`
	Next      int64      `json:"next"`      // next offset to count
	Durable   int64      `json:"durable"`   // everything below this offset is in the sink
	End       int64      `json:"end"`       // next offset after the last readable record
	Lag       int64      `json:"lag"`       // End − Next
	LogStart  int64      `json:"log_start"` // first offset still in the log
	HighWater int64      `json:"high_water"`
	Record    event.Time `json:"record"`    // Kafka time of the last record counted, ms
	Watermark event.Time `json:"watermark"` // greatest event time counted, ms
	Since     time.Time  `json:"since"`     // when this process got the partition
	// Schema is the missing schema of the next record, in words: the partition waits for it.
	// Empty: it waits for none.
	Schema string `json:"waits_for,omitempty"`
}

// board holds the figures of Status, which workers and the flush loop write.
// The hot path touches only the atomics of its own partition.
type board struct {
	cfg    *Config
	memory atomic.Int64
	rows   atomic.Int64

	commitFailures atomic.Uint64

	mu         sync.Mutex
	partitions map[int32]*partitionBoard
	s          Status
	outcomes   [window.Outcomes]uint64
	events     [window.Gap]uint64
	skipped    []uint64 // by measure
	quality    quality
}

type partitionBoard struct {
	next, durable, end, logStart, highWater, watermark, record atomic.Int64

	epoch uint8    // under which it is counted…
	topic [16]byte // …and its topic
	since time.Time
	waits atomic.Pointer[event.SchemaName] // for this schema; nil: for none
}

// schema returns the schema for which the partition waits; empty: it waits for none.
func (p *partitionBoard) schema() string {
	if n := p.waits.Load(); n != nil {
		return n.String()
	}
	return ""
}

func (b *board) init(cfg *Config) {
	b.cfg = cfg
	b.s = Status{Job: cfg.Spec.Job, Version: cfg.Spec.Version, Topic: cfg.Topic, MemoryBudget: cfg.Memory}
}

// beat notes a turn of the flush loop.
func (b *board) beat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Beat = time.Now()
}

func (b *board) state(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.State = s
}

// stopped notes that the job has ended, and why.
func (b *board) stopped(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.State = "stopped"
	if err != nil {
		b.s.Error = err.Error()
	}
}

// joining notes that the job has no partitions and waits for some.
func (b *board) joining() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.State, b.partitions = "joining", nil
}

func (b *board) assign(plans []window.Plan, as []event.Assignment) {
	ps := make(map[int32]*partitionBoard, len(plans))
	for i, p := range plans {
		s := &partitionBoard{epoch: p.Epoch, topic: p.TopicID, since: time.Now()}
		s.next.Store(p.Start)
		s.durable.Store(p.Durable)
		s.end.Store(as[i].LogEnd)
		s.highWater.Store(as[i].LogEnd)
		s.logStart.Store(as[i].LogStart)
		ps[p.Partition] = s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.partitions = ps
	b.s.Generations++
}

// acknowledged returns up to where the sink has acknowledged each partition.
func (b *board) acknowledged() map[int32]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := make(map[int32]int64, len(b.partitions))
	for p, s := range b.partitions {
		next[p] = s.durable.Load()
	}
	return next
}

func (b *board) partition(p int32) *partitionBoard {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.partitions[p]
}

// durable notes positions that the sink has acknowledged.
func (b *board) durable(ps []window.Position) {
	for _, p := range ps {
		if s := b.partition(p.Partition); s != nil {
			s.durable.Store(p.Offset)
		}
	}
}

// flushed notes the result of a write, which may have been of rows alone.
func (b *board) flushed(took time.Duration, c *window.Changes, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if err != nil {
		b.s.FlushFailures++
		b.s.LastError, b.s.LastErrorAt = err.Error(), now
		return
	}
	b.s.Flushes++
	b.s.FlushRows += uint64(c.Table.Len())
	b.s.LastFlush, b.s.LastFlushTook = now, took
	b.s.FlushSecondsSum += took.Seconds()
	for i, le := range FlushBuckets {
		if took.Seconds() <= le {
			b.s.FlushSeconds[i]++
		}
	}
	b.s.LastError, b.s.LastErrorAt = "", time.Time{}
}

// counted notes the outcomes of records that are durable.
func (b *board) counted(c *window.Changes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for f, n := range c.Outcomes {
		b.outcomes[f] += n
	}
	for f, n := range c.Events.By {
		b.events[f] += n
	}
	if b.skipped == nil {
		b.skipped = make([]uint64, len(c.Skipped))
	}
	for m, n := range c.Skipped {
		b.skipped[m] += n
	}
	b.s.Timeless += c.Timeless
	b.quality.add(time.Now(), c, b.cfg.Spec.Job, b.cfg.Log)
	b.s.Malformed = b.quality.malformed.warning
}

func (b *board) rolledUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.s.RollupFailures++
		return
	}
	b.s.Rollups++
	b.s.LastRollup = time.Now()
}

// sinkAnswered notes whether the ledger could be read.
func (b *board) sinkAnswered(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.s.SinkError = ""; err != nil {
		b.s.SinkError = err.Error()
	}
}

// watched notes the results of a look at the ledger and the log.
func (b *board) watched(u *Uncounted, waited time.Duration, open []OpenTransaction, complete event.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Uncounted, b.s.Waited, b.s.OpenTransactions, b.s.Complete = u, waited, open, complete
}

// Status returns the present status.
func (j *Job) Status() Status {
	b := &j.status
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.s
	s.MemoryBytes, s.OpenRows = b.memory.Load(), b.rows.Load()
	s.CommitFailures = b.commitFailures.Load()
	if b.cfg.Trouble != nil {
		s.Group = b.cfg.Trouble()
	}
	s.Records = make(map[string]uint64, window.Outcomes)
	for f, n := range b.outcomes {
		s.Records[window.Outcome(f).String()] = n
	}
	if b.cfg.Spec.Each != "" {
		s.Events = make(map[string]uint64, window.Gap)
		for f, n := range b.events {
			s.Events[window.Outcome(f).String()] = n
		}
	}
	for m, n := range b.skipped {
		if of := &b.cfg.Spec.Measures[m]; of.Bad != "" {
			if s.Skipped == nil {
				s.Skipped = map[string]uint64{}
			}
			s.Skipped[of.Name] = n
		}
	}
	s.Partitions = make([]PartitionStatus, 0, len(b.partitions))
	for p, v := range b.partitions {
		next, end := v.next.Load(), v.end.Load()
		s.Partitions = append(s.Partitions, PartitionStatus{
			Partition: p, Next: next, Durable: v.durable.Load(), End: end, Lag: max(end-next, 0),
			LogStart: v.logStart.Load(), HighWater: v.highWater.Load(),
			Watermark: event.Time(v.watermark.Load()), Record: event.Time(v.record.Load()), Since: v.since,
			Schema: v.schema(),
		})
	}
	slices.SortFunc(s.Partitions, func(a, b PartitionStatus) int { return cmp.Compare(a.Partition, b.Partition) })
	return s
}
