package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A snapshot is what the process had in memory of one measure, all windows
// and groups of it. Copying it out stops each worker for a moment, so all
// questions about the measure share one.
type snapshot struct {
	table *window.Table
	rows  []memoryRow // by (window, group)
}

type memoryRow struct {
	window.Row
	start event.Time
	group [][]byte
}

// memory is the snapshot of a measure, or of the counts alone (below zero).
func (w *Windows) memory(ctx context.Context, s *source, m int) (*snapshot, error) {
	only := []int{max(m, window.Counts)}
	return w.snapshots.get(ctx, s.spec.Job+" "+strconv.Itoa(only[0]), snapshotAge, func(took *work) (*snapshot, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		t, err := s.job.Live(ctx, &window.Range{From: window.Oldest, Until: window.Newest, Group: make([][]byte, len(s.spec.By)), Only: only})
		if err != nil {
			return nil, fmt.Errorf("reading the memory of job %s: %w", s.spec.Job, err)
		}
		took.bytes = int64(t.Bytes())
		return newSnapshot(t), nil
	})
}

func newSnapshot(t *window.Table) *snapshot {
	s := &snapshot{table: t}
	for row := range t.Rows {
		s.rows = append(s.rows, memoryRow{row, row.Window(), row.Group(nil)})
	}
	return s
}

// within are the rows of a range of windows.
func (s *snapshot) within(from, until event.Time) []memoryRow {
	at := func(t event.Time) int {
		i, _ := slices.BinarySearchFunc(s.rows, t, func(r memoryRow, t event.Time) int {
			if r.start < t {
				return -1
			}
			return 1
		})
		return i
	}
	first, last := at(from), at(until)
	return s.rows[first:max(first, last)]
}

// match yields the rows of the range and its groups.
func (s *snapshot) match(r *window.Range, yield func(memoryRow)) {
	for _, row := range s.within(r.From, r.Until) {
		if r.Match(row.group) {
			yield(row)
		}
	}
}

// windows are the starts of the windows in the range that match in any row.
func (s *snapshot) windows(r *window.Range) (starts []event.Time) {
	s.match(r, func(row memoryRow) {
		if n := len(starts); n == 0 || starts[n-1] != row.start {
			starts = append(starts, row.start)
		}
	})
	return starts
}

// join joins the range's rows of a sketch, measure m, into a value, and reports
// whether there were any.
func (s *snapshot) join(v *joining, r *window.Range, m int) (found bool) {
	s.match(r, func(row memoryRow) {
		found = true
		v.joinRow(row.Row, m)
	})
	return found
}

// sum adds up the counts of a sealed table.
func sum(t *window.Table) (total uint64) {
	for row := range t.Rows {
		for _, n := range row.Hits {
			total += n
		}
	}
	return total
}

// joinPlaces joins the range's positions, measure m: the last of each member,
// under window 0.
func (s *snapshot) joinPlaces(last *geo.Last, r *window.Range, m int) {
	last.Gather(0, s.table.Places(m), func(start int64) bool { return event.Time(start) >= r.From && event.Time(start) < r.Until })
}
