package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// The versions of the group protocol's requests: the last of each that is not
// flexible, so that all are written in one way. Kafka supports them since 2.4.
const (
	findCoordinatorVersion = 2
	joinGroupVersion       = 5
	syncGroupVersion       = 3
	heartbeatVersion       = 3
	leaveGroupVersion      = 3
	describeGroupsVersion  = 4
	offsetFetchVersion     = 5
	offsetCommitVersion    = 7
)

// A coordinator is the broker that coordinates the group, as of the lookup. Each
// of its methods is one request.
type coordinator struct {
	source *Source
	broker int32
}

// coordinator asks any broker which broker coordinates the group.
func (s *Source) coordinator(ctx context.Context) (coordinator, error) {
	any := coordinator{s, anyBroker}
	b := any.begin(protocol.FindCoordinator, findCoordinatorVersion)
	b = append(b, 0) // of a group
	r, err := any.ask(ctx, protocol.FindCoordinator, b, requestTimeout)
	if err != nil {
		return coordinator{}, err
	}
	r.int32() // throttle time
	code := kafka.Error(r.int16())
	r.string() // the code as text
	c := coordinator{s, r.int32()}
	return c, r.end("a coordinator", code)
}

// begin starts a request about the group, whose name comes first in each.
func (c coordinator) begin(api protocol.ApiKey, version int16) []byte {
	return appendString(beginRequest(nil, api, version, c.source.config.ClientID, false), c.source.config.Group)
}

// ask sends a request and returns its response after the correlation id.
func (c coordinator) ask(ctx context.Context, api protocol.ApiKey, request []byte, within time.Duration) (*reader, error) {
	call := &call{api: api, broker: c.broker, request: endRequest(request), limit: smallResponse}
	if err := c.source.exchange(ctx, call, within); err != nil {
		return nil, err
	}
	r := &reader{b: call.response}
	r.int32() // correlation
	return r, nil
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
	b := c.begin(protocol.JoinGroup, joinGroupVersion)
	b = appendInt32(b, int32(config.Session.Milliseconds()))
	b = appendInt32(b, int32(config.Rebalance.Milliseconds()))
	b = appendString(b, member)
	b = append(b, 0xff, 0xff) // no static membership (KIP-345)
	b = appendString(b, protocolType)
	b = appendInt32(b, 1)
	b = appendString(b, protocolName)
	b = appendBytes(b, metadata)
	r, err := c.ask(ctx, protocol.JoinGroup, b, config.Rebalance+requestTimeout)
	if err != nil {
		return joined{}, err
	}
	r.int32() // throttle time
	code := kafka.Error(r.int16())
	j := joined{generation: r.int32(), protocol: r.string(), leader: r.string(), member: r.string()}
	for n := r.count(8); n > 0; n-- {
		m := subscriber{id: r.string()}
		r.string() // group instance id
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
	b := c.about(protocol.SyncGroup, syncGroupVersion, generation, member)
	b = appendInt32(b, int32(len(shares)))
	for _, s := range shares {
		b = appendString(b, s.member)
		b = appendBytes(b, s.assignment)
	}
	r, err := c.ask(ctx, protocol.SyncGroup, b, c.source.config.Rebalance+requestTimeout)
	if err != nil {
		return nil, err
	}
	r.int32() // throttle time
	code := kafka.Error(r.int16())
	assignment := r.bytes()
	return assignment, r.end("a share", code)
}

// about begins a request of a member in a generation.
func (c coordinator) about(api protocol.ApiKey, version int16, generation int32, member string) []byte {
	b := appendInt32(c.begin(api, version), generation)
	b = appendString(b, member)
	return append(b, 0xff, 0xff) // no static membership
}

func (c coordinator) heartbeat(ctx context.Context, generation int32, member string, within time.Duration) error {
	r, err := c.ask(ctx, protocol.Heartbeat, c.about(protocol.Heartbeat, heartbeatVersion, generation, member), within)
	if err != nil {
		return err
	}
	r.int32() // throttle time
	return r.end("a heartbeat", kafka.Error(r.int16()))
}

// leave removes members from the group: this one, or others.
func (c coordinator) leave(ctx context.Context, members ...string) error {
	b := appendInt32(c.begin(protocol.LeaveGroup, leaveGroupVersion), int32(len(members)))
	for _, m := range members {
		b = appendString(b, m)
		b = append(b, 0xff, 0xff)
	}
	r, err := c.ask(ctx, protocol.LeaveGroup, b, requestTimeout)
	if err != nil {
		return err
	}
	r.int32() // throttle time
	return r.end("a goodbye", kafka.Error(r.int16()))
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
	b := beginRequest(nil, protocol.DescribeGroups, describeGroupsVersion, c.source.config.ClientID, false)
	b = appendInt32(b, 1)
	b = appendString(b, c.source.config.Group)
	b = append(b, 0) // without the authorized operations
	r, err := c.ask(ctx, protocol.DescribeGroups, b, requestTimeout)
	if err != nil {
		return groupView{}, err
	}
	var g groupView
	var code kafka.Error
	r.int32()                          // throttle time
	for n := r.count(16); n > 0; n-- { // groups: the request named one
		code = kafka.Error(r.int16())
		r.string() // group id
		g.state = r.string()
		r.string() // protocol type
		g.protocol = r.string()
		for n := r.count(16); n > 0; n-- {
			m := memberView{id: r.string()}
			r.string() // group instance id
			m.client, m.host = r.string(), r.string()
			m.metadata, m.assignment = r.bytes(), r.bytes()
			g.members = append(g.members, m)
		}
		r.int32() // authorized operations
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
	b := appendInt32(c.begin(protocol.OffsetFetch, offsetFetchVersion), 1)
	b = appendString(b, c.source.config.Topic)
	b = appendInt32(b, int32(len(partitions)))
	for _, p := range partitions {
		b = appendInt32(b, p)
	}
	r, err := c.ask(ctx, protocol.OffsetFetch, b, requestTimeout)
	if err != nil {
		return nil, err
	}
	found := make(map[int32]commit)
	var worst kafka.Error
	r.int32() // throttle time
	for n := r.count(6); n > 0; n-- {
		r.string() // topic
		for n := r.count(20); n > 0; n-- {
			p := r.int32()
			at := r.int64()
			r.int32() // leader epoch
			note := r.string()
			if code := kafka.Error(r.int16()); code != 0 {
				worst = code
			}
			found[p] = commit{max(at, -1), note}
		}
	}
	if code := kafka.Error(r.int16()); code != 0 {
		worst = code
	}
	return found, r.end("offsets", worst)
}

// commit commits offsets.
func (c coordinator) commit(ctx context.Context, generation int32, member string, next map[int32]int64) error {
	b := c.about(protocol.OffsetCommit, offsetCommitVersion, generation, member)
	b = appendInt32(b, 1)
	b = appendString(b, c.source.config.Topic)
	b = appendInt32(b, int32(len(next)))
	for p, at := range next {
		b = appendInt32(b, p)
		b = appendInt64(b, at)
		b = appendInt32(b, -1) // leader epoch: not known
		b = appendString(b, c.source.config.Database.ID)
	}
	r, err := c.ask(ctx, protocol.OffsetCommit, b, requestTimeout)
	if err != nil {
		return err
	}
	var worst error
	r.int32() // throttle time
	for n := r.count(6); n > 0; n-- {
		r.string() // topic
		for n := r.count(6); n > 0; n-- {
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
