package clickhouse

import (
	"fmt"
	"strings"
	"time"

	"weir/event"
	"weir/window"
)

// A Question says what a SELECT for people is to answer: a measure, or "hits", over the
// windows that start in [From, Until), from the state rows. It gives the numbers that the
// live answers give, as of the last flush.
type Question struct {
	Measure     string
	From, Until time.Time
	Group       [][]byte // a text, or nil for any, for each group column

	Columns   []string      // by these group columns…
	Limit     int           // …the first so many
	Step      time.Duration // by steps of so long; 0: not
	Returning bool          // how many of the ids of each step are in each later one

	// Of ids over several windows: who came back, in the last Periods of a calendar until the
	// one that Until is in; the sessions that begin in steps of so long; a funnel. From and
	// Until are whole seconds.
	Unit, Zone string // day, week, month, quarter or year, and a time zone
	Periods    int
	Gap        time.Duration // sessions end after so long
	Steps      []string      // of a funnel, as clicks_funnel has them

	Precision int    // of positions: by geohash cell of so many characters…
	Within    string // …within this one
}

// SQL returns the SELECT, or "" if there is none.
func (s *Sink) SQL(q Question) string {
	if s.client.sharded() && !s.client.wide {
		return "" // no server has a table of all shards
	}
	if q.Unit != "" || q.Gap > 0 || len(q.Steps) > 0 {
		return s.ofIDs(q)
	}
	l := s.layout
	r := &window.Range{From: event.Time(q.From.UnixMilli()), Until: event.Time(q.Until.UnixMilli()), Group: q.Group}
	var by []string // of the result
	for _, c := range q.Columns {
		by = append(by, quote(c))
	}
	if q.Step > 0 {
		at := fmt.Sprintf("toDateTime(%d + intDiv(toUnixTimestamp(window_start) - %[1]d, %[2]d) * %[2]d, 'UTC') AS at", q.From.Unix(), int64(q.Step/time.Second))
		by = append(by, at)
	}
	key := strings.Join(by, ", ")
	from := " FROM " + s.client.read(l.state(), s.client.wide) + "\n  WHERE " + s.where(r)
	if q.Measure == "hits" {
		return finish(q, "sum(n) AS value", "SELECT *, arraySum(mapValues(counts)) AS n FROM (SELECT "+l.groups()+"window_start, maxMap(hits) AS counts"+from+
			" GROUP BY "+l.groups()+"window_start)", key)
	}
	for m := range l.counted {
		switch {
		case m.Name != q.Measure:
		case m.Additive():
			each := "SELECT *, " + m.Fold("slots") + " AS whole FROM (SELECT " + l.groups() + "window_start, " + m.Merge(m.Column()) + " AS slots" + from +
				" GROUP BY " + l.groups() + "window_start)"
			return finish(q, m.valued(m.Number(m.Plus("whole"))), each, key)
		case q.Returning:
			if m.common == "" {
				return ""
			}
			each := "SELECT " + key + ", " + m.Merge(m.Column()) + " AS ids" + from + "\n  GROUP BY at"
			return "WITH steps AS (" + each + ")\nSELECT a.at, b.at AS later, " + fmt.Sprintf(m.common, "a.ids", "b.ids") +
				" AS both\nFROM steps AS a CROSS JOIN steps AS b\nWHERE a.at <= b.at\nORDER BY a.at, later"
		default:
			return finish(q, m.valued(m.Number(m.Merge("st"))), "SELECT *, "+m.Column()+" AS st"+from, key)
		}
	}
	for m := range l.located {
		if m.Name == q.Measure && q.Precision > 0 {
			within := ""
			if q.Within != "" {
				within = "\nWHERE startsWith(cell, " + text(q.Within) + ")"
			}
			return fmt.Sprintf("SELECT weirGeohash(latest.score, %d) AS cell, count() AS people\nFROM (SELECT member, max(last) AS latest FROM %s\n  WHERE %s GROUP BY member)%s\nGROUP BY cell ORDER BY cell",
				q.Precision, s.client.read(l.places(m), s.client.wide), s.where(&window.Range{From: r.From, Until: r.Until}), within)
		}
	}
	return ""
}

// valued returns what a statement selects for a number: a column called value, unlike any
// column of the rows, or those of a view, where it has several.
func (m *measure) valued(number string) string {
	if m.parts != nil {
		return m.Shown(number)
	}
	for _, value := range m.shows(number) {
		return value + " AS value"
	}
	return ""
}

// finish returns the SELECT of columns with aggregates of rows by a key, the greatest value
// first or, by steps, the oldest.
func finish(q Question, columns, rows, key string) string {
	var names []string
	for _, c := range q.Columns {
		names = append(names, quote(c))
	}
	order := names
	switch {
	case q.Step > 0:
		names, order = append(names, "at"), append([]string{"at"}, names...)
	case strings.HasSuffix(columns, " AS value"):
		order = append([]string{"value DESC"}, names...)
	}
	if key == "" {
		return "SELECT " + columns + "\nFROM (" + rows + ")"
	}
	sql := "SELECT " + key + ", " + columns + "\nFROM (" + rows + ")\nGROUP BY " + strings.Join(names, ", ") + "\nORDER BY " + strings.Join(order, ", ")
	// Rows that are in no order of their values are all shown: the greatest may be any.
	if q.Limit > 0 && strings.HasSuffix(columns, " AS value") {
		sql += fmt.Sprintf("\nLIMIT %d", q.Limit)
	}
	return sql
}

// where is selects with texts that people can read.
func (s *Sink) where(r *window.Range) string {
	clock := func(t event.Time) string {
		return "toDateTime('" + time.Unix(ceilSeconds(t), 0).UTC().Format(time.DateTime) + "', 'UTC')"
	}
	where := "window_start >= " + clock(r.From) + " AND window_start < " + clock(r.Until)
	for i, g := range r.Group {
		if g != nil {
			where += " AND " + quote(s.layout.by[i].name) + " = " + text(string(g))
		}
	}
	return where
}
