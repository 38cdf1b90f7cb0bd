package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/event"
	"weir/internal/backoff"
	"weir/jobs"
)

// A Generation is the time during which this process owns the same partitions.
// It lasts from Next to Release. After Done the process may only finish: flush,
// Commit and Release, within Config.Session less two seconds.
type Generation struct {
	source     *Source
	lease      *lease // nil when assigned without a group
	owned      []int32
	partitions []event.Assignment // of those that are not missing
	missing    *MissingError      // nil: none
	topicID    [16]byte
	wakes      atomic.Bool // it ended for a partition that was missing

	ended     chan struct{}
	released  chan struct{}
	unfollow  func()      // stops watching the caller's context
	abandoned func() bool // the caller's context has ended: the member should leave the group

	mu     sync.Mutex
	err    error // why the generation ended; nil until then
	handed bool  // released is closed
}

// An offer is a generation for the next caller of Next, or the error why there
// is none.
type offer struct {
	generation *Generation
	err        error
}

// Next joins the group if this member is not in it (with Config.Member there is
// no group), waits until the member owns
// partitions, and returns them. The previous Generation must have been
// released. Next retries after temporary failures (a cluster or a topic that is
// not there yet, an election, a lost connection) and logs them once. Its error
// is ctx's, ErrClosed, or one that a person must remedy and whose text says
// how. The jobs.Generation is a *Generation.
//
// ctx bounds the wait and then the Generation: when ctx ends, Done closes, and
// after Release the member leaves the group.
func (s *Source) Next(ctx context.Context) (jobs.Generation, error) {
	if s.config.Group == "" {
		return nil, ErrNoGroup
	}
	if s.config.Member.Fixed() {
		return s.assigned(ctx)
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
					continue // the group rebalanced while the offsets were looked up
				}
				return nil, err
			}
			if o.generation.missing != nil {
				s.task(o.generation.await)
			}
			return o.generation, nil
		case <-ctx.Done():
			return nil, s.interrupted(ctx, "waiting for partitions")
		case <-s.ctx.Done():
			return nil, ErrClosed
		}
	}
}

// Partitions returns the owned partitions by number, with their logs as they were
// when the Generation began.
func (g *Generation) Partitions() []event.Assignment { return slices.Clone(g.partitions) }

// Missing is a *MissingError about partitions of this member without a leader, which the
// Generation does not have; nil: there are none. Once one of them has a leader, the Generation
// ends. Next then returns one that has it, without a rebalance of the group.
func (g *Generation) Missing() error {
	if g.missing == nil {
		return nil
	}
	return g.missing
}

// Done is closed when the Generation ends: the group rebalances or has removed
// this member, a missing partition has a leader again, Next's context ended, the topic was
// recreated, or the Source was closed.
func (g *Generation) Done() <-chan struct{} { return g.ended }

// Err is why Done is closed: ErrEnded for a rebalance or an eviction (the
// group does not tell which), an ErrRecreated, ErrClosed, or the context's
// error. It is nil before.
func (g *Generation) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Commit commits the next offset of each partition to the group. It is
// advisory, for tools that show the lag and for the partition's next owner. It
// is possible from Next until Release, except after the group has removed this
// member. With Config.Member it does nothing.
func (g *Generation) Commit(ctx context.Context, next map[int32]int64) error {
	switch {
	case g.lease == nil && g.source.config.Member.Fixed():
		return nil
	case g.lease == nil:
		return ErrNoGroup
	}
	select {
	case <-g.released:
		return ErrEnded
	case <-g.source.ctx.Done():
		return ErrClosed
	default:
	}
	for p := range next {
		if !g.owns(p) {
			return fmt.Errorf("ingest: commit of partition %d, which this member does not have", p)
		}
	}
	if len(next) == 0 {
		return nil
	}
	if err := g.lease.commit(ctx, g.lease.generation, g.lease.id, next); err != nil {
		return fmt.Errorf("ingest: commit: %w", err)
	}
	maps.Copy(g.lease.partitions, next) // for a Generation of the same lease
	return nil
}

// Release gives the partitions back; the group waits for it. Fetch must have
// returned. A second call does nothing.
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

func (s *Source) newGeneration(l *lease) *Generation {
	return &Generation{
		source:    s,
		lease:     l,
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

// alive returns a context that ends with ctx, and with the Generation.
func (g *Generation) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-g.ended:
			cancel(g.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// take completes a generation for the caller of Next.
func (g *Generation) take(ctx context.Context) error {
	g.follow(ctx)
	ctx, stop := g.alive(ctx)
	defer stop()
	return g.locate(ctx, ownLogs, func(*topic) []int32 { return slices.Collect(maps.Keys(g.lease.partitions)) })
}

const ownLogs = "asking where the logs of this member's partitions start and end"

// locate fills in the wanted partitions, with the bounds of their logs, and those that are
// missing.
func (g *Generation) locate(ctx context.Context, what string, wanted func(*topic) []int32) error {
	t, logs, err := g.source.logs(ctx, what, func(t *topic) []int32 {
		g.owned = wanted(t)
		return slices.Clone(g.owned)
	}, logStart, logEnd)
	if err != nil && !errors.As(err, &g.missing) {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(logs)) {
		a := event.Assignment{Partition: p, Committed: -1, LogStart: logs[p][0], LogEnd: logs[p][1], TopicID: t.id}
		if g.lease != nil {
			a.Committed = g.lease.partitions[p]
		}
		g.partitions = append(g.partitions, a)
	}
	g.topicID = t.id
	return nil
}

// await ends a Generation when a partition that it misses has a leader again, but not
// sooner than after Config.Watch: a leader may come and go.
func (g *Generation) await() {
	ctx, stop := g.alive(g.source.ctx)
	defer stop()
	sleep(ctx, g.source.config.Watch)
	_, _, err := g.source.logs(ctx, ownLogs, func(*topic) []int32 { return g.missing.Missing() }, logStart, logEnd)
	if err == nil || Lacks(err) {
		g.wakes.Store(true)
		g.end(ErrEnded)
	}
}

// membership keeps this process in the group while a caller wants partitions:
// it joins when Next is called, and stays until the Source closes, the topic is
// deleted, or the caller's context ends.
func (s *Source) membership() {
	for {
		select {
		case <-s.asked:
		case <-s.ctx.Done():
			return
		}
		for again := true; again; {
			// Without the topic, members would only delay each other.
			err := s.repeat(s.ctx, "looking for the topic", func(ctx context.Context) error {
				_, err := s.metadata(ctx)
				return err
			})
			if err != nil {
				s.offer(offer{err: err})
				break
			}
			again = s.join()
		}
	}
}

// join joins the group and stays in it until there is a reason to leave. It
// reports whether to join again at once.
func (s *Source) join() (again bool) {
	m := &member{source: s}
	defer m.leave()
	const subject = "being a member of the group"
	defer s.notices.gone(subject)
	pause, brief := pauses(), backoff.Backoff[time.Duration]{First: backoffFirst, Most: 4 * backoffFirst}
	for {
		l, err := s.enter(m)
		switch {
		case s.ctx.Err() != nil:
			return false
		case err == nil:
			pause.Reset()
			brief.Reset()
			s.notices.worked(subject)
		case errors.Is(err, kafka.RebalanceInProgress), errors.Is(err, kafka.UnknownMemberId), errors.Is(err, kafka.IllegalGeneration):
			// This is normal: the group rebalanced without this member.
			sleep(s.ctx, jitter(brief.Next()))
			continue
		case s.judge(err) == retry:
			s.notices.failed(subject, err)
			sleep(s.ctx, jitter(pause.Next()))
			continue
		default:
			if !s.offer(offer{err: s.config.explain(err)}) {
				return false
			}
			continue
		}
		if len(l.partitions) == 0 && (l.topic == 0 || s.missing()) {
			return true
		}
		if !s.hold(l) {
			return false
		}
	}
}

// enter joins the group's next generation, and runs attend until then.
func (s *Source) enter(m *member) (*lease, error) {
	ctx, entered := context.WithCancel(s.ctx)
	var looking sync.WaitGroup
	looking.Go(func() { s.attend(ctx) })
	l, err := m.join(s.ctx)
	entered()
	looking.Wait()
	return l, err
}

// hold runs one generation: it sends heartbeats until the generation ends,
// gives the partitions to a caller of Next, and waits until they are released.
// It reports whether this process is to stay in the group.
func (s *Source) hold(l *lease) bool {
	ctx, stop := context.WithCancel(s.ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	mine := len(l.partitions)
	tasks.Go(func() { s.survey(ctx, l, mine) })
	if mine == 0 {
		l.keep(ctx)
		return s.ctx.Err() == nil
	}
	s.notices.log.Info("kafka: partitions assigned", "generation", l.generation, "partitions", mine)
	over := make(chan struct{})
	tasks.Go(func() { defer close(over); l.keep(ctx) })
	for {
		g := s.newGeneration(l)
		tasks.Go(func() {
			select {
			case <-over:
			case <-g.released:
			}
			if s.ctx.Err() != nil {
				g.end(ErrClosed)
			}
			g.end(ErrEnded)
		})
		select {
		case s.offers <- offer{generation: g}:
		case <-g.ended: // rebalanced before it was taken
			g.Release()
			return s.ctx.Err() == nil
		case <-s.ctx.Done():
			return false
		}
		select {
		case <-g.released:
		case <-s.ctx.Done(): // Close waits for no caller
			return false
		}
		if g.abandoned() || !g.wakes.Load() {
			return !g.abandoned()
		}
	}
}

// offer gives o to a caller of Next, now or later, unless the Source closes.
func (s *Source) offer(o offer) bool {
	select {
	case s.offers <- o:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// missing reports whether the topic certainly does not exist.
func (s *Source) missing() bool {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	_, err := s.metadata(ctx)
	return errors.Is(err, errNoTopic)
}
