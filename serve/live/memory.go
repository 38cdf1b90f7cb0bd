package live

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"weir/event"
	"weir/window"
)

// A snapshot is what the process had in memory of one measure, all windows
// and groups of it. Copying it out stops each worker for a moment, so all
// questions about the measure share one. It has a table for each worker, because
// merging the tables costs more than asking each.
type snapshot []*window.Table

// memory returns the snapshot of a measure, or of window.Counts, for a value that is made from it.
func (s *source) memory(ctx context.Context, of *work, m int) (snapshot, error) {
	mem, since, err := s.snapshots.get(ctx, strconv.Itoa(m), func(took *work) (snapshot, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		tables, err := s.job.Live(ctx, &window.Range{From: window.Oldest, Until: window.Newest, Group: make([][]byte, len(s.spec.By)), Only: []int{m}})
		if err != nil {
			return nil, fmt.Errorf("reading the memory of job %s: %w", s.spec.Job, err)
		}
		for _, t := range tables {
			took.bytes += int64(t.Bytes())
		}
		return tables, nil
	})
	of.from(since)
	return mem, err
}

// first returns the start of the first window in the range that has a matching row; the end
// of the range if there is none.
func (s snapshot) first(r *window.Range) event.Time {
	first := r.Until
	for _, t := range s {
		for row := range t.Selected(r) {
			first = min(first, row.Window())
			break
		}
	}
	return first
}

// copy merges the range's rows of measure m, or window.Counts, into a table.
func (s snapshot) copy(spec *window.Spec, r *window.Range, m int) *window.Table {
	into := window.NewTable(spec)
	only := *r
	only.Only = []int{m}
	for _, t := range s {
		t.Copy(into, &only)
	}
	return into
}
