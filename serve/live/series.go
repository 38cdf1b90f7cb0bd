package live

import (
	"context"
	"fmt"
	"time"

	"weir/event"
	"weir/serve/key"
)

// SeriesMost is how many windows a question may have that is answered step by step.
const SeriesMost = 2880

// Ask answers a question, with the errors of Lookup.
func (w *Windows) Ask(ctx context.Context, q Query) (Answer, error) {
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
func (w *Windows) Series(ctx context.Context, q Query, step time.Duration) (points []Point, whole Answer, err error) {
	p, err := w.ask(q)
	if err != nil {
		return nil, whole, err
	}
	s := p.source
	size := milliseconds(s.spec.Window)
	switch {
	case s.byMember(p.measure) || p.measure == partial:
		return nil, whole, fmt.Errorf("%w: %s has no numbers, and so no series", key.ErrQuestion, q.Measure)
	case step < size || step%size != 0:
		return nil, whole, fmt.Errorf("%w: the step %s is no multiple of the window of job %s, %s", key.ErrQuestion, step, q.Job, size)
	case q.Until.Sub(q.From) > SeriesMost*size:
		return nil, whole, fmt.Errorf("%w: the range has more than %d windows of %s", key.ErrQuestion, SeriesMost, size)
	}
	all, _, err := s.series.get(ctx, step.String()+" "+p.id, func(took *work) (series, error) {
		all, err := s.read(ctx, took, p.over, p.measure, event.Time(step/time.Millisecond))
		for _, a := range all.steps {
			took.bytes += a.bytes()
		}
		return all, err
	})
	for i, a := range all.steps {
		points = append(points, Point{q.From.Add(time.Duration(i) * step), a})
	}
	return points, all.whole, err
}
