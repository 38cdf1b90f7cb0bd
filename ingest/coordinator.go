package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/segmentio/kafka-go/protocol/offsetcommit"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
	"github.com/segmentio/kafka-go/protocol/syncgroup"
)

// A coordinator is the broker that coordinates the group, as of the lookup. Each
// of its methods is one request. Requests of old versions lack fields, and so do the
// responses: static membership (KIP-345), which weir does not use, and the epochs of
// commits.
type coordinator struct {
	source *Source
	broker int32
}

// coordinator asks any broker which broker coordinates the group.
func (s *Source) coordinator(ctx context.Context) (coordinator, error) {
	r, err := ask[*findcoordinator.Response](ctx, s, anyBroker, &findcoordinator.Request{Key: s.config.Group}, requestTimeout)
	if err != nil {
		return coordinator{}, err
	}
	if r.ErrorCode != 0 {
		return coordinator{}, kafka.Error(r.ErrorCode)
	}
	s.conns.learn(map[int32]string{r.NodeID: address(r.Host, r.Port)})
	return coordinator{s, r.NodeID}, nil
}

// codeError returns the error of a response's code.
func codeError(code int16) error {
	if code != 0 {
		return kafka.Error(code)
	}
	return nil
}

// protocolName is the only assignor that members of weir offer. Kafka's Java
// client has the same name for it: each topic's partitions are divided into as
// many ranges as it has members.
const protocolName = "range"

const protocolType = "consumer"

// join waits until every member of the group has joined the next generation or
// timed out. With the error MemberIDRequired it returns the id for the next try.
func (c coordinator) join(ctx context.Context, member string, metadata []byte) (*joingroup.Response, error) {
	config := &c.source.config
	r, err := ask[*joingroup.Response](ctx, c.source, c.broker, &joingroup.Request{
		GroupID: config.Group, MemberID: member, ProtocolType: protocolType,
		SessionTimeoutMS:   int32(config.Session.Milliseconds()),
		RebalanceTimeoutMS: int32(config.Rebalance.Milliseconds()),
		Protocols:          []joingroup.RequestProtocol{{Name: protocolName, Metadata: metadata}},
	}, config.Rebalance+requestTimeout)
	if err != nil {
		return nil, err
	}
	return r, codeError(r.ErrorCode)
}

// sync sends the assignments, which only the leader decides, and returns this
// member's assignment.
func (c coordinator) sync(ctx context.Context, generation int32, member string, assignments []syncgroup.RequestAssignment) ([]byte, error) {
	config := &c.source.config
	r, err := ask[*syncgroup.Response](ctx, c.source, c.broker, &syncgroup.Request{
		GroupID: config.Group, GenerationID: generation, MemberID: member, Assignments: assignments,
	}, config.Rebalance+requestTimeout)
	if err != nil {
		return nil, err
	}
	return r.Assignments, codeError(r.ErrorCode)
}

// begin starts a request about the group that is not one of kafka-go's: of its
// responses to Heartbeat and LeaveGroup, the code stands before the throttle time,
// where no broker puts it.
func (c coordinator) begin(ctx context.Context, api protocol.ApiKey) (*call, error) {
	q, err := c.source.newCall(ctx, api, c.broker)
	if err == nil {
		q.text(c.source.config.Group)
	}
	return q, err
}

// confirm sends such a request and returns the broker's refusal.
func (c coordinator) confirm(ctx context.Context, q *call, within time.Duration) error {
	if err := c.source.exchange(ctx, q, within); err != nil {
		return err
	}
	r := q.reader()
	r.throttle(q.version >= 1)
	code := r.int16()
	return cmp.Or(r.done("an answer about the group"), codeError(code))
}

func (c coordinator) heartbeat(ctx context.Context, generation int32, member string, within time.Duration) error {
	q, err := c.begin(ctx, protocol.Heartbeat)
	if err != nil {
		return err
	}
	q.int32(generation)
	q.text(member)
	if q.version >= 3 {
		q.null() // no static membership
	}
	return c.confirm(ctx, q, within)
}

// leave removes members from the group: this one, or others.
func (c coordinator) leave(ctx context.Context, members ...string) error {
	for len(members) > 0 {
		q, err := c.begin(ctx, protocol.LeaveGroup)
		if err != nil {
			return err
		}
		if q.version < 3 { // one at a time
			q.text(members[0])
			members = members[1:]
		} else {
			q.array(len(members))
			for _, m := range members {
				q.text(m)
				q.null() // no static membership
			}
			members = nil
		}
		if err := c.confirm(ctx, q, requestTimeout); err != nil {
			return err
		}
	}
	return nil
}

// A groupView is the group as its coordinator describes it to any client. Only a
// stable group has metadata and assignments.
type groupView = describegroups.ResponseGroup

type memberView = describegroups.ResponseGroupMember

// describe asks for the group's members.
func (c coordinator) describe(ctx context.Context) (groupView, error) {
	r, err := ask[*describegroups.Response](ctx, c.source, c.broker, &describegroups.Request{Groups: []string{c.source.config.Group}}, requestTimeout)
	switch {
	case err != nil:
		return groupView{}, err
	case len(r.Groups) != 1:
		return groupView{}, errors.New("the broker did not describe the group")
	}
	return r.Groups[0], codeError(r.Groups[0].ErrorCode)
}

// commits asks for the group's committed offsets. An offset is -1 if there is none;
// the metadata of a commit is the database whose position it is.
func (c coordinator) commits(ctx context.Context, partitions []int32) (map[int32]offsetfetch.ResponsePartition, error) {
	config := &c.source.config
	r, err := ask[*offsetfetch.Response](ctx, c.source, c.broker, &offsetfetch.Request{
		GroupID: config.Group, Topics: []offsetfetch.RequestTopic{{Name: config.Topic, PartitionIndexes: partitions}},
	}, requestTimeout)
	if err != nil {
		return nil, err
	}
	worst := r.ErrorCode
	found := make(map[int32]offsetfetch.ResponsePartition)
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				worst = p.ErrorCode
			}
			found[p.PartitionIndex] = p
		}
	}
	return found, codeError(worst)
}

func (c coordinator) commit(ctx context.Context, generation int32, member string, next map[int32]int64) error {
	config := &c.source.config
	topic := offsetcommit.RequestTopic{Name: config.Topic}
	for p, at := range next {
		topic.Partitions = append(topic.Partitions, offsetcommit.RequestPartition{
			PartitionIndex: p, CommittedOffset: at, CommittedLeaderEpoch: -1, CommittedMetadata: config.Database.ID,
		})
	}
	r, err := ask[*offsetcommit.Response](ctx, c.source, c.broker, &offsetcommit.Request{
		GroupID: config.Group, GenerationID: generation, MemberID: member, Topics: []offsetcommit.RequestTopic{topic},
		RetentionTimeMs: -1, // the broker's own
	}, requestTimeout)
	if err != nil {
		return err
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("partition %d: %w", p.PartitionIndex, kafka.Error(p.ErrorCode))
			}
		}
	}
	return nil
}
