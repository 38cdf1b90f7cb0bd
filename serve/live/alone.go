package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/event"
	"weir/window"
)

// While the sink does not answer, an answer is made from memory and from the kept
// windows, and is marked (Value.Partial). It lacks what this process flushed of
// windows that are not kept, and what other processes flushed since the last look.
//
// That works for three kinds of windows: those that are kept, those that have not
// ended, and those of which this process has flushed nothing, because memory has
// all that it counted of them. Of any other window memory has at most a few late
// events, a number that would mislead: a question about it gets an error.

// patience is how long to wait for the sink's progress, and for its rows if memory
// can answer without them.
const patience = 5 * time.Second

// errPatience ends the waiting.
var errPatience = errors.New("the sink does not answer")

// tryEvery is how long after a failure the sink is asked again.
const tryEvery = time.Second

// away is the state of a sink that may not answer.
type away struct {
	err    error     // why; nil: it can be asked
	again  time.Time // when to try
	trying bool      // one question does

	partial string    // why partial answers are
	until   time.Time // until when partial answers may be served
}

// stillAway returns the error of a sink that was away a moment ago. It returns nil
// if it is time to try again: the caller then asks the sink and calls tried.
func (w *Windows) stillAway(s *source) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.away.err != nil && (s.away.trying || time.Now().Before(s.away.again)) {
		return s.away.err
	}
	s.away.trying = s.away.err != nil
	return nil
}

// tried records whether the sink answered. A cancelled query says nothing about
// that.
func (w *Windows) tried(ctx context.Context, s *source, err error) {
	says := err == nil || ctx.Err() == nil || errors.Is(context.Cause(ctx), errPatience)
	w.mu.Lock()
	s.away.trying = false
	if says {
		s.away.err, s.away.again = err, time.Now().Add(tryEvery)
	}
	w.mu.Unlock()
	switch {
	case err == nil:
		s.reads.Worked()
	case says:
		s.reads.Failed(err)
		s.reads.Gone() // the outage may end without a further question
	}
}

// partial says why answers are or may be partial now; "" if they are whole.
func (w *Windows) partial(ctx context.Context, s *source) (string, error) {
	_, _, err := w.look(ctx, s)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return why(err), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(s.away.until) {
		return s.away.partial, nil
	}
	return "", nil
}

func why(err error) string { return fmt.Sprintf("only what this process knows by itself: %v", err) }

// alone returns the answer without the sink, whose error is cause.
func (w *Windows) alone(s *source, r *window.Range, m int, mem snapshot, cause error) (a answer, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := s.within(r, m, w.now()); err != nil {
		return a, fmt.Errorf("%w: %w", err, cause)
	}
	switch {
	case m < 0:
		a.value.Hits = s.hitsAlone(r, mem)
		a.found = a.value.Hits > 0
	case s.byMember(m):
		a = located(w.members(s, s.of(m, r.Group, r.Until), r, m, mem).Set())
	default:
		v := begin(&s.spec.Measures[m])
		found := mergePieces(v, s.kept(r, seriesKey(m, r.Group)))
		found = mem.merge(v, r, m) || found
		a = answerOf(v, found)
	}
	a.value.Partial = why(cause)
	s.away.partial, s.away.until = a.value.Partial, time.Now().Add(ageDear)
	w.stored.Partial++
	return a, nil
}

// canAlone reports whether alone would give an answer.
func (w *Windows) canAlone(s *source, r *window.Range, m int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.within(r, m, w.now()) == nil
}

// within returns an error that names a window of the range that cannot be answered
// without the sink, if there is one. The caller holds the lock.
func (s *source) within(r *window.Range, m int, now event.Time) error {
	size := s.spec.Window
	// Those that are not in memory by themselves. One that has ended while the sink
	// was waited for was open when it was asked for.
	from, until := s.ceil(r.From), min(r.Until, s.sent+size, s.floor(now-event.Time(2*patience/time.Millisecond)))
	var series []*series
	switch {
	case s.byMember(m):
		series = append(series, s.placesUpTo(m, s.ceil(r.Until)))
	case m < 0:
		series = append(series, s.series[seriesKey(totalHits, r.Group)], s.series[seriesKey(slotHits, r.Group)])
	default:
		series = append(series, s.series[seriesKey(m, r.Group)])
	}
next:
	for t := from; t < until; t += size {
		for _, of := range series {
			if of != nil && of.pieces[t].known() {
				continue next
			}
		}
		return fmt.Errorf("the window of %s is not in memory and ClickHouse cannot be asked for it; ask for now, or again when it answers",
			time.UnixMilli(int64(t)).UTC().Format("20060102T150405Z"))
	}
	return nil
}

// known reports whether a piece is kept: not nil, not gone and not being read.
func (p *piece) known() bool { return p != nil && p.age != nil }

// kept are the pieces of a series that are known in a range, in no order.
func (s *source) kept(r *window.Range, key string) (pieces []*piece) {
	if of := s.series[key]; of != nil {
		for start, p := range of.pieces {
			if start >= r.From && start < r.Until && p.known() {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

// hitsAlone sums counts without the sink. Those of a window that is kept as one
// number cannot be merged with memory's: the greater of the two is surely there.
func (s *source) hitsAlone(r *window.Range, mem snapshot) (n uint64) {
	total := map[event.Time]uint64{}
	for _, start := range mem.held(r) {
		total[start] = (&piece{start: start}).lacks(mem, r)
	}
	for _, p := range s.kept(r, seriesKey(totalHits, r.Group)) {
		total[p.start] = max(total[p.start], p.total)
	}
	for _, p := range s.kept(r, seriesKey(slotHits, r.Group)) {
		total[p.start] = p.total + p.lacks(mem, r)
	}
	for _, t := range total {
		n += t
	}
	return n
}
