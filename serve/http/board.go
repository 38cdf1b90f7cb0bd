package http

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"weir/jobs"
	"weir/serve/key"
)

// A healthReply is how the jobs of this process are.
type healthReply struct {
	Now    time.Time     `json:"now"`
	Audit  *Audit        `json:"audit"`  // null: there was none yet
	Worker *workerHealth `json:"worker"` // null: this process is no worker of weir up
	Jobs   []jobHealth   `json:"jobs"`
}

type jobHealth struct {
	Job           string            `json:"job"`
	State         string            `json:"state"`
	Trouble       []string          `json:"trouble"` // what is wrong, in words; empty: nothing
	Lag           int64             `json:"lag"`     // records, of all partitions
	Records       map[string]uint64 `json:"records"` // by outcome, since the process started
	LastFlush     *time.Time        `json:"last_flush"`
	FlushTook     float64           `json:"last_flush_took_s"`
	CompleteUntil *time.Time        `json:"complete_until"` // windows that end by then are complete
	Partitions    []partitionHealth `json:"partitions"`
}

type partitionHealth struct {
	Partition int32      `json:"partition"`
	Lag       int64      `json:"lag"`
	Watermark *time.Time `json:"watermark"`
	Next      int64      `json:"next"`    // offset to be counted next
	Durable   int64      `json:"durable"` // everything below is in ClickHouse
	Chunk     chunk      `json:"chunk"`
}

// A chunk is the open one of a partition.
type chunk struct {
	Number  int64 `json:"number"`
	Offsets int64 `json:"offsets"` // of it that were read
	Size    int64 `json:"size"`
}

func (s *Server) health(context.Context, question) (any, error) {
	reply := healthReply{Now: time.Now().UTC(), Jobs: []jobHealth{}}
	if a := s.audit(); !a.At.IsZero() {
		reply.Audit = &a
	}
	if s.Worker != nil {
		reply.Worker = &workerHealth{os.Getpid(), s.Worker.Recovery()}
	}
	for _, j := range s.Jobs {
		reply.Jobs = append(reply.Jobs, healthOf(j.Status(), j.Spec().Chunk))
	}
	return reply, nil
}

// healthOf returns what a status comes to, of a job whose chunks have that many offsets.
func healthOf(j jobs.Status, size int64) jobHealth {
	h := jobHealth{
		Job: j.Job, State: j.State, Trouble: []string{}, Records: j.Records, LastFlush: known(j.LastFlush),
		FlushTook: j.LastFlushTook.Seconds(), CompleteUntil: eventTime(int64(j.Complete)), Partitions: []partitionHealth{},
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
		h.Partitions = append(h.Partitions, partitionHealth{
			p.Partition, p.Lag, eventTime(int64(p.Watermark)), p.Next, p.Durable, chunk{p.Next / size, p.Next % size, size},
		})
	}
	slices.SortFunc(h.Partitions, func(a, b partitionHealth) int { return int(a.Partition) - int(b.Partition) })
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

// A DeadLetter is a record that was not counted.
type DeadLetter struct {
	Job       string    `json:"job"`
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Outcome   string    `json:"outcome"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"` // the record's time in Kafka
	// Payload is the record's value, cut to 1 KiB; in base64 if Binary, and empty with
	// Server.K.
	Payload string `json:"payload"`
	Binary  bool   `json:"binary"`
	Bytes   int    `json:"bytes"` // of the whole value
}

// payloadMost is how many bytes of a payload an answer has.
const payloadMost = 1 << 10

// SetPayload sets the payload from the record's value.
func (d *DeadLetter) SetPayload(value []byte) {
	cut := value[:min(len(value), payloadMost)]
	for n := 0; n < utf8.UTFMax && len(cut) < len(value) && !utf8.Valid(cut); n++ {
		cut = cut[:len(cut)-1]
	}
	if d.Binary = !utf8.Valid(cut); d.Binary {
		d.Payload = base64.StdEncoding.EncodeToString(cut)
		return
	}
	d.Payload = string(cut)
}

type deadLettersReply struct {
	DeadLetters []DeadLetter `json:"dead_letters"` // the last first
}

// deadLettersMost is how many dead letters an answer has.
const deadLettersMost = 50

func (s *Server) deadLetters(ctx context.Context, q question) (any, error) {
	n, err := whole(q, "n", deadLettersMost, deadLettersMost)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range s.Windows.Jobs() {
		names = append(names, d.Job)
	}
	if job := q.Get("job"); job != "" {
		if !slices.Contains(names, job) {
			return nil, key.Unknown("no job", job, names)
		}
		names = []string{job}
	}
	reply := deadLettersReply{DeadLetters: []DeadLetter{}}
	for _, name := range names {
		if s.Dead == nil {
			break
		}
		some, err := s.Dead(ctx, name, n)
		if err != nil {
			return nil, err
		}
		reply.DeadLetters = append(reply.DeadLetters, some...)
	}
	slices.SortStableFunc(reply.DeadLetters, func(a, b DeadLetter) int { return b.At.Compare(a.At) })
	reply.DeadLetters = reply.DeadLetters[:min(n, len(reply.DeadLetters))]
	for i := range reply.DeadLetters {
		if d := &reply.DeadLetters[i]; s.K > 0 {
			d.Payload, d.Binary = "", false
		}
	}
	return reply, nil
}
