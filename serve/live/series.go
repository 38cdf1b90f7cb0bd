package live

import (
	"context"
	"fmt"
	"time"

	"weir/serve/key"
)

// SeriesMost is how many windows a question may have that is answered step by step.
const SeriesMost = windowsMost

// Ask answers a question, with the errors of Lookup.
func (w *Windows) Ask(ctx context.Context, q Question) (Answer, error) {
	p, err := w.ask(q)
	if err != nil {
		return Answer{}, err
	}
	return p.answer(ctx)
}

// A Point is the answer of one step.
type Point struct {
	From time.Time
	Answer
}

// Series answers a question for each step of its range, oldest first, and as a whole. A
// step is a multiple of the job's window, and the range at most SeriesMost windows.
// Positions have no series.
//
// The whole range comes first: what it reads of the sink is in the cache for the steps.
func (w *Windows) Series(ctx context.Context, q Question, step time.Duration) (points []Point, whole Answer, err error) {
	p, err := w.ask(q)
	if err != nil {
		return nil, whole, err
	}
	size := milliseconds(p.source.spec.Window)
	switch {
	case p.source.byMember(p.measure):
		return nil, whole, fmt.Errorf("%w: %s has positions, and positions have no series", key.ErrQuestion, q.Measure)
	case step < size || step%size != 0:
		return nil, whole, fmt.Errorf("%w: the step %s is no multiple of the window of job %s, %s", key.ErrQuestion, step, q.Job, size)
	case q.Until.Sub(q.From) > SeriesMost*size:
		return nil, whole, fmt.Errorf("%w: the range has more than %d windows of %s", key.ErrQuestion, SeriesMost, size)
	}
	if whole, err = p.answer(ctx); err != nil {
		return nil, whole, err
	}
	for from := q.From; from.Before(q.Until); from = from.Add(step) {
		one := q
		if one.From, one.Until = from, from.Add(step); one.Until.After(q.Until) {
			one.Until = q.Until
		}
		a, err := w.Ask(ctx, one)
		if err != nil {
			return nil, whole, err
		}
		points = append(points, Point{from, a})
	}
	return points, whole, nil
}
