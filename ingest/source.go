package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"weir/event"
)

// A Source reads one topic. Its methods may be called from any goroutine, but
// there is one Generation at a time.
type Source struct {
	config    Config
	conns     *connections
	notices   notices
	unpackers sync.Pool

	ctx    context.Context // ends with Close; bounds what the Source does on its own
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	closed bool           // no more tasks
	tasks  sync.WaitGroup // goroutines of the Source itself

	member sync.Once     // starts the membership, at the first Next
	asked  chan struct{} // a caller of Next waits while the member is not in the group
	offers chan offer    // generations, or errors, from the membership

	// The clients whose members attend has removed. Only attend uses it.
	removed map[string]bool

	trouble atomic.Pointer[string] // see Trouble
}

// Open checks the configuration. It does not connect yet: Next waits for a
// cluster that is down.
func Open(c Config) (*Source, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	mechanism, err := c.SASL.mechanism()
	if err != nil {
		return nil, fmt.Errorf("ingest: SASL: %w", err)
	}
	s := &Source{
		config:  c,
		conns:   newConnections(&c, mechanism),
		notices: notices{log: c.Log.With("topic", c.Topic), config: &c},
		asked:   make(chan struct{}),
		offers:  make(chan offer),
		removed: make(map[string]bool),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.unpackers.New = func() any { return newUnpacker(BatchLimit, c.Envelopes) }
	return s, nil
}

// Close ends the current Generation, leaves the group so that others need not
// wait for a session to expire, and closes every connection. It takes a few
// milliseconds, and at most 2 s if the cluster does not answer. The next owner
// of the partitions reads from the committed offsets again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(ErrClosed)
	left := make(chan struct{})
	go func() { s.tasks.Wait(); close(left) }()
	select {
	case <-left:
	case <-time.After(leaveTimeout):
	}
	s.conns.closeAll()
	<-left
	return nil
}

// task runs f in a goroutine that Close waits for; false after Close.
func (s *Source) task(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.tasks.Go(f)
	}
	return !s.closed
}

// Spans returns the offsets that a read_committed reader of each partition can read
// now, from the log's start to the last stable offset, and the logs' ends for
// other readers. Temporary errors are retried until ctx ends. Partitions without a leader
// are missing, and beside what the others have there is a *MissingError then.
func (s *Source) Spans(ctx context.Context) (map[int32]event.Span, error) {
	t, logs, err := s.logs(ctx, "asking where the logs start and end", (*topic).all, logStart, logStable, logEnd)
	if err != nil && !Lacks(err) {
		return nil, err
	}
	spans := make(map[int32]event.Span, len(logs))
	for p, at := range logs {
		spans[p] = event.Span{First: at[0], Next: at[1], End: at[2], TopicID: t.id}
	}
	return spans, err
}

// Newer returns how many offsets each partition has from the first record of a time or later on. Of missing
// partitions it says what Spans does.
func (s *Source) Newer(ctx context.Context, than time.Time) (map[int32]int64, error) {
	_, logs, err := s.logs(ctx, "asking for the records of a time", (*topic).all, edge{at: than.UnixMilli()}, logEnd)
	newer := make(map[int32]int64, len(logs))
	for p, at := range logs {
		if at[0] >= 0 { // -1: there is none
			newer[p] = at[1] - at[0]
		}
	}
	return newer, err
}

// Assign returns all partitions of the topic, without a group, for tools. The
// Generation ends with ctx or Close; it does not notice added partitions, nor the leaders of
// Missing ones, and Commit is refused.
func (s *Source) Assign(ctx context.Context) (*Generation, error) {
	g := s.newGeneration(nil)
	if err := g.locate(ctx, "asking for the topic's partitions", (*topic).all); err != nil {
		return nil, err
	}
	g.follow(ctx)
	return g, nil
}

func (t *topic) all() []int32 {
	all := make([]int32, len(t.partitions))
	for i, l := range t.partitions {
		all[i] = l.partition
	}
	return all
}

// repeat calls f until it succeeds, until its error is fatal, or until ctx or
// the Source ends. It adds remedies to errors. A settled MissingError is returned at once.
func (s *Source) repeat(ctx context.Context, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	pause := pauses()
	for {
		err := f(ctx)
		if err == nil {
			s.notices.worked(what)
			return nil
		}
		if ctx.Err() != nil {
			return s.interrupted(ctx, what)
		}
		if s.judge(err) != retry {
			s.notices.gone(what)
			return s.config.explain(err)
		}
		s.notices.failed(what, err)
		if lacks := (*MissingError)(nil); errors.As(err, &lacks) && lacks.settled {
			return err
		}
		if !sleep(ctx, jitter(pause.Next())) {
			return s.interrupted(ctx, what)
		}
	}
}

// interrupted returns the error of work that a context ended: why the context ended,
// and the failure that was retried until then.
func (s *Source) interrupted(ctx context.Context, what string) error {
	last := s.notices.latest()
	s.notices.gone(what)
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrClosed) || errors.Is(cause, ErrEnded) {
		return cause
	}
	if last != "" {
		return fmt.Errorf("ingest: %s: %w; until then: %s", what, cause, last)
	}
	return fmt.Errorf("ingest: %s: %w", what, cause)
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
