package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
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
	any := coordinator{s, anyBroker}
	q, err := any.begin(ctx, protocol.FindCoordinator)
	if err != nil {
		return coordinator{}, err
	}
	if q.version >= 1 {
		q.int8(0) // of a group
	}
	r, err := any.ask(ctx, q, requestTimeout)
	if err != nil {
		return coordinator{}, err
	}
	r.throttle(q.version >= 1)
	code := kafka.Error(r.int16())
	if q.version >= 1 {
		r.text() // the code as text
	}
	c := coordinator{s, r.int32()}
	return c, r.end("a coordinator", code)
}

// begin starts a request about the group, whose name comes first in each.
func (c coordinator) begin(ctx context.Context, api protocol.ApiKey) (*call, error) {
	q, err := c.source.newCall(ctx, api, c.broker)
	if err == nil {
		q.text(c.source.config.Group)
	}
	return q, err
}

// ask sends a request and returns its response.
func (c coordinator) ask(ctx context.Context, q *call, within time.Duration) (*reader, error) {
	if err := c.source.exchange(ctx, q, within); err != nil {
		return nil, err
	}
	return q.reader(), nil
}

// throttle skips the throttle time, if it is there: the broker has already waited.
func (r *reader) throttle(there bool) {
	if there {
		r.int32()
	}
}

// end checks a response that was read to its end: its error says that the
// response does not parse, or that the broker refused.
func (r *reader) end(what string, code kafka.Error) error {
	if err := r.done(what); err != nil {
		return err
	}
	if code != 0 {
		return code
	}
	return nil
}

// A joined is the response to a JoinGroup request, which comes when all members
// have joined the next generation.
type joined struct {
	generation int32
	protocol   string
	leader     string
	member     string // this one
	members    []subscriber
}

// A subscriber is a member as its group's leader sees it.
type subscriber struct {
	id       string
	metadata []byte
}

// protocolName is the only assignor that members of weir offer. Kafka's Java
// client has the same name for it: each topic's partitions are divided into as
// many ranges as it has members.
const protocolName = "range"

const protocolType = "consumer"

// join waits until every member of the group has joined the next generation or
// timed out. With the error MemberIDRequired it returns the id for the next try.
func (c coordinator) join(ctx context.Context, member string, metadata []byte) (joined, error) {
	config := &c.source.config
	q, err := c.begin(ctx, protocol.JoinGroup)
	if err != nil {
		return joined{}, err
	}
	q.int32(int32(config.Session.Milliseconds()))
	q.int32(int32(config.Rebalance.Milliseconds()))
	q.text(member)
	if q.version >= 5 {
		q.null() // no static membership
	}
	q.text(protocolType)
	q.array(1)
	q.text(protocolName)
	q.bytes(metadata)
	r, err := c.ask(ctx, q, config.Rebalance+requestTimeout)
	if err != nil {
		return joined{}, err
	}
	r.throttle(q.version >= 2)
	code := kafka.Error(r.int16())
	j := joined{generation: r.int32(), protocol: r.text(), leader: r.text(), member: r.text()}
	for n := r.array(6); n > 0; n-- {
		m := subscriber{id: r.text()}
		if q.version >= 5 {
			r.text() // group instance id
		}
		m.metadata = r.bytes()
		j.members = append(j.members, m)
	}
	return j, r.end("a generation", code)
}

// A share is what the group's leader gives to a member.
type share struct {
	member     string
	assignment []byte
}

// sync sends the shares, which only the leader decides, and returns this
// member's share.
func (c coordinator) sync(ctx context.Context, generation int32, member string, shares []share) ([]byte, error) {
	q, err := c.about(ctx, protocol.SyncGroup, generation, member)
	if err != nil {
		return nil, err
	}
	if q.version >= 3 {
		q.null() // no static membership
	}
	q.array(len(shares))
	for _, s := range shares {
		q.text(s.member)
		q.bytes(s.assignment)
	}
	r, err := c.ask(ctx, q, c.source.config.Rebalance+requestTimeout)
	if err != nil {
		return nil, err
	}
	r.throttle(q.version >= 1)
	code := kafka.Error(r.int16())
	assignment := r.bytes()
	return assignment, r.end("a share", code)
}

// about begins a request of a member in a generation.
func (c coordinator) about(ctx context.Context, api protocol.ApiKey, generation int32, member string) (*call, error) {
	q, err := c.begin(ctx, api)
	if err == nil {
		q.int32(generation)
		q.text(member)
	}
	return q, err
}

func (c coordinator) heartbeat(ctx context.Context, generation int32, member string, within time.Duration) error {
	q, err := c.about(ctx, protocol.Heartbeat, generation, member)
	if err != nil {
		return err
	}
	if q.version >= 3 {
		q.null() // no static membership
	}
	r, err := c.ask(ctx, q, within)
	if err != nil {
		return err
	}
	r.throttle(q.version >= 1)
	return r.end("a heartbeat", kafka.Error(r.int16()))
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
		r, err := c.ask(ctx, q, requestTimeout)
		if err != nil {
			return err
		}
		r.throttle(q.version >= 1)
		if err := r.end("a goodbye", kafka.Error(r.int16())); err != nil {
			return err
		}
	}
	return nil
}

// A groupView is the group as its coordinator describes it to any client.
type groupView struct {
	state    string // Stable, PreparingRebalance, …; only a stable group has metadata and assignments
	protocol string // the assignor that divided the partitions
	members  []memberView
}

type memberView struct {
	id, client, host     string
	metadata, assignment []byte
}

// describe asks for the group's members.
func (c coordinator) describe(ctx context.Context) (groupView, error) {
	q, err := c.source.newCall(ctx, protocol.DescribeGroups, c.broker)
	if err != nil {
		return groupView{}, err
	}
	q.array(1)
	q.text(c.source.config.Group)
	if q.version >= 3 {
		q.int8(0) // without the authorized operations
	}
	r, err := c.ask(ctx, q, requestTimeout)
	if err != nil {
		return groupView{}, err
	}
	var g groupView
	var code kafka.Error
	r.throttle(q.version >= 1)
	for n := r.array(14); n > 0; n-- { // groups: the request named one
		code = kafka.Error(r.int16())
		r.text() // group id
		g.state = r.text()
		r.text() // protocol type
		g.protocol = r.text()
		for n := r.array(14); n > 0; n-- {
			m := memberView{id: r.text()}
			if q.version >= 4 {
				r.text() // group instance id
			}
			m.client, m.host = r.text(), r.text()
			m.metadata, m.assignment = r.bytes(), r.bytes()
			g.members = append(g.members, m)
		}
		if q.version >= 3 {
			r.int32() // authorized operations
		}
	}
	return g, r.end("a group", code)
}

// A commit is the group's committed offset of a partition; at is -1 if there is
// none.
type commit struct {
	at   int64
	note string // metadata of the commit: the database whose position it is
}

// commits asks for the group's committed offsets.
func (c coordinator) commits(ctx context.Context, partitions []int32) (map[int32]commit, error) {
	q, err := c.begin(ctx, protocol.OffsetFetch)
	if err != nil {
		return nil, err
	}
	q.array(1)
	q.text(c.source.config.Topic)
	q.array(len(partitions))
	for _, p := range partitions {
		q.int32(p)
	}
	r, err := c.ask(ctx, q, requestTimeout)
	if err != nil {
		return nil, err
	}
	found := make(map[int32]commit)
	var worst kafka.Error
	r.throttle(q.version >= 3)
	for n := r.array(6); n > 0; n-- {
		r.text() // topic
		for n := r.array(16); n > 0; n-- {
			p := r.int32()
			at := r.int64()
			if q.version >= 5 {
				r.int32() // leader epoch
			}
			note := r.text()
			if code := kafka.Error(r.int16()); code != 0 {
				worst = code
			}
			found[p] = commit{max(at, -1), note}
		}
	}
	if q.version >= 2 {
		if code := kafka.Error(r.int16()); code != 0 {
			worst = code
		}
	}
	return found, r.end("offsets", worst)
}

// commit commits offsets.
func (c coordinator) commit(ctx context.Context, generation int32, member string, next map[int32]int64) error {
	q, err := c.about(ctx, protocol.OffsetCommit, generation, member)
	if err != nil {
		return err
	}
	if q.version >= 7 {
		q.null() // no static membership
	}
	if q.version <= 4 {
		q.int64(-1) // the broker's own retention of offsets
	}
	q.array(1)
	q.text(c.source.config.Topic)
	q.array(len(next))
	for p, at := range next {
		q.int32(p)
		q.int64(at)
		if q.version >= 6 {
			q.int32(-1) // leader epoch: not known
		}
		q.text(c.source.config.Database.ID)
	}
	r, err := c.ask(ctx, q, requestTimeout)
	if err != nil {
		return err
	}
	var worst error
	r.throttle(q.version >= 3)
	for n := r.array(6); n > 0; n-- {
		r.text() // topic
		for n := r.array(6); n > 0; n-- {
			p := r.int32()
			if code := kafka.Error(r.int16()); code != 0 && worst == nil {
				worst = fmt.Errorf("partition %d: %w", p, code)
			}
		}
	}
	if err := r.done("a commit"); err != nil {
		return err
	}
	return worst
}
