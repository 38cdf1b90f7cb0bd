package live

import (
	"context"
	"fmt"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A series is the answers of the steps of a range, oldest first, and of the whole.
type series struct {
	steps []Answer
	whole Answer
}

// values are what a measure comes to while memory and sink are merged: over a range, and
// over each step of it.
type values struct {
	m          int
	whole      *window.Value
	from, step event.Time // of steps; step 0: there are none
	steps      []*window.Value
	places     *geo.Last // of a measure by member, in place of the values
}

func newValues(spec *window.Spec, r *window.Range, m int, step event.Time) *values {
	v := &values{m: m, whole: window.NewValue(spec, m), from: r.From, step: step, places: new(geo.Last)}
	if step > 0 {
		for range (r.Until - r.From + step - 1) / step {
			v.steps = append(v.steps, window.NewValue(spec, m))
		}
	}
	return v
}

// each calls f for the values that a window belongs to.
func (v *values) each(start event.Time, f func(*window.Value) error) error {
	err := f(v.whole)
	if err == nil && v.step > 0 {
		err = f(v.steps[(start-v.from)/v.step])
	}
	return err
}

func (v *values) add(row window.Row) {
	_ = v.each(row.Window(), func(to *window.Value) error { to.Add(row); return nil })
}

// answers returns what the values have come to.
func (v *values) answers(about Answer) (all series) {
	answer := func(value any) Answer {
		a := about
		a.Value = value
		return a
	}
	for _, one := range v.steps {
		all.steps = append(all.steps, answer(measured(one)))
	}
	if all.whole = answer(measured(v.whole)); v.places.Len() > 0 {
		all.whole.Value = v.places.Set(0)
	}
	return all
}

// measured returns the Answer.Value that a value has come to.
func measured(v *window.Value) any {
	switch m := v.Measure(); {
	case !v.Found() || m == window.Counts && v.Events() == 0:
		return nil
	case m == window.Counts:
		return Count(v.Events())
	default:
		return kindOf(&v.Row().Spec().Measures[m]).Value(v.Row(), m)
	}
}

// read answers a question from memory and sink, or from memory if the sink cannot be
// asked; with a step, for each step of the range as well.
func (s *source) read(ctx context.Context, took *work, r *window.Range, m int, step event.Time) (all series, err error) {
	// Memory first, the sink then: what is flushed in between is in both.
	mem, err := s.memory(ctx, took, m)
	if err != nil {
		return all, err
	}
	v := newValues(s.spec, r, m, step)
	err = s.ask(ctx, r, func(ctx context.Context) error { return s.merge(ctx, s.sink, r, v, mem) })
	about := Answer{}
	if err != nil && ctx.Err() == nil {
		took.once = true // the sink may be back soon
		if about.Partial, err = s.alone(r, err); err == nil {
			v = newValues(s.spec, r, m, step)
			err = s.merge(ctx, nothing{}, r, v, mem)
		}
	}
	if err != nil {
		return all, err
	}
	about.AsOf = took.since
	return v.answers(about), nil
}

// merge merges the range's rows of memory and sink.
func (s *source) merge(ctx context.Context, sink Sink, r *window.Range, v *values, mem snapshot) error {
	switch {
	case v.m == window.Counts:
		// Both sides are merged slot by slot from the first window in memory on;
		// what lies before is summed by the sink.
		before, recent := *r, *r
		before.Until = mem.first(r)
		recent.From = before.Until
		if err := totals(ctx, sink, &before, v); err != nil || recent.From >= recent.Until {
			return err
		}
		return rows(ctx, sink, &recent, v, mem.copy(s.spec, &recent, v.m))
	case s.byMember(v.m):
		for _, t := range mem { // the last position of each member, under window 0
			v.places.Gather(t.Positions(v.m), func(start int64) (int64, bool) { return 0, r.Has(event.Time(start)) })
		}
		return sink.Places(ctx, r, v.m, v.places)
	case s.spec.Measures[v.m].Kind.Additive:
		return rows(ctx, sink, r, v, mem.copy(s.spec, r, v.m))
	}
	for _, t := range mem {
		for row := range t.Selected(r) {
			v.add(row)
		}
	}
	err := states(ctx, sink, r, v)
	if err != nil {
		err = fmt.Errorf("measure %s: %w", s.spec.Measures[v.m].Name, err)
	}
	return err
}

// totals adds the sink's number of events.
func totals(ctx context.Context, sink Sink, r *window.Range, v *values) error {
	switch {
	case r.From >= r.Until:
		return nil
	case v.step > 0:
		return sink.Totals(ctx, r, func(start event.Time, n uint64) {
			_ = v.each(start, func(to *window.Value) error { to.AddEvents(n); return nil })
		})
	}
	n, err := sink.Total(ctx, r)
	v.whole.AddEvents(n)
	return err
}

// rows merges the sink's rows with those in memory, slot by slot, and adds them up.
func rows(ctx context.Context, sink Sink, r *window.Range, v *values, mem *window.Table) error {
	if err := sink.Rows(ctx, r, v.m, mem); err != nil {
		return err
	}
	mem.Seal()
	for row := range mem.Rows {
		v.add(row)
	}
	return nil
}

// states merges the sink's states.
func states(ctx context.Context, sink Sink, r *window.Range, v *values) error {
	if v.step > 0 {
		return sink.States(ctx, r, v.m, func(start event.Time, state []byte) error {
			return v.each(start, func(to *window.Value) error { return to.Load(state) })
		})
	}
	state, err := sink.State(ctx, r, v.m)
	if err != nil || state == nil {
		return err
	}
	return v.whole.Load(state)
}
