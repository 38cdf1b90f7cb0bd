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

	"weir/internal/outage"
)

// Notices say what is wrong, as one outage of Kafka however many subjects (the
// group, the metadata, one broker) of however many Sources run into it. A topic
// that does not exist is no outage, and neither is a right that is missing: they
// are said apart, and are what the source stands still for.
type notices struct {
	log    *slog.Logger
	config *Config

	mu   sync.Mutex
	kept map[string]*troubled // by subject, those in trouble
	last string               // what was last found wrong and not yet over
}

// troubled is a subject whose last try failed, to each outage that it may be part of.
type troubled struct {
	kafka, topic, right *outage.Source
	standing            string // what is stood still for; empty: Kafka may be away, and that passes
}

// missing is the outage of a topic that does not exist.
func missing(topic string) outage.Subject {
	return outage.Subject{
		Begins: "kafka: topic " + topic + " does not exist; it is waited for",
		GoesOn: "kafka: topic " + topic + " still does not exist",
		Ends:   "kafka: topic " + topic + " exists; it is read",
	}
}

// forbidden is the outage of a right that is missing.
func forbidden(topic string) outage.Subject {
	return outage.Subject{
		Begins: "kafka: a right is missing, and topic " + topic + " is not read until it is given",
		GoesOn: "kafka: topic " + topic + " is still not read for want of a right",
		Ends:   "kafka: the right is there; topic " + topic + " is read",
	}
}

// trouble notes a try that failed and will be made again.
func (n *notices) trouble(what string, err error) {
	text := plainly(err)
	missed, refused := errors.Is(err, errNoTopic), denied(err)
	if refused {
		text = n.config.hint(err) + " (" + text + ")"
	}
	n.mu.Lock()
	s := n.kept[what]
	if s == nil {
		topic, outages := n.config.Topic, n.config.Outages
		name := what + ", topic " + topic
		s = &troubled{kafka: outages.Of(outage.Kafka, name), topic: outages.Of(missing(topic), name), right: outages.Of(forbidden(topic), name)}
		if n.kept == nil {
			n.kept = make(map[string]*troubled)
		}
		n.kept[what] = s
	}
	n.last = text
	if s.standing = ""; missed || refused {
		s.standing = text
	}
	n.mu.Unlock()
	switch {
	case missed:
		s.right.Gone()
		s.kafka.Worked() // it is there, and says so
		s.topic.Failed(errors.New(text))
	case refused:
		s.topic.Gone() // nothing is known about the topic
		s.kafka.Worked()
		s.right.Failed(errors.New(text))
	default:
		s.topic.Gone()
		s.right.Gone()
		s.kafka.Failed(errors.New(text))
	}
}

// fine ends a subject's trouble.
func (n *notices) fine(what string) {
	if s := n.take(what); s != nil {
		s.kafka.Worked()
		s.topic.Worked()
		s.right.Worked()
	}
}

// gone says that a subject is not tried any more: other subjects will tell
// whether its trouble is over.
func (n *notices) gone(what string) {
	if s := n.take(what); s != nil {
		s.kafka.Gone()
		s.topic.Gone()
		s.right.Gone()
	}
}

// standing is what the source stands still for; empty: nothing.
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

// take forgets a subject and returns it, if it is in trouble.
func (n *notices) take(what string) *troubled {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.kept[what]
	if s != nil {
		delete(n.kept, what)
		n.last = ""
	}
	return s
}

// latest is what is wrong now, as far as known; empty when nothing is.
func (n *notices) latest() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

const hungUp = "the broker hung up (EOF); if it goes on: does its listener want TLS or SASL set otherwise?"

// plainly is an error's text without what differs at each repetition: the
// number of our own port.
func plainly(err error) string {
	if errors.Is(err, io.EOF) {
		return hungUp
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
