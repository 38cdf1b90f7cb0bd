package questions

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sketches/geo"
	"weir/window"
)

// A Reader answers questions about the windows of a job.
type Reader struct {
	client *wire.DB
	layout *schema.Layout
}

// NewReader returns the reader of a job.
func NewReader(c *wire.DB, l *schema.Layout) *Reader { return &Reader{c, l} }

// This file reads windows back for live answers, which merge them with what is in
// memory.
//
// State rows live as long as Job.Keep says. The shortest rollup has the counts of older windows, for as long as
// it is kept, if it has the job's own windows. So it is known of a window, too, that its state rows have expired.

// selects returns the condition for a range's rows. It writes the texts of a group in
// hexadecimal, so that none can end its literal.
func (s *Reader) selects(r *window.Range) string {
	var b strings.Builder
	fmt.Fprintf(&b, "window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", ceilSeconds(r.From), ceilSeconds(r.Until))
	for i, g := range r.Group {
		if g != nil {
			fmt.Fprintf(&b, " AND %s = unhex('%x')", wire.Quote(s.layout.By[i].Name), g)
		}
	}
	return b.String()
}

// ceilSeconds returns the first whole second at or after t that a DateTime can hold.
func ceilSeconds(t event.Time) int64 {
	seconds := int64(t) / 1000
	if t%1000 > 0 {
		seconds++
	}
	return min(max(0, seconds), math.MaxUint32)
}

func (s *Reader) stateTable() string { return s.client.Name(s.layout.StateTable()) }

// archive returns the rollup that has the counts of a range, too: "" if no state row can have expired yet, or if there
// is no such rollup.
func (s *Reader) archive(r *window.Range) string {
	const margin = time.Hour // more than clocks differ, and than a row takes to get into the rollup
	expired := event.Time(time.Now().Add(margin - s.layout.Keep).UnixMilli())
	// A window's first rows may have been written before it began.
	if r.From >= expired+s.layout.Spec.Skew || s.layout.Levels[0].Seconds*1000 != int64(s.layout.Spec.Window) {
		return ""
	}
	return s.client.Name(s.layout.Levels[0].Table)
}

// counts returns a query for the number of events, as _n, by group and window_start. A name
// that a statement gives begins with _, which no group column and no measure has.
func (s *Reader) counts(r *window.Range) string {
	by, where := s.layout.Groups()+"window_start", s.selects(r)
	sql := "SELECT " + by + ", arraySum(mapValues(maxMap(hits))) AS _n FROM " + s.stateTable() + " WHERE " + where + " GROUP BY " + by
	if a := s.archive(r); a != "" {
		sql = "SELECT " + by + ", max(_n) AS _n FROM (" + sql +
			" UNION ALL SELECT " + by + ", toUInt64(max(hits)) AS _n FROM " + a + " WHERE " + where + " GROUP BY " + by + ") GROUP BY " + by
	}
	return sql
}

// states returns a query for the states of measure m, as _st, with their group and
// window_start.
func (s *Reader) states(r *window.Range, m int) (sql string, ms *schema.Measure, err error) {
	for i := range s.layout.Measures {
		if s.layout.Measures[i].Index == m {
			ms = &s.layout.Measures[i]
		}
	}
	if ms == nil || ms.Kind.ByMember {
		return "", nil, fmt.Errorf("clickhouse: job %s: measure %d has no state", s.layout.Spec.Job, m)
	}
	return "SELECT " + s.layout.Groups() + "window_start, " + ms.Stored() + " AS _st FROM " + s.stateTable() + " WHERE " + s.selects(r), ms, nil
}

// merging is states for a measure whose states merge over rows.
func (s *Reader) merging(r *window.Range, m int) (sql string, ms *schema.Measure, err error) {
	sql, ms, err = s.states(r, m)
	if err == nil && ms.Additive() {
		err = fmt.Errorf("clickhouse: job %s: measure %s adds up, and has no state of several rows", s.layout.Spec.Job, ms.Name)
	}
	return sql, ms, err
}

// Total returns the number of events counted in the range.
func (s *Reader) Total(ctx context.Context, r *window.Range) (total uint64, err error) {
	sql := "SELECT sum(_n) FROM (" + s.counts(r) + ")"
	err = s.asked(r).Question(ctx, "read the hits of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var n uint64 // of one shard
		err := scan(&n)
		total += n
		return err
	})
	return total, err
}

// Totals yields the number of events of each window in the range that has any. The
// order is arbitrary.
func (s *Reader) Totals(ctx context.Context, r *window.Range, yield func(start event.Time, total uint64)) error {
	sql := "SELECT toInt64(toUnixTimestamp(window_start)), sum(_n) FROM (" + s.counts(r) + ") GROUP BY window_start"
	totals := map[int64]uint64{}
	err := s.asked(r).Question(ctx, "read the hits of "+s.layout.Spec.Job, sql, wire.Counting(totals))
	if err != nil {
		return err
	}
	for start, total := range totals {
		yield(event.Time(start)*1000, total)
	}
	return nil
}

// Rows merges the range's rows into a table: their hits by slot for window.Counts, which
// it reads from the state rows only, or the states of measure m.
func (s *Reader) Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error {
	var columns strings.Builder
	for _, c := range s.layout.By {
		fmt.Fprintf(&columns, "toString(%s), ", wire.Quote(c.Name))
	}
	what, value, from := "counts", "maxMap(hits)", s.stateTable()+" WHERE "+s.selects(r)
	if m != window.Counts {
		rows, ms, err := s.states(r, m)
		if err != nil {
			return err
		}
		if err := s.whole(ctx, r); err != nil {
			return err
		}
		what, value, from = "measure "+ms.Name, ms.Bytes(ms.Merge("_st")), "("+rows+")"
	}
	sql := "SELECT " + columns.String() + "toInt64(toUnixTimestamp(window_start)), " + value + " FROM " + from +
		" GROUP BY " + s.layout.Groups() + "window_start"
	texts := make([]string, len(s.layout.By))
	group := make([][]byte, len(texts))
	return s.asked(r).Question(ctx, "read the "+what+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var start int64
		var hits map[uint64]uint64
		var state string
		to := make([]any, 0, len(texts)+2)
		for i := range texts {
			to = append(to, &texts[i])
		}
		states := make([][]byte, len(s.layout.Spec.Measures))
		if to = append(to, &start); m == window.Counts {
			to = append(to, &hits)
		} else {
			to = append(to, &state)
		}
		if err := scan(to...); err != nil {
			return err
		}
		if m != window.Counts {
			states[m] = []byte(state)
		}
		for i, t := range texts {
			group[i] = []byte(t)
		}
		return into.Load(event.Time(start)*1000, group, hits, states)
	})
}

// whole returns an error if state rows have expired in the range: the rest would give too low an answer.
func (s *Reader) whole(ctx context.Context, r *window.Range) error {
	a := s.archive(r)
	if a == "" {
		return nil
	}
	by, where := s.layout.Groups()+"window_start", " WHERE "+s.selects(r)
	sql := "SELECT uniqExact(window_start), toInt64(toUnixTimestamp(max(window_start))) FROM (" +
		"SELECT " + by + ", max(_known) AS _counted, max(_n) AS _held FROM (" +
		"SELECT " + by + ", toUInt64(hits) AS _known, 0 AS _n FROM " + a + where +
		" UNION ALL SELECT " + by + ", 0, arraySum(mapValues(maxMap(hits))) FROM " + s.stateTable() + where + " GROUP BY " + by +
		") GROUP BY " + by + ") WHERE _counted > _held"
	var gone uint64
	var last int64
	what := "read the states of " + s.layout.Spec.Job
	err := s.asked(r).Question(ctx, what, sql, func(scan func(...any) error) error {
		var n uint64 // of one shard, whose windows are mostly those of the others
		var at int64
		err := scan(&n, &at)
		gone, last = max(gone, n), max(last, at)
		return err
	})
	if err == nil && gone > 0 {
		return wire.Refuse(what, fmt.Sprintf("the states of %d windows of the range are not kept any more (keep %s), the last of %s",
			gone, schema.Span(s.layout.Keep), time.Unix(last, 0).UTC().Format("20060102T1504Z")), "ask for later windows; the numbers are in "+s.layout.Levels[0].View)
	}
	return err
}

// State returns the state of measure m over the whole range, which the server merges;
// nil if there is no row.
func (s *Reader) State(ctx context.Context, r *window.Range, m int) (state []byte, err error) {
	rows, ms, err := s.merging(r, m)
	if err != nil {
		return nil, err
	}
	if err := s.whole(ctx, r); err != nil {
		return nil, err
	}
	sql := "SELECT count(), " + ms.Bytes(ms.Merge("_st")) + " FROM (" + rows + ")"
	var all [][]byte // by shard
	err = s.asked(r).Question(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var n uint64
		var text string
		if err := scan(&n, &text); err != nil {
			return err
		}
		if n > 0 {
			all = append(all, []byte(text))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return mergeStates(ms, all)
}

// States yields the merged state of measure m for each window in the range that has
// rows. The order is arbitrary, and a state is valid only during the call.
func (s *Reader) States(ctx context.Context, r *window.Range, m int, yield func(start event.Time, state []byte) error) error {
	rows, ms, err := s.merging(r, m)
	if err != nil {
		return err
	}
	if err := s.whole(ctx, r); err != nil {
		return err
	}
	sql := "SELECT toInt64(toUnixTimestamp(window_start)), " + ms.Bytes(ms.Merge("_st")) + " FROM (" + rows + ") GROUP BY window_start"
	on := s.asked(r)
	all := map[int64][][]byte{} // by shard; a single one's are yielded as they come
	err = on.Question(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var start int64
		var state string
		if err := scan(&start, &state); err != nil {
			return err
		}
		if len(on) == 1 {
			return yield(event.Time(start)*1000, []byte(state))
		}
		all[start] = append(all[start], []byte(state))
		return nil
	})
	if err != nil {
		return err
	}
	for start, states := range all {
		state, err := mergeStates(ms, states)
		if err == nil {
			err = yield(event.Time(start)*1000, state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whole merges the states that several shards have of a measure; nil if there is none.
func mergeStates(m *schema.Measure, states [][]byte) ([]byte, error) {
	switch len(states) {
	case 0:
		return nil, nil
	case 1:
		return states[0], nil
	}
	return m.Measure.Merge(states...)
}

// Windows yields the windows in the range that have rows, with their groups, oldest
// first, up to limit rows. It is for listings.
func (s *Reader) Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error {
	var columns strings.Builder
	for _, c := range s.layout.By {
		fmt.Fprintf(&columns, "toString(%s), ", wire.Quote(c.Name))
	}
	sql := fmt.Sprintf("SELECT DISTINCT %stoInt64(toUnixTimestamp(window_start)) AS _w FROM %s WHERE %s ORDER BY _w LIMIT %d",
		columns.String(), s.stateTable(), s.selects(r), limit)
	type row struct {
		start int64
		group []string
	}
	var rows []row
	err := s.asked(r).Question(ctx, "list the windows of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		w := row{group: make([]string, len(s.layout.By))}
		to := make([]any, 0, len(w.group)+1)
		for i := range w.group {
			to = append(to, &w.group[i])
		}
		err := scan(append(to, &w.start)...)
		rows = append(rows, w)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.start, b.start) }) // each shard's are in order
	for _, w := range rows[:min(limit, len(rows))] {
		if !yield(event.Time(w.start)*1000, w.group) {
			break
		}
	}
	return nil
}

// asked returns the shards that may have rows of a range: one, if the range is of one group.
func (s *Reader) asked(r *window.Range) wire.Shards {
	all := s.client.Shards
	if len(r.Group) < len(s.layout.By) {
		return all
	}
	for _, g := range r.Group {
		if g == nil {
			return all
		}
	}
	n := all.Of(s.layout.Spec.Job, r.Group...)
	return all[n : n+1]
}

// Places merges the positions of geo measure m into last: for each member, the last one
// in all windows of the range, under window 0.
func (s *Reader) Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error {
	for i := range s.layout.Measures {
		ms := &s.layout.Measures[i]
		if ms.Index != m || !ms.Kind.ByMember {
			continue
		}
		sql := fmt.Sprintf("SELECT member, toUnixTimestamp64Milli(l.ts), l.slot, l.off, l.score FROM (SELECT member, max(last) AS l FROM %s"+
			" WHERE window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC') GROUP BY member)",
			s.client.Name(s.layout.PlacesTable(ms)), ceilSeconds(r.From), ceilSeconds(r.Until))
		var member string
		var ts int64
		var slot, off, score uint64
		to := []any{&member, &ts, &slot, &off, &score}
		return s.client.Shards.Question(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
			if err := scan(to...); err != nil {
				return err
			}
			last.Put(0, []byte(member), geo.Stamp{Time: ts, Slot: slot, Offset: int64(off)}, score)
			return nil
		})
	}
	return fmt.Errorf("clickhouse: job %s: measure %d holds no places", s.layout.Spec.Job, m)
}

// DeadLetters returns the dead letters of the job that were written last by the server's clock, at
// most n, the last first.
func (s *Reader) DeadLetters(ctx context.Context, n int) (all []window.DeadLetter, err error) {
	sql := fmt.Sprintf("SELECT epoch, toInt32(partition), toInt64(offset), outcome, reason, toUnixTimestamp64Milli(record_time), payload, payload_bytes FROM %s WHERE %s"+
		" ORDER BY flushed_at DESC, record_time DESC, partition, offset DESC LIMIT 1 BY epoch, partition, offset LIMIT %d",
		s.client.Name("weir_dead_letters"), s.layout.Where(), n)
	err = s.client.Home().Question(ctx, "read the dead letters of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var d window.DeadLetter
		var outcome, payload string
		var at int64
		var size uint64
		if err := scan(&d.Epoch, &d.Partition, &d.Offset, &outcome, &d.Reason, &at, &payload, &size); err != nil {
			return err
		}
		d.Time, d.Payload, d.Size = schema.Storable(event.Time(at)), []byte(payload), int(size)
		for f := range window.Outcomes {
			if f.String() == outcome {
				d.Outcome = f
			}
		}
		all = append(all, d)
		return nil
	})
	return all, err
}
