package live

import (
	"context"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A Sink reads back what processes have written; sinks/clickhouse has one, and
// sinks/memory has the plain one. sinks/sinktest holds both to this contract. Its
// methods may be called by many goroutines at once.
//
// A read holds at least the rows of every write that was acknowledged before the
// read began. A range selects rows by window and group; its Only is not used.
type Sink interface {
	// Total returns the number of events counted in the range.
	Total(ctx context.Context, r *window.Range) (uint64, error)
	// Totals yields the number of events of each window of the range that has any, in
	// no order.
	Totals(ctx context.Context, r *window.Range, yield func(start event.Time, total uint64)) error
	// Rows merges the range's rows into a table: their hits by slot for window.Counts, or
	// the states of measure m.
	Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error
	// State returns measure m merged over the range, nil if there is no row. m is neither
	// by member nor additive.
	State(ctx context.Context, r *window.Range, m int) ([]byte, error)
	// States yields measure m merged by window, for each window of the range that has
	// rows, in no order. The state is valid during the call.
	States(ctx context.Context, r *window.Range, m int, yield func(start event.Time, state []byte) error) error
	// Places merges the last position of each member over the range's windows into
	// last, under window 0. m is a measure by member; groups do not matter.
	Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error
	// Windows yields the window and the group of each row of the range, oldest window
	// first, until there are limit rows or yield returns false.
	Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error
}

// nothing is a sink without rows.
type nothing struct{ Sink }

func (nothing) Total(context.Context, *window.Range) (uint64, error) { return 0, nil }

func (nothing) Totals(context.Context, *window.Range, func(event.Time, uint64)) error { return nil }

func (nothing) Rows(context.Context, *window.Range, int, *window.Table) error { return nil }

func (nothing) State(context.Context, *window.Range, int) ([]byte, error) { return nil, nil }

func (nothing) States(context.Context, *window.Range, int, func(event.Time, []byte) error) error {
	return nil
}

func (nothing) Places(context.Context, *window.Range, int, *geo.Last) error { return nil }
