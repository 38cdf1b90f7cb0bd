package ingest

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
)

// bury takes members out of the group whose process is known to be dead
// (Config.Gone), so that nobody waits for their session to expire: above all,
// a process that was killed and started again does not wait for itself.
//
// It does so once this member's own request to join has arrived. A group that
// were emptied before would hold every member up for the broker's
// group.initial.rebalance.delay.ms, 3 s unless configured otherwise.
//
// Whatever fails here is left to the session.
func (s *Source) bury() {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Session)
	defer cancel()
	client := &kafka.Client{Addr: s.bootstrap, Transport: s.transport}
	for sleep(ctx, buryPause) {
		res, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{s.config.Group}})
		if err != nil || len(res.Groups) != 1 || res.Groups[0].Error != nil {
			continue // the coordinator is not there yet
		}
		var dead []kafka.LeaveGroupRequestMember
		joined := false
		for _, m := range res.Groups[0].Members {
			switch {
			case m.ClientID == s.config.ClientID:
				joined = true
			case s.config.Gone(m.ClientID):
				dead = append(dead, kafka.LeaveGroupRequestMember{ID: m.MemberID})
			}
		}
		switch {
		case !joined:
			continue
		case len(dead) == 0:
			return
		}
		left, err := client.LeaveGroup(ctx, &kafka.LeaveGroupRequest{GroupID: s.config.Group, Members: dead})
		if err == nil {
			err = left.Error
		}
		if err != nil {
			s.notices.log.Debug("kafka: taking dead members out of the group", "error", plainly(err))
			continue
		}
		s.notices.log.Info("kafka: took members out of the group whose process is dead", "members", len(dead))
		return
	}
}

// buryPause is the time between two looks at the group: short against a
// restart, and no more than twenty small requests a second while it lasts.
const buryPause = 50 * time.Millisecond
