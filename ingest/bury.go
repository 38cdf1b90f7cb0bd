package ingest

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
)

// bury takes members out of the group whose process is known to be dead
// (Config.Gone), so that nobody waits for their session to expire: above all,
// a process that was killed and started again does not wait for itself.
func (s *Source) bury() {
	n := s.expel(s.config.Session, buryPause, func(m kafka.DescribeGroupsResponseMember) bool {
		return m.ClientID != s.config.ClientID && s.config.Gone(m.ClientID)
	})
	if n > 0 {
		s.notices.log.Info("kafka: took members out of the group whose process is dead", "members", n)
	}
}

// disown takes the member out of the group that this one used to be. kafka-go
// forgets its member id when a coordinator cannot be reached, and joins as
// somebody new; the group, which a restarted coordinator reads back from its
// log, would wait a whole session for the one that nobody is any more.
func (s *Source) disown(memberID string) {
	n := s.expel(2*s.config.Session, disownPause, func(m kafka.DescribeGroupsResponseMember) bool { return m.MemberID == memberID })
	if n > 0 {
		s.notices.log.Info("kafka: took this process's former member out of the group")
	}
}

// expel takes the dead out of the group and returns how many there were.
//
// It does so once this member's own request to join has arrived. A group that
// were emptied before would hold every member up for the broker's
// group.initial.rebalance.delay.ms, 3 s unless configured otherwise.
//
// Whatever fails for so long is left to the session.
func (s *Source) expel(limit, pause time.Duration, isDead func(kafka.DescribeGroupsResponseMember) bool) int {
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	client := &kafka.Client{Addr: s.bootstrap, Transport: s.transport}
	for sleep(ctx, pause) {
		res, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{s.config.Group}})
		if err != nil || len(res.Groups) != 1 || res.Groups[0].Error != nil {
			continue // the coordinator is not there yet
		}
		var dead []kafka.LeaveGroupRequestMember
		joined := false
		for _, m := range res.Groups[0].Members {
			switch {
			case isDead(m):
				dead = append(dead, kafka.LeaveGroupRequestMember{ID: m.MemberID})
			case m.ClientID == s.config.ClientID:
				joined = true
			}
		}
		switch {
		case !joined:
			continue
		case len(dead) == 0:
			return 0
		}
		left, err := client.LeaveGroup(ctx, &kafka.LeaveGroupRequest{GroupID: s.config.Group, Members: dead})
		if err == nil {
			err = left.Error
		}
		if err != nil {
			s.notices.log.Debug("kafka: taking dead members out of the group", "error", plainly(err))
			continue
		}
		return len(dead)
	}
	return 0
}

// Time between two looks at the group: short against a restart of this
// process, and against one of a broker.
const (
	buryPause   = 50 * time.Millisecond
	disownPause = 250 * time.Millisecond
)
