package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/segmentio/kafka-go/protocol/syncgroup"
)

// A member is this process in its group. It belongs to the goroutine of
// [Source.membership].
//
// Two deployments that count into different databases must not share a group:
// each would count half of the records, and see no error. So each member names
// its database in its metadata, and the group's leader gives the partitions to
// the members of one database: see divide.
type member struct {
	source *Source
	id     string // its id at the coordinator; empty: none yet
	held   int32  // the last generation in which it had partitions
}

// A claim is a member's description of itself when it joins, in the field of
// its metadata that is for the assignor. It is JSON, so that people can read it
// in tools that show the group.
type claim struct {
	Database string `json:"weir_database"` // its id
	Name     string `json:"name"`
	Held     int32  `json:"held"` // the last generation in which the member had partitions; 0: none yet
}

func (c claim) database() Database { return Database{c.Database, c.Name} }

// metadata returns the member's subscription in the form that every Kafka consumer
// can read (ConsumerProtocolSubscription, version 0: topics and the assignor's
// data).
func (m *member) metadata() []byte {
	config := &m.source.config
	var w writer
	w.int16(0) // version
	w.array(1)
	w.text(config.Topic)
	data, _ := json.Marshal(claim{config.Database.ID, config.Database.Name, m.held}) // text and a number
	w.bytes(data)
	return w.b
}

// subscription reads the metadata of a member. One that is not weir has no claim. If the
// metadata does not parse, the member has no topics.
func subscription(metadata []byte) (topics []string, c *claim) {
	r := reader{b: metadata}
	r.int16() // version: later ones only append
	for n := r.array(2); n > 0; n-- {
		topics = append(topics, r.text())
	}
	data := r.bytes()
	if r.bad {
		return nil, nil
	}
	if json.Unmarshal(data, &c) != nil {
		c = nil
	}
	return topics, c
}

// newAssignment writes an assignment (ConsumerProtocolAssignment, version 0).
func newAssignment(topics map[string][]int32, data []byte) []byte {
	var w writer
	w.int16(0) // version
	w.array(len(topics))
	for _, t := range slices.Sorted(maps.Keys(topics)) {
		w.text(t)
		w.array(len(topics[t]))
		for _, p := range topics[t] {
			w.int32(p)
		}
	}
	w.bytes(data)
	return w.b
}

// assignment reads an assignment. An empty one has no topics and no data.
func assignment(b []byte) (topics map[string][]int32, data []byte, err error) {
	if len(b) == 0 {
		return nil, nil, nil
	}
	r := reader{b: b}
	r.int16() // version
	topics = make(map[string][]int32)
	for n := r.array(6); n > 0; n-- {
		t := r.text()
		for n := r.array(4); n > 0; n-- {
			topics[t] = append(topics[t], r.int32())
		}
	}
	data = r.bytes()
	return topics, data, r.done("an assignment of partitions")
}

// A lease is the assignment of this member in one generation of the group.
type lease struct {
	coordinator
	id         string // the member's
	generation int32
	partitions map[int32]int64 // with what the group has committed of each; -1: nothing
	topic      int             // partitions that the topic had when this member, as the leader, divided them; -1: another member leads
	refused    Database        // the database that the leader gave the partitions to instead; zero: this member was not refused
}

// join gets the member into the group's next generation.
func (m *member) join(ctx context.Context) (*lease, error) {
	s := m.source
	c, err := s.coordinator(ctx)
	if err != nil {
		return nil, err
	}
	joined, err := c.join(ctx, m.id, m.metadata())
	if errors.Is(err, kafka.MemberIDRequired) {
		m.id = joined.MemberID
		joined, err = c.join(ctx, m.id, m.metadata())
	}
	if err != nil {
		m.forget(err)
		return nil, err
	}
	m.id = joined.MemberID
	if joined.LeaderID == "" {
		// A group of the new protocol (KIP-848) has no leader: the broker divides the
		// partitions, among members of any kind and database.
		return nil, kafka.InconsistentGroupProtocol
	}
	var assignments []syncgroup.RequestAssignment
	seen := -1
	if joined.LeaderID == m.id {
		if assignments, seen, err = m.divide(ctx, c, joined.Members); err != nil {
			return nil, err
		}
	}
	mine, err := c.sync(ctx, joined.GenerationID, m.id, assignments)
	if err != nil {
		m.forget(err)
		return nil, err
	}
	topics, data, err := assignment(mine)
	if err != nil {
		return nil, err
	}
	l := &lease{coordinator: c, id: m.id, generation: joined.GenerationID, topic: seen}
	if partitions := topics[s.config.Topic]; len(partitions) > 0 {
		at, err := c.commits(ctx, partitions)
		if err != nil {
			return nil, err
		}
		l.partitions = make(map[int32]int64, len(partitions))
		for _, p := range partitions {
			l.partitions[p] = -1
			if c, ok := at[p]; ok {
				l.partitions[p] = c.CommittedOffset
			}
		}
		m.held = joined.GenerationID
		return l, nil
	}
	var owner claim
	if json.Unmarshal(data, &owner) == nil && owner.Database != "" && owner.Database != s.config.Database.ID {
		l.refused = owner.database()
	}
	return l, nil
}

// forget drops the member's id if the coordinator no longer knows it. After any
// other error it keeps the id: a coordinator that restarts reads the group from
// its log, and would wait a whole session for a member that joined again with
// another id.
func (m *member) forget(err error) {
	if errors.Is(err, kafka.UnknownMemberId) {
		m.id = ""
	}
}

// leave removes the member from the group, so that the others need not wait.
func (m *member) leave() {
	if m.id == "" {
		return
	}
	// The Source may be closing, so this does not use its context, and has little
	// time.
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if c, err := m.source.coordinator(ctx); err == nil {
		err = c.leave(ctx, m.id)
		if err != nil {
			m.source.notices.log.Debug("kafka: leaving the group", "error", stableText(err))
		}
	}
	m.id = ""
}

// keep sends heartbeats, and watches the number of the topic's partitions,
// until one of them says that the generation is over, or ctx ends.
func (l *lease) keep(ctx context.Context) {
	s := l.source
	// A coordinator that does not answer for half a session counts as lost.
	within := min(5*time.Second, max(s.config.Session/2, 100*time.Millisecond))
	beat, watch := time.NewTicker(s.config.Heartbeat), time.NewTicker(s.config.Watch)
	defer beat.Stop()
	defer watch.Stop()
	partitions := l.topic
	if partitions < 0 {
		partitions = s.partitions(ctx)
	}
	for {
		select {
		case <-beat.C:
			if err := l.heartbeat(ctx, l.generation, l.id, within); err != nil {
				return
			}
		case <-watch.C:
			n := s.partitions(ctx)
			switch {
			case n < 0:
			case partitions < 0:
				partitions = n
			case n != partitions:
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// partitions returns the number of the topic's partitions: 0 if it does not exist,
// -1 if the number is not known.
func (s *Source) partitions(ctx context.Context) int {
	t, err := s.metadata(ctx)
	switch {
	case errors.Is(err, errNoTopic):
		return 0
	case err != nil:
		return -1
	}
	return len(t.partitions)
}

// divide returns the leader's decision. The partitions go to the members of one
// database; other members get none, and learn which database has the group.
// Programs that are not weir get no partitions, because their records would not
// be counted.
//
// seen is how many partitions the topic had. The topic may be created, or grow,
// before the watch of its partitions begins, which would then see no change.
func (m *member) divide(ctx context.Context, c coordinator, members []joingroup.ResponseMember) (assignments []syncgroup.RequestAssignment, seen int, err error) {
	claims := make(map[string]claim)     // by member
	byTopic := make(map[string][]string) // members
	for _, sub := range members {
		topics, c := subscription(sub.Metadata)
		if c == nil {
			continue
		}
		claims[sub.MemberID] = *c
		for _, t := range topics {
			byTopic[t] = append(byTopic[t], sub.MemberID)
		}
	}
	owner, err := m.owner(ctx, c, claims)
	if err != nil {
		return nil, 0, err
	}
	given := make(map[string]map[string][]int32) // by member and topic
	for t, ids := range byTopic {
		ids = slices.DeleteFunc(ids, func(id string) bool { return claims[id].Database != owner.ID })
		described, err := m.source.metadataOf(ctx, anyBroker, t)
		if errors.Is(err, errNoTopic) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		slices.Sort(ids)
		all := described.all()
		if t == m.source.config.Topic {
			seen = len(all)
		}
		for i, id := range ids {
			from, to := i*len(all)/len(ids), (i+1)*len(all)/len(ids)
			if from < to {
				if given[id] == nil {
					given[id] = make(map[string][]int32)
				}
				given[id][t] = all[from:to]
			}
		}
	}
	// Every assignment names the database that has the group. For Kafka this is data of
	// an unknown assignor. So it does not convert the group to the new protocol
	// (KIP-848) when such a consumer tries to join.
	word, _ := json.Marshal(claim{Database: owner.ID, Name: owner.Name}) // two texts
	for _, sub := range members {
		if c, ok := claims[sub.MemberID]; ok && c.Database != owner.ID && c.Database != m.source.config.Database.ID { // a refusal of this process itself is reported elsewhere
			m.source.notices.log.Warn("kafka: a process that counts into another database is in the group, and gets no partitions",
				"group", m.source.config.Group, "member", sub.MemberID, "its_database", c.database().String(), "the_group's", owner.String())
		}
		assignments = append(assignments, syncgroup.RequestAssignment{MemberID: sub.MemberID, Assignment: newAssignment(given[sub.MemberID], word)})
	}
	return assignments, seen, nil
}

// owner returns the database that gets the partitions: the one that had them last,
// as its members say; if no member ever had any, the one that committed the
// group's offsets; then the one with more members, and then the one with the
// lesser id. So every leader decides the same.
func (m *member) owner(ctx context.Context, c coordinator, claims map[string]claim) (Database, error) {
	type standing struct {
		Database
		held             int32
		commits, members int
	}
	all := make(map[string]*standing)
	held := int32(0)
	for _, c := range claims {
		if all[c.Database] == nil {
			all[c.Database] = &standing{Database: c.database()}
		}
		s := all[c.Database]
		s.members++
		s.held = max(s.held, c.Held)
		s.Name = min(s.Name, c.Name)
		held = max(held, c.Held)
	}
	if len(all) == 0 {
		return Database{}, nil
	}
	if len(all) > 1 && held == 0 {
		t, err := m.source.metadata(ctx)
		if err != nil {
			return Database{}, err
		}
		commits, err := c.commits(ctx, t.all())
		if err != nil {
			return Database{}, err
		}
		for _, c := range commits {
			if s := all[c.Metadata]; s != nil {
				s.commits++
			}
		}
	}
	best := slices.MaxFunc(slices.Collect(maps.Values(all)), func(a, b *standing) int {
		return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.commits, b.commits), cmp.Compare(a.members, b.members), cmp.Compare(b.ID, a.ID))
	})
	return best.Database, nil
}

// refusal returns the message for a process whose database did not get the group.
func (s *Source) refusal(owner Database) string {
	return fmt.Sprintf("group %s is taken: its members count into database %s, and this process into %s. "+
		"Each would count a part of the records, so this process gets no partitions while the other members are in the group. "+
		"Give one of the two deployments another kafka.group, or stop one: the other then reads from the position in its own ledger",
		s.config.Group, owner, s.config.Database)
}
