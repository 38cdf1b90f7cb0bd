package ingest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"weir/internal/backoff"
	"weir/internal/outage"
)

// Notices report failures: one outage of Kafka for all subjects (the group, the
// metadata, one broker) of all Sources. A topic that does not exist, or a missing
// permission, is not an outage of Kafka: each has its own messages, and the source
// waits for it.
type notices struct {
	log    *slog.Logger
	config *Config

	mu   sync.Mutex
	kept map[string]*failing // by subject, those whose last try failed
	last string              // the last failure that is not over
}

// failing is a subject whose last try failed, with its source in each outage that it
// may be part of.
type failing struct {
	kafka, topic, right, leader *outage.Source
	standing                    string // the missing topic, permission or leader that the source waits for; empty: another failure, which may end by itself
}

// missing returns the outage of a topic that does not exist.
func missing(topic string) outage.Subject {
	return outage.Subject{
		Begins: "kafka: topic " + topic + " does not exist; it is waited for",
		GoesOn: "kafka: topic " + topic + " still does not exist",
		Ends:   "kafka: topic " + topic + " exists; it is read",
	}
}

// forbidden returns the outage of a missing permission.
func forbidden(topic string) outage.Subject {
	return outage.Subject{
		Begins: "kafka: a permission is missing, and topic " + topic + " is not read until it is granted",
		GoesOn: "kafka: topic " + topic + " is still not read, because a permission is missing",
		Ends:   "kafka: the permission is granted; topic " + topic + " is read",
	}
}

// leaderless returns the outage of some of the topic's partitions.
func leaderless(topic string) outage.Subject {
	return outage.Subject{
		Begins: "kafka: a partition of topic " + topic + " has no leader that answers; it waits, and the others are read",
		GoesOn: "kafka: a partition of topic " + topic + " still has no leader that answers",
		Ends:   "kafka: every partition of topic " + topic + " has a leader again",
	}
}

// failed notes that a try of a subject failed. There will be another try.
func (n *notices) failed(what string, err error) {
	text := stableText(err)
	missed, refused, lacks := errors.Is(err, errNoTopic), denied(err), Lacks(err)
	if refused {
		text = n.config.hint(err) + " (" + text + ")"
	}
	n.mu.Lock()
	s := n.kept[what]
	if s == nil {
		topic, outages := n.config.Topic, n.config.Outages
		name := what + ", topic " + topic
		s = &failing{kafka: outages.Of(outage.Kafka, name), topic: outages.Of(missing(topic), name), right: outages.Of(forbidden(topic), name), leader: outages.Of(leaderless(topic), name)}
		if n.kept == nil {
			n.kept = make(map[string]*failing)
		}
		n.kept[what] = s
	}
	n.last = text
	if s.standing = ""; missed || refused || lacks {
		s.standing = text
	}
	n.mu.Unlock()
	is := s.kafka
	switch {
	case missed:
		is = s.topic
	case refused:
		is = s.right
	case lacks:
		is = s.leader
	}
	if is != s.kafka {
		s.kafka.Worked() // Kafka has answered
	}
	for _, o := range []*outage.Source{s.topic, s.right, s.leader} { // it is not known whether these are over
		if o != is {
			o.Gone()
		}
	}
	is.Failed(errors.New(text))
}

// worked notes that a try of a subject succeeded.
func (n *notices) worked(what string) {
	if s := n.take(what); s != nil {
		s.kafka.Worked()
		s.topic.Worked()
		s.right.Worked()
		s.leader.Worked()
	}
}

// gone notes that a subject is not tried any more: other subjects will show whether
// the outage is over.
func (n *notices) gone(what string) {
	if s := n.take(what); s != nil {
		s.kafka.Gone()
		s.topic.Gone()
		s.right.Gone()
		s.leader.Gone()
	}
}

// fails reports whether the last try of a subject failed.
func (n *notices) fails(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[what] != nil
}

// standing returns the missing topic, permission or leader that the source waits for; empty if
// there is none.
func (n *notices) standing() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(n.kept)) {
		if text := n.kept[what].standing; text != "" {
			return text
		}
	}
	return ""
}

// take removes a subject and returns it, if its last try failed.
func (n *notices) take(what string) *failing {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.kept[what]
	if s != nil {
		delete(n.kept, what)
		n.last = ""
	}
	return s
}

// latest returns the present failure, as far as known; empty if there is none.
func (n *notices) latest() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

const closedByBroker = "the broker closed the connection (EOF); if this goes on, its listener wants TLS or SASL set otherwise: check kafka.tls and kafka.sasl"

// stableText returns an error's text without the part that differs in each try: the local
// port.
func stableText(err error) string {
	if errors.Is(err, io.EOF) {
		return closedByBroker
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return fmt.Sprintf("%s %s: %v", op.Op, op.Addr, op.Err)
	}
	return err.Error()
}

// pauses returns the pauses after failures: 50 ms, then twice as long each time, at
// most 2 s. See jitter.
func pauses() backoff.Backoff[time.Duration] {
	return backoff.Backoff[time.Duration]{First: backoffFirst, Most: backoffLast}
}

// jitter makes a pause up to a quarter shorter or longer, so that the members of a
// group do not all try again at the same time.
func jitter(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2) }
