package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/event"
)

// A Generation is the time during which this process owns the same
// partitions. It lasts from Next to Release; what it may do after Done is
// finish: flush, Commit, Release, within Config.Session less two seconds.
type Generation struct {
	source     *Source
	member     *kafka.Generation // nil when assigned without a group
	partitions []event.Assignment
	topicID    [16]byte

	ended     chan struct{}
	released  chan struct{}
	unfollow  func()      // no more interest in the caller's context
	abandoned func() bool // the caller's context has ended: the member should leave the group

	mu     sync.Mutex
	err    error // why it ended; nil until then
	handed bool  // released is closed
}

// An offer is a generation nobody has taken yet, or why there is none.
type offer struct {
	generation *Generation
	err        error
}

// Next waits until this member of the group owns partitions, joining it
// first if need be, and returns them. The previous Generation must have been
// released. Trouble that may pass (a cluster or a topic that is not there
// yet, an election, a lost connection) is waited out and logged once; an
// error is ctx's, ErrClosed, or one that somebody must mend: it says what.
//
// ctx bounds the waiting and then the Generation: when ctx ends, Done closes,
// and after Release the member leaves the group.
func (s *Source) Next(ctx context.Context) (*Generation, error) {
	if s.config.Group == "" {
		return nil, ErrNoGroup
	}
	s.member.Do(func() { s.task(s.membership) })
	for {
		select {
		case s.asked <- struct{}{}:
			continue
		case o := <-s.offers:
			if o.err != nil {
				return nil, o.err
			}
			if err := o.generation.take(ctx); err != nil {
				o.generation.Release()
				if errors.Is(err, ErrEnded) {
					continue // rebalanced while we asked for its offsets
				}
				return nil, err
			}
			return o.generation, nil
		case <-ctx.Done():
			return nil, s.interrupted(ctx, "waiting for partitions")
		case <-s.ctx.Done():
			return nil, ErrClosed
		}
	}
}

// Partitions are what is owned, by number, as found when the Generation began.
func (g *Generation) Partitions() []event.Assignment { return slices.Clone(g.partitions) }

// Done is closed when the Generation ends: the group rebalances or has
// evicted us, Next's context ended, the topic was recreated, or the Source
// was closed.
func (g *Generation) Done() <-chan struct{} { return g.ended }

// Err is why Done is closed: ErrEnded for a rebalance or an eviction (the
// group does not tell which), an ErrRecreated, ErrClosed, or the context's
// error. It is nil before.
func (g *Generation) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Commit tells the group where reading will go on: the next offset by
// partition. It is advisory, for lag tools and for whoever gets the partition
// next; possible from Next until Release, except after an eviction.
func (g *Generation) Commit(ctx context.Context, next map[int32]int64) error {
	if g.member == nil {
		return ErrNoGroup
	}
	select {
	case <-g.released:
		return ErrEnded
	default:
	}
	offsets := make(map[int]int64, len(next))
	for p, offset := range next {
		if !g.owns(p) {
			return fmt.Errorf("ingest: commit of partition %d, which is not ours", p)
		}
		offsets[int(p)] = offset
	}
	// kafka-go gives up after its own time-out and knows no context.
	done := make(chan error, 1)
	if !g.source.task(func() {
		done <- g.member.CommitOffsets(map[string]map[int]int64{g.source.config.Topic: offsets})
	}) {
		return ErrClosed
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("ingest: commit: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ingest: commit: %w", context.Cause(ctx))
	}
}

// Release hands the partitions back; the group waits for it. Fetch must have
// returned. Releasing twice does nothing.
func (g *Generation) Release() {
	g.end(ErrEnded)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.handed {
		g.handed = true
		close(g.released)
		g.unfollow()
	}
}

func (g *Generation) owns(partition int32) bool {
	return slices.ContainsFunc(g.partitions, func(a event.Assignment) bool { return a.Partition == partition })
}

func (s *Source) newGeneration(member *kafka.Generation) *Generation {
	return &Generation{
		source:    s,
		member:    member,
		ended:     make(chan struct{}),
		released:  make(chan struct{}),
		unfollow:  func() {},
		abandoned: func() bool { return false },
	}
}

// end closes Done, once, with the first reason given.
func (g *Generation) end(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = why
		close(g.ended)
	}
}

// follow ends the Generation with its caller's context, or the Source.
func (g *Generation) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { g.end(context.Cause(ctx)) })
	stopClosed := context.AfterFunc(g.source.ctx, func() { g.end(ErrClosed) })
	g.unfollow = func() { stop(); stopClosed() }
	g.abandoned = func() bool { return ctx.Err() != nil }
}

// take completes a generation for the caller of Next.
func (g *Generation) take(ctx context.Context) error {
	g.follow(ctx)
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-g.ended:
			cancel(g.Err())
		case <-alive.Done():
		}
	}()
	return g.source.insist(alive, "asking where the logs start and end", func(ctx context.Context) error {
		t, err := g.source.metadata(ctx)
		if err != nil {
			return err
		}
		return g.locate(ctx, t)
	})
}

// locate fills in what the cluster knows of the owned partitions.
func (g *Generation) locate(ctx context.Context, t *topic) error {
	var ids []int32
	for _, a := range g.partitions {
		ids = append(ids, a.Partition)
	}
	starts, err := g.source.offsets(ctx, t, ids, earliest, readUncommitted)
	if err != nil {
		return err
	}
	ends, err := g.source.offsets(ctx, t, ids, latest, readUncommitted)
	if err != nil {
		return err
	}
	for i := range g.partitions {
		a := &g.partitions[i]
		a.LogStart, a.LogEnd, a.TopicID = starts[a.Partition], ends[a.Partition], t.id
	}
	g.topicID = t.id
	return nil
}

// hold runs inside kafka-go's generation, which lasts until it returns.
func (g *Generation) hold(ctx context.Context) {
	select {
	case <-ctx.Done():
		g.end(ErrEnded)
	case <-g.released:
	case <-g.source.ctx.Done():
	}
	select {
	case <-g.released:
	case <-g.source.ctx.Done(): // Close waits for nobody
		g.end(ErrClosed)
	}
}

// membership keeps this process in the group as long as somebody wants
// partitions: out of the group until asked, then in it until the Source
// closes, the topic goes away, or a caller's context ends.
func (s *Source) membership() {
	for {
		select {
		case <-s.asked:
		case <-s.ctx.Done():
			return
		}
		for again := true; again; {
			// kafka-go would join and rejoin without a pause for a topic that is not there.
			err := s.insist(s.ctx, "looking for the topic", func(ctx context.Context) error {
				_, err := s.metadata(ctx)
				return err
			})
			if err != nil {
				s.offer(offer{err: err})
				break
			}
			if s.config.Gone != nil {
				s.buried.Do(func() { s.task(s.bury) })
			}
			again = s.join()
		}
	}
}

// join is a member of the group until it has reason to leave. It reports
// whether to join again at once.
func (s *Source) join() (again bool) {
	group, err := kafka.NewConsumerGroup(s.groupConfig())
	if err != nil {
		s.offer(offer{err: s.config.explain(err)})
		return false
	}
	defer group.Close()
	const subject = "being a member of the group"
	defer s.notices.gone(subject)
	was := "" // the member id of the last generation, until it is given up
	for {
		member, err := group.Next(s.ctx) // always be here: what is not taken stalls the other members
		switch {
		case err == nil:
		case s.ctx.Err() != nil:
			return false
		case judge(err) == retry:
			s.notices.trouble(subject, err)
			if was != "" && !errors.Is(err, kafka.RebalanceInProgress) {
				id := was
				was = ""
				s.task(func() { s.disown(id) })
			}
			continue
		default:
			if !s.offer(offer{err: s.config.explain(err)}) {
				return false
			}
			continue
		}
		s.notices.fine(subject)
		was = member.MemberID
		g := s.newGeneration(member)
		for _, a := range member.Assignments[s.config.Topic] {
			g.partitions = append(g.partitions, event.Assignment{Partition: int32(a.ID), Committed: max(a.Offset, -1)})
		}
		if len(g.partitions) == 0 {
			if s.sawNone.Swap(false) || s.missing() {
				return true
			}
			s.notices.log.Info("kafka: no partitions for this member: the group has more members than the topic has partitions")
			continue
		}
		slices.SortFunc(g.partitions, func(a, b event.Assignment) int { return int(a.Partition) - int(b.Partition) })
		s.notices.log.Info("kafka: partitions assigned", "generation", member.ID, "partitions", len(g.partitions))
		member.Start(g.hold)
		select {
		case s.offers <- offer{generation: g}:
		case <-g.ended: // rebalanced before anybody took it
			g.Release()
			continue
		case <-s.ctx.Done():
			return false
		}
		select {
		case <-g.released:
		case <-s.ctx.Done():
			return false
		}
		if g.abandoned() {
			return false
		}
	}
}

// offer hands o to a caller of Next, now or later, unless the Source closes.
func (s *Source) offer(o offer) bool {
	select {
	case s.offers <- o:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// missing tells whether the topic is certainly not there.
func (s *Source) missing() bool {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	_, err := s.metadata(ctx)
	return errors.Is(err, errNoTopic)
}

// A balancer notes whether the group's leader, which is this member when it is
// asked, found partitions to share at all. A topic may be made between the
// leader's look and the beginning of kafka-go's watch for changes: to the
// watch it has always been there, and nobody would ever get its partitions.
type balancer struct {
	kafka.GroupBalancer
	none *atomic.Bool
}

// AssignGroups implements kafka.GroupBalancer.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	b.none.Store(len(partitions) == 0)
	return b.GroupBalancer.AssignGroups(members, partitions)
}

func (s *Source) groupConfig() kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		// Those that kafka-go has by itself.
		GroupBalancers: []kafka.GroupBalancer{balancer{kafka.RangeGroupBalancer{}, &s.sawNone}, balancer{kafka.RoundRobinGroupBalancer{}, &s.sawNone}},
		ID:             s.config.Group,
		Brokers:        s.config.Brokers,
		Topics:         []string{s.config.Topic},
		Dialer: &kafka.Dialer{
			ClientID:      s.config.ClientID,
			Timeout:       dialTimeout,
			DialFunc:      s.board.dial,
			TLS:           s.config.TLS,
			SASLMechanism: s.mechanism,
		},
		SessionTimeout:         s.config.Session,
		RebalanceTimeout:       s.config.Rebalance,
		HeartbeatInterval:      s.config.Heartbeat,
		WatchPartitionChanges:  true,
		PartitionWatchInterval: s.config.Watch,
		JoinGroupBackoff:       joinBackoff,
		StartOffset:            kafka.FirstOffset,
		// A coordinator that does not answer for half a session is as good as gone.
		Timeout: min(5*time.Second, max(s.config.Session/2, 100*time.Millisecond)),
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) {
			s.notices.log.Debug("kafka: " + fmt.Sprintf(format, args...))
		}),
	}
}
