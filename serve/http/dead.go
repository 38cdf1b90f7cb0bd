package http

import (
	"context"
	"encoding/base64"
	"slices"
	"time"
	"unicode/utf8"

	"weir/serve/key"
)

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
	DeadLetters []DeadLetter `json:"dead_letters"`      // the last first
	Partial     string       `json:"partial,omitempty"` // why some may be missing
}

func (r deadLettersReply) unknown() error { return unknown(r.Partial, len(r.DeadLetters) > 0) }

const (
	// deadLettersMost is how many dead letters an answer has.
	deadLettersMost = 50
	// deadLettersTimeout is how long a question waits for them.
	deadLettersTimeout = 2 * time.Second
)

func (s *Server) deadLetters(ctx context.Context, a asking) (any, error) {
	n, err := whole(a.call, "n", deadLettersMost, deadLettersMost)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range s.Windows.Jobs() {
		names = append(names, d.Job)
	}
	if job := a.Get("job"); job != "" {
		if !slices.Contains(names, job) {
			return nil, key.Unknown("no job", job, names)
		}
		names = []string{job}
	}
	reply := deadLettersReply{DeadLetters: []DeadLetter{}}
	if s.Dead == nil {
		return reply, nil
	}
	ctx, cancel := context.WithTimeout(ctx, deadLettersTimeout)
	defer cancel()
	for _, name := range names {
		list, err := s.Dead(ctx, name, deadLettersMost)
		reply.DeadLetters = append(reply.DeadLetters, list...)
		if err != nil {
			reply.Partial = err.Error() // the others say the same
		}
	}
	slices.SortStableFunc(reply.DeadLetters, func(a, b DeadLetter) int { return b.At.Compare(a.At) })
	reply.DeadLetters = reply.DeadLetters[:min(n, len(reply.DeadLetters))]
	if s.K > 0 {
		for i := range reply.DeadLetters {
			reply.DeadLetters[i].Payload, reply.DeadLetters[i].Binary = "", false
		}
	}
	return reply, nil
}
