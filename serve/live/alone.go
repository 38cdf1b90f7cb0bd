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

// While the sink does not answer, an answer is made from memory, and is marked
// (Answer.Partial). It lacks what this process flushed of its windows, and what other
// processes counted.
//
// Memory can answer for a window that has not ended, and for a window of which this process has
// flushed nothing: it has all that the process counted. Of any other window, memory has at most
// a few late events. Their number would mislead, so a question about such a window gets an error.

const (
	// sinkTimeout is how long to wait for a look at the sink, and for its rows if memory can
	// answer without them.
	sinkTimeout = 5 * time.Second

	// tryEvery is how long after a failure the sink is asked again.
	tryEvery = time.Second

	// saidFor is how long the measure partial has the reason of the last partial answer.
	saidFor = 5 * time.Second
)

// errSinkTimeout ends the waiting.
var errSinkTimeout = errors.New("the sink does not answer")

// ask asks the sink, if it answers.
func (s *source) ask(ctx context.Context, r *window.Range, f func(ctx context.Context) error) error {
	if _, err := s.look(ctx); err != nil {
		return err
	}
	if s.elsewhere(r) != nil {
		return f(ctx)
	}
	asking, cancel := context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
	defer cancel()
	return f(asking)
}

// look asks the sink for nothing, to know whether it answers, and says as of when. A sink that
// does not answer soon counts as away. While it is away, only one question at a time tries it
// again, now and then.
func (s *source) look(ctx context.Context) (since time.Time, err error) {
	if err := s.state.away(); err != nil {
		return since, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
	defer cancel()
	_, since, err = s.looks.get(ctx, "", func(*work) (uint64, error) {
		return s.sink.Total(ctx, &window.Range{Group: make([][]byte, len(s.spec.By))})
	})
	s.state.tried(ctx, err)
	return since, err
}

// alone returns why memory alone answers: the sink's error, in words. It is an error if memory
// has no answer.
func (s *source) alone(r *window.Range, cause error) (because string, err error) {
	if err := s.elsewhere(r); err != nil {
		return "", fmt.Errorf("%w: %w", err, cause)
	}
	return s.state.answeredAlone(cause), nil
}

// elsewhere returns an error that names a window of the range that cannot be answered from
// memory alone, if there is one.
func (s *source) elsewhere(r *window.Range) error {
	size := s.spec.Window
	// A window that ended while a question waited for the sink was open when the question
	// was asked.
	open := s.now() - event.Time(2*sinkTimeout/time.Millisecond)
	from := r.From
	if off := from % size; off > 0 {
		from += size - off
	}
	if from >= min(r.Until, s.state.lastFlushed()+size, open-open%size) {
		return nil
	}
	return fmt.Errorf("the window of %s is not in memory and ClickHouse cannot be asked for it; ask for now, or again when it answers",
		time.UnixMilli(int64(from)).UTC().Format("20060102T150405Z"))
}

// A sinkState says whether the sink answers, and what it has of this process.
type sinkState struct {
	reads *outage.Source // what the log calls the questions to the sink

	mu      sync.Mutex // guards what follows
	flushed event.Time // the latest window that the sink may have rows of
	err     error      // why the sink does not answer; nil: it does
	again   time.Time  // when to ask again
	trying  bool       // a question asks again now

	partial uint64    // answers that were made without it
	reason  string    // why they are partial
	until   time.Time // until when to say so
}

// onFlush takes note of the windows that this process has flushed.
func (a *sinkState) onFlush(changes *window.Changes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range changes.Tables() {
		for row := range t.Rows {
			a.flushed = max(a.flushed, row.Window())
		}
	}
}

func (a *sinkState) lastFlushed() event.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.flushed
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

// answeredAlone records that an answer is made without the sink. Its client may ask why
// when the sink is back.
func (a *sinkState) answeredAlone(cause error) (because string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial++
	a.reason, a.until = aloneBecause(cause), time.Now().Add(saidFor)
	return a.reason
}

// why returns why answers of the last seconds may be partial; "" if none is.
func (a *sinkState) why() string {
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
	since, err := s.look(ctx)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	if err != nil {
		a.Partial = aloneBecause(err)
	} else {
		a.AsOf, a.Partial = since, s.state.why()
	}
	if a.Partial != "" {
		a.Value = Reason(a.Partial)
	}
	return a, nil
}

func aloneBecause(err error) string {
	return fmt.Sprintf("only what this process knows by itself: %v", err)
}
