package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// This file reads rows back, for live answers. Many goroutines may do so at once.

// rows calls f with each row of the range, with the store locked.
func (s *Sink) rows(ctx context.Context, r *window.Range, f func(key Key, row *Row)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for key, row := range s.contents().Rows {
		if key.Window >= r.From && key.Window < r.Until && r.Match(key.texts()) {
			f(key, row)
		}
	}
	return nil
}

// texts are Groups as bytes.
func (k Key) texts() (texts [][]byte) {
	for _, g := range k.Groups() {
		texts = append(texts, []byte(g))
	}
	return texts
}

// Total returns the number of events counted in the range.
func (s *Sink) Total(ctx context.Context, r *window.Range) (total uint64, err error) {
	err = s.rows(ctx, r, func(_ Key, row *Row) { total += row.Sum() })
	return total, err
}

// Totals yields the number of events of each window in the range that has any, in
// no order.
func (s *Sink) Totals(ctx context.Context, r *window.Range, yield func(start event.Time, total uint64)) error {
	totals := map[event.Time]uint64{}
	if err := s.rows(ctx, r, func(key Key, row *Row) { totals[key.Window] += row.Sum() }); err != nil {
		return err
	}
	for start, total := range totals {
		yield(start, total)
	}
	return nil
}

// Rows merges the range's rows into a table: their hits by slot for window.Counts, or
// the states of measure m.
func (s *Sink) Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error {
	var failed error
	err := s.rows(ctx, r, func(key Key, row *Row) {
		hits, states := map[uint64]uint64{}, make([][]byte, len(s.spec.Measures))
		if m == window.Counts {
			for slot, n := range row.Hits {
				hits[uint64(slot)] = n
			}
		} else {
			states[m] = row.States[s.spec.Measures[m].Name].Bytes
		}
		if err := into.Load(key.Window, key.texts(), hits, states); err != nil {
			failed = err
		}
	})
	return cmp.Or(err, failed)
}

// State returns measure m merged over the range; nil if there is no row.
func (s *Sink) State(ctx context.Context, r *window.Range, m int) (state []byte, err error) {
	states, err := s.states(ctx, r, m, func(Key) event.Time { return 0 })
	return states[0], err
}

// States yields measure m merged by window, for the windows in the range that have
// rows, in no order.
func (s *Sink) States(ctx context.Context, r *window.Range, m int, yield func(start event.Time, state []byte) error) error {
	states, err := s.states(ctx, r, m, func(key Key) event.Time { return key.Window })
	if err != nil {
		return err
	}
	for start, state := range states {
		if err := yield(start, state); err != nil {
			return err
		}
	}
	return nil
}

// states merges the states of measure m by what key returns of their rows.
func (s *Sink) states(ctx context.Context, r *window.Range, m int, key func(Key) event.Time) (map[event.Time][]byte, error) {
	if m < 0 || m >= len(s.spec.Measures) || s.spec.Measures[m].Kind.ByMember || s.spec.Measures[m].Kind.Additive {
		return nil, fmt.Errorf("memory: job %s: measure %d has no state that merges over rows", s.spec.Job, m)
	}
	of := &s.spec.Measures[m]
	merged := map[event.Time][]byte{}
	err := s.rows(ctx, r, func(k Key, row *Row) {
		all := [][]byte{}
		if state, ok := merged[key(k)]; ok {
			all = append(all, state)
		}
		if state, ok := row.States[of.Name]; ok {
			all = append(all, state.Bytes)
		}
		merged[key(k)] = append([]byte{}, must(of.Merge(all...))...)
	})
	return merged, err
}

// Places merges the last position of each member over the range's windows, of
// measure m, into last: under window 0.
func (s *Sink) Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for place, at := range s.contents().Places[s.spec.Measures[m].Name] {
		if place.Window >= r.From && place.Window < r.Until {
			last.Put(0, []byte(place.Member), at.Stamp, at.Score)
		}
	}
	return nil
}

// Windows yields the starts of the windows in the range that have rows, and their
// groups, oldest first, up to limit rows.
func (s *Sink) Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error {
	var keys []Key
	if err := s.rows(ctx, r, func(key Key, _ *Row) { keys = append(keys, key) }); err != nil {
		return err
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.Group, b.Group)) })
	for _, key := range keys[:min(limit, len(keys))] {
		if !yield(key.Window, key.Groups()) {
			break
		}
	}
	return nil
}
