package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file runs the stack with the three brokers of brokers.yml instead of one. Each
// partition has three replicas, of which two must be in sync. The strikes hit the
// brokers while weir reads from them and a producer with acks=all writes to them.

// nodes has the services of the brokers, whose ids are 1, 2, 3.
var nodes = []string{"kafka", "kafka-2", "kafka-3"}

func serviceOf(node int32) string { return nodes[node-1] }

var strikes = []strike{
	{name: "leader-killed", run: func(c *chaos, ctx context.Context) error {
		leader, _, err := c.leader(ctx)
		if err != nil {
			return err
		}
		return c.killProcess(ctx, serviceOf(leader))
	}},
	{name: "controller-killed", run: (*chaos).killController},
	{name: "broker-frozen", run: func(c *chaos, ctx context.Context) error {
		leader, _, err := c.leader(ctx)
		if err != nil {
			return err
		}
		name := c.container(serviceOf(leader))
		return c.between(ctx, session+5*time.Second, []string{"pause", name}, []string{"unpause", name})
	}},
	{name: "away-from-peers", run: func(c *chaos, ctx context.Context) error { return c.cut(ctx, "peers") }},
	{name: "away-from-clients", run: func(c *chaos, ctx context.Context) error { return c.cut(ctx, "weir") }},
	{name: "away-from-all", run: func(c *chaos, ctx context.Context) error { return c.cut(ctx, "peers", "weir") }},
	{name: "one-in-sync", run: (*chaos).oneInSync},
	{name: "leaders-moved", run: (*chaos).moveLeaders},
	{name: "rolling-restart", run: func(c *chaos, ctx context.Context) error {
		for _, service := range nodes {
			if _, err := c.compose(ctx, "restart", service); err != nil {
				return err
			}
			if err := c.wait(ctx, service+" healthy", func() error { return c.healthy(ctx, service) }); err != nil {
				return err
			}
			if err := c.whole(ctx); err != nil {
				return err
			}
		}
		return nil
	}},
}

// admin asks the cluster from outside.
func (c *chaos) admin() (*kadm.Client, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(client), nil
}

// leader chooses a partition of clicks at random and returns its leader and followers.
func (c *chaos) leader(ctx context.Context) (leader int32, followers []int32, err error) {
	admin, err := c.admin()
	if err != nil {
		return 0, nil, err
	}
	defer admin.Close()
	topics, err := admin.ListTopics(ctx, "clicks")
	if err != nil {
		return 0, nil, err
	}
	all := topics["clicks"].Partitions.Sorted()
	if len(all) == 0 {
		return 0, nil, fmt.Errorf("topic clicks has no partitions: %w", topics["clicks"].Err)
	}
	p := all[c.random.IntN(len(all))]
	if p.Leader < 1 {
		return 0, nil, fmt.Errorf("partition %d has no leader", p.Partition)
	}
	for _, r := range p.Replicas {
		if r != p.Leader {
			followers = append(followers, r)
		}
	}
	return p.Leader, followers, nil
}

// whole waits until every replica is in sync.
func (c *chaos) whole(ctx context.Context) error {
	admin, err := c.admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	return c.wait(ctx, "three replicas in sync", func() error {
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return err
		}
		n := 0
		for _, t := range topics {
			for _, p := range t.Partitions {
				if n++; len(p.ISR) != len(nodes) || p.Leader < 1 {
					return fmt.Errorf("topic %s, partition %d: leader %d, in sync %v", t.Topic, p.Partition, p.Leader, p.ISR)
				}
			}
		}
		if n < 8 {
			return fmt.Errorf("%d partitions", n)
		}
		return nil
	})
}

// killController kills the active controller. Any broker can say which one that is.
func (c *chaos) killController(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	request := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 || answer.Topics[0].Partitions[0].LeaderID < 1 {
		return fmt.Errorf("the quorum says %+v", answer)
	}
	return c.killProcess(ctx, serviceOf(answer.Topics[0].Partitions[0].LeaderID))
}

// cut disconnects a broker that leads a partition from networks, for some seconds or
// for longer than its session.
func (c *chaos) cut(ctx context.Context, networks ...string) (err error) {
	leader, _, err := c.leader(ctx)
	if err != nil {
		return err
	}
	service := serviceOf(leader)
	alias := map[string]string{"weir": service, "peers": fmt.Sprint("peer-", leader)}
	name := c.container(service)
	last := context.WithoutCancel(ctx)
	for _, network := range networks {
		network, alias := c.project+"_"+network, alias[network]
		if err := c.run(ctx, "docker", "network", "disconnect", network, name); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, c.run(last, "docker", "network", "connect", "--alias", alias, network, name))
		}()
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(3+c.random.IntN(22)) * time.Second):
	}
	return nil
}

// oneInSync stops the followers of a partition one after the other, so that only its
// leader is in sync and nothing is acknowledged. Every other time it also kills the
// leader. Then it starts all of them again.
func (c *chaos) oneInSync(ctx context.Context) error {
	leader, followers, err := c.leader(ctx)
	if err != nil {
		return err
	}
	for _, f := range followers {
		if err := c.run(ctx, "docker", "stop", "--time", "60", c.container(serviceOf(f))); err != nil {
			return err
		}
	}
	admin, err := c.admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := c.wait(ctx, "one replica in sync", func() error {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		topics, err := admin.ListTopics(short, "clicks")
		if err != nil {
			return err
		}
		for _, p := range topics["clicks"].Partitions.Sorted() {
			if slices.Equal(p.ISR, []int32{leader}) {
				return nil
			}
		}
		return errors.New("no partition has only its leader in sync")
	}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(2+c.random.IntN(8)) * time.Second):
	}
	if c.random.IntN(2) == 0 {
		// The leader cannot be healthy before the others run.
		if err := c.run(ctx, "docker", "restart", "--time", "0", c.container(serviceOf(leader))); err != nil {
			return err
		}
	}
	for _, f := range followers {
		if err := c.run(ctx, "docker", "start", c.container(serviceOf(f))); err != nil {
			return err
		}
	}
	return c.whole(ctx)
}

// moveLeaders moves the leaders of all partitions to the next broker, by a reassignment
// and an election of the preferred leaders. In between, each partition has two replicas.
func (c *chaos) moveLeaders(ctx context.Context) error {
	admin, err := c.admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	for turn := range int32(4) {
		moves := kadm.AlterPartitionAssignmentsReq{}
		for p := range int32(4) {
			order := []int32{(p+turn)%3 + 1, (p+turn+1)%3 + 1, (p+turn+2)%3 + 1}
			if turn == 2 {
				order = order[:2]
			}
			moves.Assign("clicks", p, order)
		}
		done, err := admin.AlterPartitionAssignments(ctx, moves)
		if err == nil {
			err = done.Error()
		}
		if err != nil {
			return err
		}
		if err := c.wait(ctx, "partitions reassigned", func() error {
			topics, err := admin.ListTopics(ctx, "clicks")
			if err != nil {
				return err
			}
			for _, p := range topics["clicks"].Partitions.Sorted() {
				if want := moves["clicks"][p.Partition]; !slices.Equal(p.Replicas, want) || len(p.ISR) != len(want) {
					return fmt.Errorf("partition %d: replicas %v of %v, in sync %v", p.Partition, p.Replicas, want, p.ISR)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		set := kadm.TopicsSet{}
		set.Add("clicks", 0, 1, 2, 3)
		elected, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		if err != nil {
			return err
		}
		for _, p := range elected["clicks"] {
			if p.Err != nil && !strings.Contains(p.Err.Error(), "ELECTION_NOT_NEEDED") {
				return fmt.Errorf("electing the leader of partition %d: %w", p.Partition, p.Err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
	return nil
}
