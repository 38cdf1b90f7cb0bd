package http

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"weir/jobs"
)

// A HealthReply is how the jobs of this process are.
type HealthReply struct {
	Now     time.Time      `json:"now"`
	Audit   *Audit         `json:"audit"`   // null: there was none yet
	Process *processHealth `json:"process"` // null: weir up has not started this process
	Jobs    []JobHealth    `json:"jobs"`
}

// JobHealth is the health of one job.
type JobHealth struct {
	Job           string            `json:"job"`
	State         string            `json:"state"`
	Trouble       []string          `json:"trouble"`             // what is wrong, in words; empty: nothing
	Lag           int64             `json:"lag"`                 // records, of all partitions
	Records       map[string]uint64 `json:"records"`             // by outcome, since the process started
	Events        map[string]uint64 `json:"events"`              // of records that are arrays of events, by outcome; null: a record is one event
	Skipped       map[string]uint64 `json:"skipped"`             // values that a measure with bad: skip could not take, by measure; null: there is no such measure
	Timeless      uint64            `json:"without_record_time"` // events of records without a time of their own
	LastFlush     *time.Time        `json:"last_flush"`
	FlushTook     float64           `json:"last_flush_took_s"`
	CompleteUntil *time.Time        `json:"complete_until"` // windows that end by then are complete
	Partitions    []PartitionHealth `json:"partitions"`
}

// PartitionHealth is the health of one partition of a job.
type PartitionHealth struct {
	Partition int32      `json:"partition"`
	Lag       int64      `json:"lag"`
	Watermark *time.Time `json:"watermark"`
	Next      int64      `json:"next"`    // offset to be counted next
	Durable   int64      `json:"durable"` // everything below is in ClickHouse
	Since     time.Time  `json:"since"`   // when this process got the partition: it may read again what was counted before
	Chunk     chunk      `json:"chunk"`
}

// A chunk is the open one of a partition.
type chunk struct {
	Number  int64 `json:"number"`
	Offsets int64 `json:"offsets"` // of it that were read
	Size    int64 `json:"size"`
}

func (s *Server) health(context.Context, asking) (any, error) {
	reply := HealthReply{Now: time.Now().UTC(), Jobs: []JobHealth{}}
	if a := s.audit(); !a.At.IsZero() {
		reply.Audit = &a
	}
	if s.Process != nil {
		reply.Process = &processHealth{os.Getpid(), s.Process.Recovery()}
	}
	for _, j := range s.Jobs {
		reply.Jobs = append(reply.Jobs, healthOf(j.Status(), j.Spec().Chunk))
	}
	return reply, nil
}

// healthOf returns what the status of a job says; its chunks have so many offsets.
func healthOf(j jobs.Status, size int64) JobHealth {
	h := JobHealth{
		Job: j.Job, State: j.State, Trouble: []string{}, Records: j.Records, Events: j.Events, Skipped: j.Skipped, Timeless: j.Timeless, LastFlush: known(j.LastFlush),
		FlushTook: j.LastFlushTook.Seconds(), CompleteUntil: eventTime(int64(j.Complete)), Partitions: []PartitionHealth{},
	}
	for _, text := range []string{j.Error, j.Group, j.LastError, j.SinkError, j.Malformed} {
		if text != "" {
			h.Trouble = append(h.Trouble, text)
		}
	}
	if j.Uncounted != nil {
		h.Trouble = append(h.Trouble, fmt.Sprint(j.Uncounted))
	}
	for _, p := range j.Partitions {
		h.Lag += p.Lag
		h.Partitions = append(h.Partitions, PartitionHealth{
			p.Partition, p.Lag, eventTime(int64(p.Watermark)), p.Next, p.Durable, p.Since.UTC(), chunk{p.Next / size, p.Next % size, size},
		})
	}
	slices.SortFunc(h.Partitions, func(a, b PartitionHealth) int { return int(a.Partition) - int(b.Partition) })
	return h
}

// known returns a time, or nil if it is the zero one.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// eventTime returns a time in milliseconds since 1970, or nil if it is 0.
func eventTime(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	return known(time.UnixMilli(ms))
}
