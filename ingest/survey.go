package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trouble returns the reason, as a text for people, why this process does not have
// all the partitions that it should have, or why its group does not count all
// of them: members that it waits for, a program that is not weir, another
// database. It can also be the reason why it does not read at all: a topic that
// does not exist, a missing permission. It is empty if no reason is known.
func (s *Source) Trouble() string {
	return cmp.Or(s.notices.standing(), s.groupTrouble())
}

func (s *Source) groupTrouble() string {
	if t := s.trouble.Load(); t != nil {
		return *t
	}
	return ""
}

func (s *Source) setTrouble(text string) { s.trouble.Store(&text) }

// named returns a member so that people can find the process.
func named(m memberView) string {
	return fmt.Sprintf("client %q at %s (member %s)", m.ClientID, strings.TrimPrefix(m.ClientHost, "/"), m.MemberID)
}

func names(ms []memberView) string {
	var b strings.Builder
	for i, m := range ms {
		if i == 5 && len(ms) > 6 {
			fmt.Fprintf(&b, " and %d others", len(ms)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(named(m))
	}
	return b.String()
}

// look asks the coordinator for the present state of the group.
func (s *Source) look(ctx context.Context) (coordinator, groupView, error) {
	c, err := s.coordinator(ctx)
	if err != nil {
		return c, groupView{}, err
	}
	g, err := c.describe(ctx)
	return c, g, err
}

// attend watches the group until ctx ends, while this member waits for its next
// generation, which begins when all members have joined or timed out. It
// removes members whose process is known to be dead (Config.Gone), so that the
// group does not wait for their session: in particular, a process that was
// killed and started again does not wait for its former member. It reports the
// other members that the group waits for.
//
// Config.Gone is wrong about a process that it cannot see, such as one with the
// same host name in another container. So a client is removed only once: if it
// joins again it is alive, and otherwise the two would remove each other for
// ever.
//
// Dead members are removed only after this member's own request to join has
// arrived. If the group became empty before that, every member would wait for
// the broker's group.initial.rebalance.delay.ms, 3 s by default.
//
// If a request fails here, the member is removed when its session ends.
func (s *Source) attend(ctx context.Context) {
	began := time.Now()
	said := ""
	defer func() {
		if said != "" {
			s.setTrouble("")
		}
	}()
	for pause := lookFirst; sleep(ctx, pause); pause = min(2*pause, lookLast) {
		c, g, err := s.look(ctx)
		if err != nil {
			continue // there is no coordinator yet
		}
		var dead, others []memberView
		joined := false
		for _, m := range g.Members {
			switch {
			case m.ClientID == s.config.ClientID:
				joined = true
			case s.config.Gone != nil && s.config.Gone(m.ClientID) && !s.removed[m.ClientID]:
				dead = append(dead, m)
			default:
				others = append(others, m)
			}
		}
		switch {
		case !joined:
		case len(dead) > 0:
			var ids []string
			for _, m := range dead {
				ids = append(ids, m.MemberID)
			}
			if err := c.leave(ctx, ids...); err != nil {
				s.notices.log.Debug("kafka: taking dead members out of the group", "error", stableText(err))
				continue
			}
			for _, m := range dead {
				s.removed[m.ClientID] = true
			}
			s.notices.log.Info("kafka: took members out of the group whose process is dead", "members", names(dead))
		case len(others) > 0 && g.GroupState != stable && time.Since(began) > waitUnsaid:
			text := fmt.Sprintf("group %s waits until all its members have joined again, for each at most its session, or %v if it is alive: %s", s.config.Group, s.config.Rebalance, names(others))
			s.setTrouble(text)
			if text != said {
				said = text
				s.notices.log.Info("kafka: " + text)
			}
		}
	}
}

const stable = "Stable"

// survey looks at the other members of the group's present generation, once the
// group is stable, and reports what is wrong: this member was refused, other
// programs or another database have partitions, or there are fewer partitions
// than members.
func (s *Source) survey(ctx context.Context, l *lease, mine int) {
	if l.refused.ID != "" {
		text := s.refusal(l.refused)
		if s.groupTrouble() != text {
			s.notices.log.Error("kafka: " + text)
		}
		s.setTrouble(text)
		return
	}
	s.setTrouble("")
	for pause := lookFirst; ; pause = min(2*pause, lookLast) {
		_, g, err := s.look(ctx)
		if err == nil && g.GroupState == stable {
			s.judgeGroup(mine, g)
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// judgeGroup reports what survey has found.
func (s *Source) judgeGroup(mine int, g groupView) {
	found := s.outsiders(g)
	wrong := found.wrong(s, mine)
	log := s.notices.log
	if wrong != "" {
		s.setTrouble(wrong)
		log.Error("kafka: " + wrong)
	}
	if odd := found.odd(s); odd != "" {
		log.Warn("kafka: " + odd)
	}
	if wrong == "" && mine == 0 {
		log.Info("kafka: no partitions for this member: the group has more members than the topic has partitions", "members", len(g.Members))
	}
}

// outsiders are the members of a group that do not count into this process's database.
type outsiders struct {
	foreign  []memberView // programs that are not weir, and have partitions of the topic
	idle     []memberView // programs that are not weir, and have none
	rivals   []memberView // members that count into another database, and have partitions of the topic
	refused  []memberView // members that count into another database, and have none
	taken    []int32      // the partitions of foreign and rivals
	assignor string
}

// outsiders looks for them in a group.
func (s *Source) outsiders(g groupView) (out outsiders) {
	out.assignor = g.ProtocolData
	for _, m := range g.Members {
		_, claim := subscription(m.MemberMetadata)
		given, _, err := assignment(m.MemberAssignment)
		if err != nil {
			given = nil
		}
		partitions := given[s.config.Topic]
		var as *[]memberView
		switch has := len(partitions) > 0; {
		case claim != nil && (claim.Database == s.config.Database.ID || s.config.Database.ID == ""):
			continue
		case claim == nil && has:
			as = &out.foreign
		case claim == nil:
			as = &out.idle
		case has:
			as = &out.rivals
		default:
			as = &out.refused
		}
		*as = append(*as, m)
		out.taken = append(out.taken, partitions...)
	}
	slices.Sort(out.taken)
	return out
}

// wrong returns the reason why records are not counted into this process's database,
// whose members have mine partitions; empty if the group is in order.
func (f *outsiders) wrong(s *Source, mine int) string {
	which := fmt.Sprintf("partitions %s of topic %s", strings.Trim(fmt.Sprint(f.taken), "[]"), s.config.Topic)
	switch {
	case len(f.foreign) > 0:
		return fmt.Sprintf("%s are with a program that is not weir, so weir does not count them: %s, in group %s by assignor %q. Give it a group of its own, or stop it",
			which, names(append(f.foreign, f.rivals...)), s.config.Group, f.assignor)
	case len(f.rivals) > 0 && mine > 0:
		return fmt.Sprintf("%s are counted into database %s, and the rest into %s: %s. Give one of the two deployments another kafka.group",
			which, f.rival(), s.config.Database, names(f.rivals))
	case len(f.rivals) > 0:
		return s.refusal(f.rival())
	}
	return ""
}

func (f *outsiders) rival() Database {
	_, claim := subscription(f.rivals[0].MemberMetadata)
	return claim.database()
}

// odd names the programs that are in the group without partitions.
func (f *outsiders) odd(s *Source) string {
	if len(f.idle) == 0 {
		return ""
	}
	return fmt.Sprintf("a program that is not weir is in group %s, and has no partitions of topic %s: %s", s.config.Group, s.config.Topic, names(f.idle))
}

// The time between two looks at the group: at first it is short compared with a
// restart of this process. attend reports the awaited members only after some
// time.
const (
	lookFirst  = 50 * time.Millisecond
	lookLast   = 500 * time.Millisecond
	waitUnsaid = time.Second
)
