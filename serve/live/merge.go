package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// windowsMost is how many windows a range may have to be answered window by window,
// through the cache; longer ranges the sink merges.
const windowsMost = 2880

// answer makes an answer, from the sink as well if that can be asked.
func (s *source) answer(ctx context.Context, took *work, r *window.Range, m int) (Answer, error) {
	for turn := 1; ; turn++ {
		// Memory first, the sink then: what is flushed in between is in both.
		mem, err := ingredient(took, func() (snapshot, origin, error) { return s.memory(ctx, m) })
		if err != nil {
			return Answer{}, err
		}
		a, err := s.mergedOrAlone(ctx, took, r, m, mem)
		if err != nil || turn == 2 || !s.byWindow(r) || !time.Now().After(took.origin().end()) {
			return a, err
		}
		// Reading the sink took so long that the snapshot is too old. What was read is in
		// the cache, which takes note of flushes, so the second turn is a quick one.
		*took = *newWork()
	}
}

// byWindow reports whether a range is answered window by window.
func (s *source) byWindow(r *window.Range) bool {
	return s.cache.enabled() && (r.Until-r.From)/s.spec.Window <= windowsMost
}

// mergedOrAlone returns the answer of memory and sink, or of memory if the sink
// cannot be asked.
func (s *source) mergedOrAlone(ctx context.Context, took *work, r *window.Range, m int, mem snapshot) (Answer, error) {
	asking := ctx
	if s.canAlone(r, m) {
		var cancel func()
		asking, cancel = context.WithTimeoutCause(ctx, sinkTimeout, errSinkTimeout)
		defer cancel()
	}
	a, err := s.merged(asking, took, r, m, mem)
	if err != nil && asking.Err() != nil && !s.canAlone(r, m) { // a window has ended or been written meanwhile
		a, err = s.merged(ctx, took, r, m, mem)
	}
	if err == nil || ctx.Err() != nil {
		return a, err
	}
	return s.alone(r, m, mem, err)
}

// merged returns the answer of memory and sink.
func (s *source) merged(ctx context.Context, took *work, r *window.Range, m int, mem snapshot) (a Answer, err error) {
	if _, err := ingredient(took, func() (struct{}, origin, error) { return s.look(ctx) }); err != nil {
		return a, err
	}
	if !s.byWindow(r) {
		return s.whole(ctx, r, m, mem)
	}
	switch {
	case m < 0:
		n, err := s.hits(ctx, took, r, mem)
		return counted(n), err
	case s.byMember(m):
		return s.positions(ctx, took, r, m, mem)
	}
	entries, err := s.entries(ctx, took, r, m, r.From, r.Until)
	if err != nil {
		return a, err
	}
	v := begin(s.spec, m)
	found := s.cache.mergeInto(v, entries)
	found = mem.merge(v, r, m) || found
	return measured(v, found), nil
}

// measured returns the answer that a value has come to.
func measured(v merging, found bool) Answer {
	v.settle()
	if !found {
		return Answer{}
	}
	return Answer{Value: v.measured()}
}

// hits sums counts. Windows of which memory has rows, or had some lately, are merged
// with the sink's slot by slot. Of the other windows the sink's totals suffice, if
// the range is of many groups.
func (s *source) hits(ctx context.Context, took *work, r *window.Range, mem snapshot) (n uint64, err error) {
	if oneGroup(r.Group) {
		return s.bySlot(ctx, took, r, mem, r.From, r.Until)
	}
	held := s.cache.appendWritten(mem.held(r), r)
	slices.Sort(held)
	held = slices.Compact(held)
	for from := r.From; from < r.Until; { // the windows before held[0], then that one and its neighbours
		until := r.Until
		if len(held) > 0 {
			until = held[0]
		}
		entries, err := s.entries(ctx, took, r, totalHits, from, until)
		if err != nil {
			return 0, err
		}
		n += s.cache.total(entries)
		if len(held) == 0 {
			break
		}
		run := 1 // neighbours are read together
		for run < len(held) && held[run] == held[run-1]+s.spec.Window {
			run++
		}
		from = held[run-1] + s.spec.Window
		slots, err := s.bySlot(ctx, took, r, mem, held[0], from)
		if err != nil {
			return 0, err
		}
		n += slots
		held = held[run:]
	}
	return n, nil
}

// bySlot merges the counts of the windows in [from, until) with those in memory.
func (s *source) bySlot(ctx context.Context, took *work, r *window.Range, mem snapshot, from, until event.Time) (uint64, error) {
	entries, err := s.entries(ctx, took, r, slotHits, from, until)
	if err != nil {
		return 0, err
	}
	return s.cache.totalWith(entries, mem, r), nil
}

// whole answers without looking at windows one by one: for ranges of too many.
func (s *source) whole(ctx context.Context, r *window.Range, m int, mem snapshot) (Answer, error) {
	if m < 0 {
		// Both sides are merged slot by slot from the first window in memory on;
		// what lies before is summed by the sink.
		before, recent := *r, *r
		if held := mem.held(r); len(held) > 0 {
			before.Until, recent.From = held[0], held[0]
		} else {
			recent.From = r.Until
		}
		total, err := s.sink.Total(ctx, &before)
		if err == nil && recent.From < r.Until {
			t := window.NewTable(s.spec)
			recent.Only = []int{window.Counts}
			mem[0].table.Copy(t, &recent)
			err = s.sink.Rows(ctx, &recent, window.Counts, t)
			t.Seal()
			total += sum(t)
		}
		return counted(total), err
	}
	if s.byMember(m) {
		last := new(geo.Last)
		if err := s.sink.Places(ctx, r, m, last); err != nil {
			return Answer{}, err
		}
		mem.mergePositions(last, r, m)
		return located(last.Set(0)), nil
	}
	v := begin(s.spec, m)
	if s.spec.Measures[m].Kind.Additive() {
		t := window.NewTable(s.spec)
		if err := s.sink.Rows(ctx, r, m, t); err != nil {
			return Answer{}, err
		}
		t.Seal()
		found := t.Len() > 0
		for row := range t.Rows {
			v.mergeRow(row, m)
		}
		return measured(v, mem.merge(v, r, m) || found), nil
	}
	state, err := s.sink.State(ctx, r, m)
	if err != nil {
		return Answer{}, err
	}
	found := state != nil
	if found {
		if err := v.mergeState(state); err != nil {
			return Answer{}, fmt.Errorf("measure %s: %w", s.spec.Measures[m].Name, err)
		}
	}
	if mem.merge(v, r, m) {
		found = true
	}
	return measured(v, found), nil
}
