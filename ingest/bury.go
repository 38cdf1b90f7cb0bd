package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trouble is what keeps this process from all the partitions that it should
// have, or its group from counting all of them, in words for people: members
// that it waits for, a program that is not weir, another database; or from
// reading at all: a topic that does not exist, a right that is missing. Empty:
// nothing that is known.
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

// String names a member so that it can be found.
func (m memberView) String() string {
	return fmt.Sprintf("client %q at %s (member %s)", m.client, strings.TrimPrefix(m.host, "/"), m.id)
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
		b.WriteString(m.String())
	}
	return b.String()
}

// look is the group as its coordinator tells it now.
func (s *Source) look(ctx context.Context) (coordinator, groupView, error) {
	c, err := s.coordinator(ctx)
	if err != nil {
		return c, groupView{}, err
	}
	g, err := c.describe(ctx)
	return c, g, err
}

// attend looks at the group until ctx ends, while this member waits to be let
// into its next generation, which begins when all have joined or were given up.
// Members whose process is known to be dead (Config.Gone) are taken out, so
// that the group does not wait for their session: above all, a process that was
// killed and started again does not wait for itself. Which members the group
// waits for otherwise is said.
//
// What Config.Gone says is wrong about a process that it cannot see, such as
// one with the same host name in another container. So a client is taken out
// once: if it is in the group again it is alive, and the two would expel each
// other for ever.
//
// The dead are taken out once this member's own request to join has arrived. A
// group that were emptied before would hold every member up for the broker's
// group.initial.rebalance.delay.ms, 3 s unless configured otherwise.
//
// Whatever fails here is left to the session.
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
			continue // the coordinator is not there yet
		}
		var dead, others []memberView
		joined := false
		for _, m := range g.members {
			switch {
			case m.client == s.config.ClientID:
				joined = true
			case s.config.Gone != nil && s.config.Gone(m.client) && !s.buried[m.client]:
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
				ids = append(ids, m.id)
			}
			if err := c.leave(ctx, ids...); err != nil {
				s.notices.log.Debug("kafka: taking dead members out of the group", "error", plainly(err))
				continue
			}
			for _, m := range dead {
				s.buried[m.client] = true
			}
			s.notices.log.Info("kafka: took members out of the group whose process is dead", "members", names(dead))
		case len(others) > 0 && g.state != stable && time.Since(began) > waitUnsaid:
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

// survey looks, once it is stable, at who else is in the group's present
// generation, and says what is not as it should be: this member was refused,
// partitions are with programs that are not weir or with another database, or
// there are fewer of them than members.
func (s *Source) survey(ctx context.Context, l *lease) {
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
		if err == nil && g.state == stable {
			s.judgeGroup(l, g)
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// judgeGroup says what survey has found.
func (s *Source) judgeGroup(l *lease, g groupView) {
	found := s.sort(g)
	wrong := found.wrong(s, len(l.partitions))
	log := s.notices.log
	if wrong != "" {
		s.setTrouble(wrong)
		log.Error("kafka: " + wrong)
	}
	if odd := found.odd(s); odd != "" {
		log.Warn("kafka: " + odd)
	}
	if wrong == "" && len(l.partitions) == 0 {
		log.Info("kafka: no partitions for this member: the group has more members than the topic has partitions", "members", len(g.members))
	}
}

// sorted are a group's members by what they are to this process.
type sorted struct {
	strangers []memberView // programs that are not weir, with partitions of the topic
	idle      []memberView // … without
	rivals    []memberView // members that count into another database, with partitions of the topic
	refused   []memberView // … without
	taken     []int32      // the partitions of strangers and rivals
	assignor  string
}

func (s *Source) sort(g groupView) (out sorted) {
	out.assignor = g.protocol
	for _, m := range g.members {
		_, claim := subscription(m.metadata)
		given, _, err := assignment(m.assignment)
		if err != nil {
			given = nil
		}
		partitions := given[s.config.Topic]
		var as *[]memberView
		switch has := len(partitions) > 0; {
		case claim.Database == "" && isWeir(m.id), claim.Database != "" && (claim.Database == s.config.Database.ID || s.config.Database.ID == ""):
			continue
		case claim.Database == "" && has:
			as = &out.strangers
		case claim.Database == "":
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

// wrong is why records are not counted into this process's database, which has
// some partitions, in its members' hands, or none; empty: as far as the group
// goes, all are.
func (f *sorted) wrong(s *Source, mine int) string {
	which := fmt.Sprintf("partitions %s of topic %s", strings.Trim(fmt.Sprint(f.taken), "[]"), s.config.Topic)
	switch {
	case len(f.strangers) > 0:
		return fmt.Sprintf("%s are with a program that is not weir, so weir does not count them: %s, in group %s by assignor %q. Give it a group of its own, or end it",
			which, names(append(f.strangers, f.rivals...)), s.config.Group, f.assignor)
	case len(f.rivals) > 0 && mine > 0:
		return fmt.Sprintf("%s are counted into database %s, and the rest into %s: %s. The group's leader does not know of databases: restart it with this version of weir, or give one of the two deployments another kafka.group",
			which, f.rival(), s.config.Database, names(f.rivals))
	case len(f.rivals) > 0:
		return s.refusal(f.rival())
	}
	return ""
}

func (f *sorted) rival() Database {
	_, claim := subscription(f.rivals[0].metadata)
	return claim.database()
}

// odd is what is in the group for nothing.
func (f *sorted) odd(s *Source) string {
	if len(f.idle) == 0 {
		return ""
	}
	return fmt.Sprintf("a program that is not weir is in group %s, and has no partitions of topic %s: %s", s.config.Group, s.config.Topic, names(f.idle))
}

// Time between two looks at the group: at first short against a restart of this
// process. What is waited for is said once it takes longer than it should.
const (
	lookFirst  = 50 * time.Millisecond
	lookLast   = 500 * time.Millisecond
	waitUnsaid = time.Second
)
