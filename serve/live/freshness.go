package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

// A cached window is right until a process writes to it. What this process writes
// is merged into the cache (jobCache.flushed). What other processes write shows in
// the ledger, at which a question looks first, at most once a second: if another
// process has moved it, the windows that were written meanwhile are dropped.

const (
	// lookAge is how long the result of a look at the ledger is used.
	lookAge = time.Second

	// unwatched is the time since the last look after which all windows are dropped,
	// instead of asking which of them were written since.
	unwatched = 10 * time.Minute

	// sinkTimeout is how long to wait for the sink's progress, and for its rows if
	// memory can answer without them.
	sinkTimeout = 5 * time.Second

	// tryEvery is how long after a failure the sink is asked again.
	tryEvery = time.Second
)

// errSinkTimeout ends the waiting.
var errSinkTimeout = errors.New("the sink does not answer")

// look checks whether other processes have flushed, and drops the windows that
// they have changed. A sink that does not answer soon counts as away. While it
// is away, only one question at a time tries it again, now and then.
func (s *source) look(ctx context.Context) (none struct{}, from origin, err error) {
	if err := s.state.away(); err != nil {
		return none, from, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
	defer cancel()
	none, from, err = s.looks.get(ctx, "", func(*work) (struct{}, error) { return none, s.lookNow(ctx) })
	s.state.tried(ctx, err)
	return none, from, err
}

func (s *source) lookNow(ctx context.Context) error {
	next, round, err := s.sink.Progress(ctx)
	if err != nil {
		return err
	}
	moved, lost, since := s.cache.moved(next, round)
	var touched []event.Time
	if moved && !lost {
		if touched, err = s.sink.Touched(ctx, since); err != nil {
			return err
		}
	}
	s.cache.looked(next, round, touched, moved, lost)
	return nil
}

// progress is how far all processes had flushed at the last look.
type progress struct {
	next  map[window.Origin]int64   // by all processes, at the last look
	round uint64                    // current when the cache was last compared with the sink's rows
	when  time.Time                 // of the last look; zero: never
	own   map[window.Origin]offsets // by this process, up to its last flush
}

// offsets are those in [first, next).
type offsets struct{ first, next int64 }

// moved reports whether other processes have flushed since the last look, according
// to the ledger; since is the round for Sink.Touched. If lost is true, the last look
// is too long ago: anything may have been written.
func (j *jobCache) moved(next map[window.Origin]int64, round uint64) (moved, lost bool, since uint64) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	for o, n := range next {
		own, known := j.seen.own[o], j.seen.next[o]
		moved = moved || n > known && (n > own.next || own.first > known)
	}
	// A round may be less than one before if weir_rollups was truncated.
	return moved, time.Since(j.seen.when) > unwatched, min(j.seen.round, round)
}

// looked ends a look: it drops the windows that other processes have written, or all
// if lost.
func (j *jobCache) looked(next map[window.Origin]int64, round uint64, touched []event.Time, moved, lost bool) {
	c := j.all
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range j.series {
		if lost {
			for _, e := range of.entries {
				c.drop(e)
			}
			continue
		}
		for _, start := range touched {
			if e := of.entries[start]; e != nil {
				c.drop(e)
				c.stats.Stale++
			}
		}
	}
	j.seen.next, j.seen.when = next, time.Now()
	if moved || lost { // otherwise nothing was compared with the rows of this round
		j.seen.round = round
	}
}

// flushed records which offsets this process has flushed.
func (p *progress) flushed(lines []window.Line) {
	for i := range lines {
		l := &lines[i]
		o := window.Origin{Partition: l.Partition, Epoch: l.Epoch}
		// A line begins where this process began. If that is beyond what it had
		// flushed, another process flushed what is between.
		own, ok := p.own[o]
		if !ok || l.First > own.next || l.Next < own.first {
			own = offsets{l.First, l.Next}
		}
		p.own[o] = offsets{min(own.first, l.First), max(own.next, l.Next)}
	}
}

// A sinkState says whether the sink answers.
type sinkState struct {
	reads *outage.Source // what the log calls the questions to the sink

	mu     sync.Mutex // guards what follows
	err    error      // why the sink does not answer; nil: it does
	again  time.Time  // when to ask again
	trying bool       // a question asks again now

	reason string    // why partial answers are partial
	until  time.Time // until when they may be served
}

// away returns the error of a sink that did not answer a moment ago. It returns nil
// if it is time to ask again: the caller then asks the sink and calls tried.
func (a *sinkState) away() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil && (a.trying || time.Now().Before(a.again)) {
		return a.err
	}
	a.trying = a.err != nil
	return nil
}

// tried records whether the sink answered. A cancelled query says nothing about
// that.
func (a *sinkState) tried(ctx context.Context, err error) {
	says := err == nil || ctx.Err() == nil || errors.Is(context.Cause(ctx), errSinkTimeout)
	a.mu.Lock()
	a.trying = false
	if says {
		a.err, a.again = err, time.Now().Add(tryEvery)
	}
	a.mu.Unlock()
	switch {
	case err == nil:
		a.reads.Worked()
	case says:
		a.reads.Failed(err)
		a.reads.Gone() // the outage may end without a further question
	}
}

// answeredAlone records that an answer was made without the sink: it may be served for
// a while, also when the sink is back.
func (a *sinkState) answeredAlone(reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reason, a.until = reason, time.Now().Add(ageDear)
}

// partial returns why answers that are served now may be partial; "" if none is.
func (a *sinkState) partial() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Now().Before(a.until) {
		return a.reason
	}
	return ""
}

// reason answers the measure partial: why answers are or may be partial now.
func (s *source) reason(ctx context.Context) (Answer, error) {
	a := Answer{AsOf: time.Now()}
	_, from, err := s.look(ctx)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	if err != nil {
		a.Partial = aloneBecause(err)
	} else {
		a.AsOf, a.Partial = from.since, s.state.partial()
	}
	if a.Partial != "" {
		a.Value = Reason(a.Partial)
	}
	return a, nil
}

func aloneBecause(err error) string {
	return fmt.Sprintf("only what this process knows by itself: %v", err)
}
