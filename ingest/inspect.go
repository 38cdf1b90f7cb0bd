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
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
)

// An UnreachableError says that a broker did not answer, or cannot be used.
type UnreachableError struct {
	err   error
	final bool
}

func (e *UnreachableError) Error() string { return e.err.Error() }
func (e *UnreachableError) Unwrap() error { return e.err }

// Fatal reports whether another try is of no use: a wrong password, a bad
// certificate, a broker that is too old.
func (e *UnreachableError) Fatal() bool { return e.final }

// Ping asks a broker once whether it runs and supports the needed requests. Its
// error is an *UnreachableError.
func (s *Source) Ping(ctx context.Context) error {
	if _, err := s.conns.dialect(ctx, anyBroker); err != nil {
		return &UnreachableError{s.config.explain(err), judge(err) == fatal}
	}
	return nil
}

// A TopicDescription is the configuration of the topic.
type TopicDescription struct {
	Exists     bool
	Partitions int
	Retention  time.Duration // negative: for ever; 0: not known
	AppendTime bool          // record times are the broker's, not the producer's
	Compacted  bool          // records may vanish from the middle of the log
	Racks      []string      // those that brokers are in, sorted
}

// Describe asks a broker once. A topic that does not exist is not an error.
func (s *Source) Describe(ctx context.Context) (TopicDescription, error) {
	t, err := s.metadata(ctx)
	if errors.Is(err, errNoTopic) {
		return TopicDescription{}, nil
	}
	if err != nil {
		return TopicDescription{}, s.config.explain(err)
	}
	out := TopicDescription{Exists: true, Partitions: len(t.partitions), Racks: t.racks}
	r, err := ask[*describeconfigs.Response](ctx, s, anyBroker, &describeconfigs.Request{Resources: []describeconfigs.RequestResource{{
		ResourceType: int8(kafka.ResourceTypeTopic), ResourceName: s.config.Topic,
		ConfigNames: []string{"retention.ms", "message.timestamp.type", "cleanup.policy"},
	}}}, requestTimeout)
	if err != nil {
		return out, fmt.Errorf("ingest: describing topic %s: %w", s.config.Topic, err)
	}
	for _, r := range r.Resources {
		err := codeError(r.ErrorCode)
		if errors.Is(err, kafka.TopicAuthorizationFailed) {
			return out, fmt.Errorf("ingest: weir check cannot see how long topic %q keeps records, and whose times they have: user %q needs DESCRIBE_CONFIGS on the topic, which weir run does without (%w)", s.config.Topic, s.config.SASL.User, err)
		}
		if err != nil {
			return out, fmt.Errorf("ingest: describing topic %s: %w", s.config.Topic, err)
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

// Members returns the present members of the group, by client id, address and
// member id, sorted. It retries after temporary errors, such as those of a
// coordinator that loads the group, until ctx ends.
func (s *Source) Members(ctx context.Context) ([]string, error) {
	g, err := s.group(ctx)
	var members []string
	for _, m := range g.Members {
		members = append(members, named(m))
	}
	slices.Sort(members)
	return members, err
}

// group asks for the group until there is an answer.
func (s *Source) group(ctx context.Context) (g groupView, err error) {
	err = s.repeat(ctx, "looking at the group", func(ctx context.Context) (err error) {
		_, g, err = s.look(ctx)
		return err
	})
	return g, err
}

// Others is the state of the group, seen from outside.
type Others struct {
	Members int
	Wrong   string // why records would not be counted into Config.Database; empty: they would
	Odd     string // members that are there without partitions
}

// Others looks at the group without joining it, as Members does. During a
// rebalance only the number of members is known.
func (s *Source) Others(ctx context.Context) (Others, error) {
	g, err := s.group(ctx)
	if err != nil {
		return Others{}, err
	}
	if s.config.Database.ID == "" || g.GroupState != stable {
		return Others{Members: len(g.Members)}, nil
	}
	found := s.outsiders(g)
	return Others{len(g.Members), found.wrong(s, 0), found.odd(s)}, nil
}
