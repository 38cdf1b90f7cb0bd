package ingest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"weir/jobs"
)

// A Member has a fixed assignment of a topic's partitions: it is number Index, from 0, of Of
// members that divide them without a consumer group. No coordinator takes part, so the
// restart of one member pauses no other. Two processes that are the same member, or
// members of different Of, read some partitions twice, which does no harm to a reader
// whose writes merge; the partitions of a member that does not run are not read.
//
// The zero Member leaves the division to the group.
type Member struct{ Index, Of int }

// MaxMembers is the greatest Of.
const MaxMembers = 1024

// Fixed reports whether m is not the zero Member.
func (m Member) Fixed() bool { return m.Of > 0 }

func (m Member) String() string { return fmt.Sprintf("%d/%d", m.Index, m.Of) }

// Owner is the member of Of that reads a partition. Assignments differ by at most one
// partition. The group's name moves them, so that the only partitions of many small
// topics do not all belong to member 0.
func (m Member) Owner(group string, partition int32) Member {
	h := fnv.New32a()
	h.Write([]byte(group))
	return Member{int((uint64(h.Sum32()) + uint64(partition)) % uint64(m.Of)), m.Of}
}

// assigned waits until this Source's Member has a partition, and returns a Generation that
// ends when the assignment changes, when the topic is deleted, or with ctx. Nothing is
// committed: the caller knows where to begin.
func (s *Source) assigned(ctx context.Context) (jobs.Generation, error) {
	var g *Generation
	for said := false; ; {
		g = s.newGeneration(nil)
		all := 0
		err := g.locate(ctx, ownLogs, func(t *topic) []int32 { all = len(t.partitions); return s.mine(t) })
		if err != nil {
			return nil, err
		}
		if len(g.partitions) > 0 {
			break
		}
		if !said {
			said = true
			s.notices.log.Info("kafka: no partitions for this member", "member", s.config.Member.String(), "partitions", all)
		}
		if !sleep(ctx, s.config.Watch) {
			return nil, s.interrupted(ctx, "waiting for partitions")
		}
	}
	g.follow(ctx)
	if !s.task(func() { s.watch(g) }) {
		return nil, ErrClosed
	}
	if g.missing != nil {
		s.task(g.await)
	}
	s.notices.log.Info("kafka: partitions of this member", "member", s.config.Member.String(), "partitions", len(g.partitions))
	return g, nil
}

// mine returns the partitions of this Source's Member.
func (s *Source) mine(t *topic) []int32 {
	m := s.config.Member
	return slices.DeleteFunc(t.all(), func(p int32) bool { return m.Owner(s.config.Group, p) != m })
}

// watch ends a Generation when the assignment of the Member is another one, or the topic is gone.
// Other failures are those of every request, which Fetch reports.
func (s *Source) watch(g *Generation) {
	ctx, stop := g.alive(s.ctx)
	defer stop()
	for sleep(ctx, s.config.Watch) {
		t, err := s.metadata(ctx)
		if errors.Is(err, errNoTopic) || err == nil && !slices.Equal(s.mine(t), g.owned) {
			g.end(ErrEnded)
			return
		}
	}
}
