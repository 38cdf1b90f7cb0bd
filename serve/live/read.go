package live

import (
	"context"
	"fmt"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// entries returns the entries of the windows in [from, until) for the groups of r.
// Those that are not in the cache are read from the sink.
func (s *source) entries(ctx context.Context, took *work, r *window.Range, m int, from, until event.Time) ([]*entry, error) {
	from = s.cache.ceil(from)
	for {
		all, missing := s.cache.find(m, r.Group, from, until, s.now())
		for len(missing) > 0 { // runs of neighbours, each with one query
			n := 1
			for n < len(missing) && missing[n].start == missing[n-1].start+s.spec.Window {
				n++
			}
			_ = took.wait(func() error { s.read(ctx, missing[:n]); return nil }) // each entry has the error
			missing = missing[n:]
		}
		again := false
		for _, e := range all {
			err := took.wait(func() error {
				select {
				case <-e.ready:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if err != nil {
				return nil, err
			}
			switch {
			case e.err == nil:
			case e.away && ctx.Err() == nil:
				again = true // the question that read it ran out of time; this one may have some left
			default:
				return nil, e.err
			}
		}
		if !again {
			return all, nil
		}
	}
}

// read reads neighbours of one series from the sink into the cache.
func (s *source) read(ctx context.Context, es []*entry) {
	c, of := s.cache.all, es[0].of
	r := &window.Range{From: es[0].start, Until: es[len(es)-1].start + s.spec.Window, Group: of.group}
	var err error
	switch {
	case of.m == totalHits:
		err = s.sink.Totals(ctx, r, func(start event.Time, n uint64) {
			_ = c.merge(es, start, func(e *entry) error { e.total += n; return nil })
		})
	case of.m == slotHits:
		var id []byte
		var group [][]byte
		err = s.readRows(ctx, es, r, window.Counts, func(e *entry, row window.Row) {
			group = row.Group(group[:0])
			id = groupID(id[:0], group)
			e.mergeSlots(id, row)
		})
	case of.holdsSketches() && s.spec.Measures[of.m].Kind.Additive():
		err = s.readRows(ctx, es, r, of.m, func(e *entry, row window.Row) { e.value.mergeRow(row, of.m) })
	case of.positions != nil:
		last := new(geo.Last)
		if err = s.sink.Places(ctx, r, of.m, last); err == nil {
			c.mergePositions(of, last)
		}
	default:
		err = s.sink.States(ctx, r, of.m, func(start event.Time, state []byte) error {
			return c.merge(es, start, func(e *entry) error { return e.value.mergeState(state) })
		})
		if err != nil {
			err = fmt.Errorf("measure %s: %w", s.spec.Measures[of.m].Name, err)
		}
	}
	c.read(es, err, ctx.Err() != nil)
}

// readRows reads the rows of neighbours, and lets f merge each into the entry of its
// window.
func (s *source) readRows(ctx context.Context, es []*entry, r *window.Range, m int, f func(e *entry, row window.Row)) error {
	t := window.NewTable(s.spec)
	err := s.sink.Rows(ctx, r, m, t)
	if err != nil {
		return err
	}
	t.Seal()
	for row := range t.Rows {
		_ = s.cache.all.merge(es, row.Window(), func(e *entry) error { f(e, row); return nil })
	}
	return nil
}
