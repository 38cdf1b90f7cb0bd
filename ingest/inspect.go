package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// An UnreachableError is a broker that did not answer as wanted.
type UnreachableError struct {
	err   error
	final bool
}

func (e *UnreachableError) Error() string { return e.err.Error() }
func (e *UnreachableError) Unwrap() error { return e.err }

// Fatal reports whether asking again is of no use: a wrong password, a
// certificate, a broker that is too old.
func (e *UnreachableError) Fatal() bool { return e.final }

// Ping asks a broker once whether it is there and speaks what is needed. Its
// error is an *UnreachableError.
func (s *Source) Ping(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return &UnreachableError{s.config.explain(err), judge(err) == fatal}
	}
	return nil
}

// Topic is what the brokers say of the topic's making.
type Topic struct {
	Exists     bool
	Partitions int
	Retention  time.Duration // negative: for ever; 0: not told
	AppendTime bool          // record times are the broker's, not the producer's
	Compacted  bool          // records may vanish from the middle of the log
}

// Describe asks once. A topic that does not exist is no error.
func (s *Source) Describe(ctx context.Context) (Topic, error) {
	t, err := s.metadata(ctx)
	if errors.Is(err, errNoTopic) {
		return Topic{}, nil
	}
	if err != nil {
		return Topic{}, s.config.explain(err)
	}
	out := Topic{Exists: true, Partitions: len(t.partitions)}
	client := &kafka.Client{Addr: s.bootstrap, Transport: s.transport}
	res, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: s.config.Topic,
		ConfigNames: []string{"retention.ms", "message.timestamp.type", "cleanup.policy"},
	}}})
	if err != nil {
		return out, fmt.Errorf("ingest: describing topic %s: %w", s.config.Topic, err)
	}
	for _, r := range res.Resources {
		if errors.Is(r.Error, kafka.TopicAuthorizationFailed) {
			return out, fmt.Errorf("ingest: user %q needs DESCRIBE_CONFIGS on topic %q for weir check to see how long it keeps records, and whose times they have; weir run does without (%w)", s.config.SASL.User, s.config.Topic, r.Error)
		}
		if r.Error != nil {
			return out, fmt.Errorf("ingest: describing topic %s: %w", s.config.Topic, r.Error)
		}
		for _, e := range r.ConfigEntries {
			switch e.ConfigName {
			case "retention.ms":
				if ms, err := strconv.ParseInt(e.ConfigValue, 10, 64); err == nil {
					out.Retention = time.Duration(min(ms, int64(1<<63-1)/1e6)) * time.Millisecond
				}
			case "message.timestamp.type":
				out.AppendTime = e.ConfigValue == "LogAppendTime"
			case "cleanup.policy":
				out.Compacted = strings.Contains(e.ConfigValue, "compact")
			}
		}
	}
	return out, nil
}

// Members are those that are in the group now, by client id, address and member
// id, sorted. Retryable errors, such as a coordinator that has just been asked
// for the first time, are retried until ctx ends.
func (s *Source) Members(ctx context.Context) ([]string, error) {
	g, err := s.group(ctx)
	var members []string
	for _, m := range g.members {
		members = append(members, m.String())
	}
	slices.Sort(members)
	return members, err
}

// group looks until there is an answer.
func (s *Source) group(ctx context.Context) (g groupView, err error) {
	err = s.insist(ctx, "looking at the group", func(ctx context.Context) (err error) {
		_, g, err = s.look(ctx)
		return err
	})
	return g, err
}

// Others is what a look at the group from outside shows.
type Others struct {
	Members int
	Wrong   string // why records would not be counted into Config.Database; empty: nothing is wrong
	Odd     string // members that do nothing there
}

// Others looks at the group without joining it, as Members does. A group that
// is being divided anew tells nothing but its number of members.
func (s *Source) Others(ctx context.Context) (Others, error) {
	g, err := s.group(ctx)
	if err != nil {
		return Others{}, err
	}
	if s.config.Database.ID == "" || g.state != stable {
		return Others{Members: len(g.members)}, nil
	}
	found := s.sort(g)
	return Others{len(g.members), found.wrong(s, 0), found.odd(s)}, nil
}
