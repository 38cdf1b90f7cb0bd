package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"weir/event"
	"weir/flow/rounds"
	"weir/sinks/clickhouse/wire"
)

// Repaired says what a repair did to one rollup.
type Repaired struct {
	Table string
	Made  int // windows that were recomputed
	Left  int // windows that were left as they are, because the rows that they are made from are gone
}

// Repair recomputes the windows in [from, until) of all rollups from the rows that they
// are made from: state rows, or rows of the next shorter rollup. A zero bound means
// none; a longer window counts as within if any part of it is. Repair uses statements of
// bounded size, and calls progress after each one with the number of windows of the
// rollup that are done. ClickHouse merges what it writes, so it may run beside anything,
// be interrupted, and run again. It loses nothing: numbers only grow, and a window whose
// rows have expired, in part or all, keeps what its rollup has. For the same reason it
// does not lower a number that was raised by hand.
func (s *Sink) Repair(ctx context.Context, from, until event.Time, progress func(table string, made, total int)) ([]Repaired, error) {
	var all []Repaired
	for i := range s.layout.Levels {
		d := s.level(i)
		first, last := int64(from)/1000/d.Level.Seconds*d.Level.Seconds, int64(math.MaxUint32)/d.Level.Seconds*d.Level.Seconds
		if until > 0 {
			last = min(last, (int64(until)/1000-1)/d.Level.Seconds*d.Level.Seconds)
		}
		d.windows = []rounds.Window{{Start: first}, {Start: last}}
		list, rows, err := s.windows(ctx, d)
		if err != nil {
			return all, err
		}
		r := Repaired{Table: d.Level.Table}
		if r.Left, err = s.alone(ctx, d); err != nil {
			return all, err
		}
		for rest := list; len(rest) > 0; {
			n := s.batch(rest, rows)
			s.mu.Lock()
			err := s.makeAnew(ctx, d, "rollup", rest[:n], rows)
			s.mu.Unlock()
			if err != nil {
				return append(all, r), fmt.Errorf("repair of %s: %w", d.Level.Table, err)
			}
			rest = rest[n:]
			if r.Made += n; progress != nil {
				progress(d.Level.Table, r.Made, len(list))
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// windows returns the windows within d.Range that have rows to be made from, and how many
// rows each has.
func (s *Sink) windows(ctx context.Context, d making) (list []rounds.Window, rows map[int64]uint64, err error) {
	rows = map[int64]uint64{}
	err = s.client.Shards.QueryFor(ctx, "count rows to roll up", render("counts", d), wire.Counting(rows))
	for _, start := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, rounds.Window{Start: start})
	}
	return list, rows, err
}

// alone returns the number of windows of the rollup within d.Range that have no rows to
// be made from, of each shard.
func (s *Sink) alone(ctx context.Context, d making) (n int, err error) {
	sql := fmt.Sprintf("SELECT toInt64(uniqExact(window_start)) FROM %s WHERE %s AND window_start NOT IN (SELECT %s FROM %s WHERE %s)",
		d.Table(), d.Range(), d.Start(), d.Source(), d.Range())
	err = s.client.Shards.QueryFor(ctx, "look for windows without rows", sql, func(scan func(...any) error) error {
		var found int64
		err := scan(&found)
		n += int(found)
		return err
	})
	return n, err
}
