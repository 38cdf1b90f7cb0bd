package ingest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Notices say what is wrong once, and once that it is over, however often it
// is tried in between. Each subject (the group, the metadata, one broker) is
// in trouble or not.
type notices struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[string]map[string]bool // by subject: the texts logged since it last worked
	last string                     // what was last found wrong and not yet over
}

// trouble logs err at warning level unless the subject already said so.
func (n *notices) trouble(subject string, err error) {
	text := plainly(err)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.said == nil {
		n.said = make(map[string]map[string]bool)
	}
	if n.said[subject] == nil {
		n.said[subject] = make(map[string]bool)
	}
	n.last = text
	if n.said[subject][text] {
		return
	}
	n.said[subject][text] = true
	n.log.Warn("kafka: trying again", "what", subject, "error", text)
}

// fine ends a subject's trouble.
func (n *notices) fine(subject string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.said[subject]) == 0 {
		return
	}
	delete(n.said, subject)
	n.last = ""
	n.log.Info("kafka: works again", "what", subject)
}

// latest is what is wrong now, as far as known; empty when nothing is.
func (n *notices) latest() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// plainly is an error's text without what differs at each repetition: the
// number of our own port.
func plainly(err error) string {
	if errors.Is(err, io.EOF) {
		return "the broker hung up (EOF); if it goes on: does its listener want TLS or SASL set otherwise?"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return fmt.Sprintf("%s %s: %v", op.Op, op.Addr, op.Err)
	}
	return err.Error()
}

// backoff is how long to wait before try number attempt (0 is the first
// repetition): 50 ms doubling to 2 s, a quarter more or less, so that the
// members of a group do not come back all at once.
func backoff(attempt int) time.Duration {
	d := backoffLast
	if attempt < 6 {
		d = min(backoffFirst<<attempt, backoffLast)
	}
	return d - d/4 + rand.N(d/2)
}
