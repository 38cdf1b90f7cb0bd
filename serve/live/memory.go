package live

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A snapshot is what the process had in memory of one measure, all windows
// and groups of it. Copying it out stops each worker for a moment, so all
// questions about the measure share one. It has a part for each worker, because
// merging the parts costs more than asking each. The counts are one part, because
// they can be summed only if they are merged.
type snapshot []part

// A part is a table by windows.
type part struct {
	table   *window.Table
	rows    []memoryRow // by (window, group)
	windows []memoryWindow
}

type memoryRow struct {
	window.Row
	start event.Time
	group [][]byte
}

// A memoryWindow has the rows [from, to).
type memoryWindow struct {
	start    event.Time
	from, to int
}

// memory returns the snapshot of a measure, or of the counts alone (below zero).
func (s *source) memory(ctx context.Context, m int) (snapshot, origin, error) {
	only := []int{max(m, window.Counts)}
	return s.snapshots.get(ctx, strconv.Itoa(only[0]), func(took *work) (snapshot, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		tables, err := s.job.Live(ctx, &window.Range{From: window.Oldest, Until: window.Newest, Group: make([][]byte, len(s.spec.By)), Only: only})
		if err != nil {
			return nil, fmt.Errorf("reading the memory of job %s: %w", s.spec.Job, err)
		}
		if m < 0 && len(tables) > 1 {
			for _, t := range tables[1:] {
				tables[0].Merge(t)
			}
			tables[0].Seal()
			tables = tables[:1]
		}
		var parts snapshot
		for _, t := range tables {
			took.bytes += int64(t.Bytes())
			parts = append(parts, newPart(t))
		}
		return parts, nil
	})
}

func newPart(t *window.Table) part {
	s := part{table: t, rows: make([]memoryRow, 0, t.Len())}
	texts := make([][]byte, 0, t.Len()*len(t.Spec().By))
	for row := range t.Rows {
		n := len(texts)
		texts = row.Group(texts)
		s.rows = append(s.rows, memoryRow{row, row.Window(), texts[n:len(texts):len(texts)]})
	}
	for i, row := range s.rows {
		if i == 0 || row.start != s.rows[i-1].start {
			s.windows = append(s.windows, memoryWindow{row.start, i, i})
		}
		s.windows[len(s.windows)-1].to = i + 1
	}
	return s
}

// within returns those of the range's windows that have rows.
func (s *part) within(r *window.Range) []memoryWindow {
	at := func(t event.Time) int {
		i, _ := slices.BinarySearchFunc(s.windows, t, func(w memoryWindow, t event.Time) int { return cmp.Compare(w.start, t) })
		return i
	}
	first, last := at(r.From), at(r.Until)
	return s.windows[first:max(first, last)]
}

// matching iterates over the rows of the range and its groups.
func (s snapshot) matching(r *window.Range) iter.Seq[memoryRow] {
	return func(yield func(memoryRow) bool) {
		for i := range s {
			for row := range s[i].matching(r) {
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (s *part) matching(r *window.Range) iter.Seq[memoryRow] {
	return func(yield func(memoryRow) bool) {
		one := oneGroup(r.Group) // then the table has an index
		for _, w := range s.within(r) {
			if one {
				if row, ok := s.table.Find(w.start, r.Group); ok && !yield(memoryRow{row, w.start, r.Group}) {
					return
				}
				continue
			}
			for _, row := range s.rows[w.from:w.to] {
				if r.Match(row.group) && !yield(row) {
					return
				}
			}
		}
	}
}

// held returns the starts of the windows in the range that have a matching row, of
// a snapshot of counts.
func (s snapshot) held(r *window.Range) (starts []event.Time) {
	if len(s) == 0 {
		return nil
	}
	for _, w := range s[0].within(r) {
		for range s.matching(&window.Range{From: w.start, Until: w.start + 1, Group: r.Group}) {
			starts = append(starts, w.start)
			break
		}
	}
	return starts
}

// merge merges the range's rows of measure m into a value, and reports
// whether there were any.
func (s snapshot) merge(v merging, r *window.Range, m int) (found bool) {
	for row := range s.matching(r) {
		found = true
		v.mergeRow(row.Row, m)
	}
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

// mergePositions merges the range's positions, measure m: the last of each member,
// under window 0.
func (s snapshot) mergePositions(last *geo.Last, r *window.Range, m int) {
	for i := range s {
		last.Gather(0, s[i].table.Places(m), func(start int64) bool { return event.Time(start) >= r.From && event.Time(start) < r.Until })
	}
}
