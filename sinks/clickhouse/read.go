package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// This file reads windows back, for the live surface: as far as the state
// rows go (Job.Keep). What comes back joins with window.Table and with
// sketches like everything else.

// selects is the condition for a range's rows. Texts go as literals of
// bytes, so that no group can end one.
func (s *Sink) selects(r *window.Range) string {
	var b strings.Builder
	fmt.Fprintf(&b, "window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", ceilSeconds(r.From), ceilSeconds(r.Until))
	for i, g := range r.Group {
		if g != nil {
			fmt.Fprintf(&b, " AND %s = unhex('%x')", quote(s.layout.by[i].name), g)
		}
	}
	return b.String()
}

func ceilSeconds(t event.Time) int64 { return max(0, (int64(t)+999)/1000) }

func (s *Sink) stateTable() string { return s.client.name(s.layout.state()) }

// Total is the number of events counted in the range.
func (s *Sink) Total(ctx context.Context, r *window.Range) (total uint64, err error) {
	sql := "SELECT sum(arraySum(mapValues(joined))) FROM (SELECT maxMap(hits) AS joined FROM " + s.stateTable() +
		" WHERE " + s.selects(r) + " GROUP BY " + s.layout.groups() + "window_start)"
	err = s.client.query(ctx, "read the hits of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error { return scan(&total) })
	return total, err
}

// Counts joins the range's hits by slot into a table, row by row, without the
// sketches.
func (s *Sink) Counts(ctx context.Context, r *window.Range, into *window.Table) error {
	var columns strings.Builder
	for _, c := range s.layout.by {
		fmt.Fprintf(&columns, "toString(%s), ", quote(c.name))
	}
	sql := "SELECT " + columns.String() + "toInt64(toUnixTimestamp(window_start)), maxMap(hits) FROM " + s.stateTable() +
		" WHERE " + s.selects(r) + " GROUP BY " + s.layout.groups() + "window_start"
	texts := make([]string, len(s.layout.by))
	group := make([][]byte, len(texts))
	return s.client.query(ctx, "read the counts of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var start int64
		var hits map[uint64]uint64
		to := make([]any, 0, len(texts)+2)
		for i := range texts {
			to = append(to, &texts[i])
		}
		if err := scan(append(to, &start, &hits)...); err != nil {
			return err
		}
		for i, t := range texts {
			group[i] = []byte(t)
		}
		return into.Load(event.Time(start)*1000, group, hits, nil)
	})
}

// State is measure m joined over the whole range, as a ClickHouse state: the
// server merges, one state travels. It is nil if there is no row.
func (s *Sink) State(ctx context.Context, r *window.Range, m int) (state []byte, err error) {
	at := -1
	for i := range s.layout.measures {
		if s.layout.measures[i].index == m {
			at = i
		}
	}
	if at < 0 || s.layout.measures[at].geo() {
		return nil, fmt.Errorf("clickhouse: job %s: measure %d has no state", s.layout.Spec.Job, m)
	}
	ms := &s.layout.measures[at]
	sql := "SELECT count(), CAST(" + ms.merge(ms.column()) + " AS String) FROM " + s.stateTable() + " WHERE " + s.selects(r)
	err = s.client.query(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var n uint64
		var text string
		if err := scan(&n, &text); err != nil {
			return err
		}
		if n > 0 {
			state = []byte(text)
		}
		return nil
	})
	return state, err
}

// Places joins the last positions of geo measure m in the range into a table.
func (s *Sink) Places(ctx context.Context, r *window.Range, m int, into *window.Table) error {
	for i := range s.layout.measures {
		ms := &s.layout.measures[i]
		if ms.index != m || !ms.geo() {
			continue
		}
		sql := fmt.Sprintf("SELECT toInt64(w), member, l.ts, l.slot, l.off, l.score FROM"+
			" (SELECT toUnixTimestamp(window_start) AS w, member, max(last) AS l FROM %s"+
			" WHERE window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC') GROUP BY window_start, member)",
			s.client.name(s.layout.places(ms)), ceilSeconds(r.From), ceilSeconds(r.Until))
		return s.client.query(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
			var start int64
			var member string
			var ts time.Time
			var slot, off, score uint64
			if err := scan(&start, &member, &ts, &slot, &off, &score); err != nil {
				return err
			}
			into.LoadPlace(m, event.Time(start)*1000, []byte(member), geo.Stamp{Time: ts.UnixMilli(), Slot: slot, Offset: int64(off)}, score)
			return nil
		})
	}
	return fmt.Errorf("clickhouse: job %s: measure %d holds no places", s.layout.Spec.Job, m)
}

// Windows yields the starts of the windows in the range that have rows, and
// their groups, oldest first, up to limit rows: for listings.
func (s *Sink) Windows(ctx context.Context, r *window.Range, limit int, yield func(start event.Time, group []string) bool) error {
	var columns strings.Builder
	for _, c := range s.layout.by {
		fmt.Fprintf(&columns, "toString(%s), ", quote(c.name))
	}
	sql := fmt.Sprintf("SELECT DISTINCT %stoInt64(toUnixTimestamp(window_start)) AS w FROM %s WHERE %s ORDER BY w LIMIT %d",
		columns.String(), s.stateTable(), s.selects(r), limit)
	more := true
	return s.client.query(ctx, "list the windows of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var start int64
		group := make([]string, len(s.layout.by))
		to := make([]any, 0, len(group)+1)
		for i := range group {
			to = append(to, &group[i])
		}
		if err := scan(append(to, &start)...); err != nil {
			return err
		}
		if more {
			more = yield(event.Time(start)*1000, group)
		}
		return nil
	})
}
