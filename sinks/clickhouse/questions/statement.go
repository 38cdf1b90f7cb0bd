package questions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
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

	// Of a range with very many windows, or with old ones: it is answered from the rollups. From
	// and Until are multiples of Step or, without one, of a rollup's windows.
	Long   bool
	Level  float64 // of a measure that has several numbers: see face.SQL.Levels
	People string  // only groups that have, by this measure…
	Least  uint64  // …so many people; 0: all groups

	Precision int    // of positions: by geohash cell of so many characters…
	Within    string // …within this one
}

// SQL returns the SELECT, or "" if there is none.
func (s *Reader) SQL(q Question) string {
	if s.client.Sharded() && !s.client.Wide {
		return "" // no server has a table of all shards
	}
	if q.Long {
		return s.ofRollups(&q)
	}
	if q.Unit != "" || q.Gap > 0 || len(q.Steps) > 0 {
		return s.ofIDs(q)
	}
	l := s.layout
	r := &window.Range{From: event.Time(q.From.UnixMilli()), Until: event.Time(q.Until.UnixMilli()), Group: q.Group}
	f := statement{Question: q, at: unused(l, "at"), value: unused(l, "value")}
	for _, c := range q.Columns {
		f.by = append(f.by, wire.Quote(c))
	}
	step := fmt.Sprintf("toDateTime(%d + intDiv(toUnixTimestamp(window_start) - %[1]d, %[2]d) * %[2]d, 'UTC') AS %[3]s", q.From.Unix(), max(1, int64(q.Step/time.Second)), f.at)
	if q.Step > 0 {
		f.by = append(f.by, step)
	}
	from := " FROM " + s.client.Reading(l.StateTable(), s.client.Wide) + "\n  WHERE " + s.where(r)
	if q.Measure == "hits" {
		n, counts := unused(l, "n"), unused(l, "counts")
		return f.sql("sum("+n+") AS "+f.value, "SELECT *, arraySum(mapValues("+counts+")) AS "+n+" FROM (SELECT "+l.Groups()+"window_start, maxMap(hits) AS "+counts+from+
			" GROUP BY "+l.Groups()+"window_start)")
	}
	for m := range l.Counted {
		switch {
		case m.Name != q.Measure:
		case m.Additive():
			slots, whole := unused(l, "slots"), unused(l, "whole")
			each := "SELECT *, " + m.Fold(slots) + " AS " + whole + " FROM (SELECT " + l.Groups() + "window_start, " + m.Merge(m.Stored()) + " AS " + slots + from +
				" GROUP BY " + l.Groups() + "window_start)"
			return f.sql(valued(m, m.Number(m.Plus(whole)), f.value), each)
		case q.Returning:
			if m.SQL.Common == "" {
				return ""
			}
			ids := unused(l, "ids")
			each := "SELECT " + step + ", " + m.Merge(m.Stored()) + " AS " + ids + from + "\n  GROUP BY " + f.at
			return "WITH steps AS (" + each + ")\nSELECT a." + f.at + ", b." + f.at + " AS later, " + fmt.Sprintf(m.SQL.Common, "a."+ids, "b."+ids) +
				" AS both\nFROM steps AS a CROSS JOIN steps AS b\nWHERE a." + f.at + " <= b." + f.at + "\nORDER BY a." + f.at + ", later"
		default:
			st := unused(l, "st")
			return f.sql(valued(m, m.Number(m.Merge(st)), f.value), "SELECT *, "+m.Stored()+" AS "+st+from)
		}
	}
	for m := range l.Located {
		if m.Name == q.Measure && q.Precision > 0 {
			within := ""
			if q.Within != "" {
				within = "\nWHERE startsWith(cell, " + wire.Text(q.Within) + ")"
			}
			return fmt.Sprintf("SELECT weirGeohash(latest.score, %d) AS cell, count() AS people\nFROM (SELECT member, max(last) AS latest FROM %s\n  WHERE %s GROUP BY member)%s\nGROUP BY cell ORDER BY cell",
				q.Precision, s.client.Reading(l.PlacesTable(m), s.client.Wide), s.where(&window.Range{From: r.From, Until: r.Until}), within)
		}
	}
	return ""
}

// unused returns a name of a statement's own: the given one or, if a column of the job has it,
// that with _ before it, which no column begins with.
func unused(l *schema.Layout, name string) string {
	taken := slices.ContainsFunc(l.By, func(c schema.Column) bool { return c.Name == name }) ||
		slices.ContainsFunc(l.Measures, func(m schema.Measure) bool { return m.Name == name })
	if taken {
		return "_" + name
	}
	return name
}

// valued returns what a statement selects for a number: a column with the name value, or the
// several columns that a view has.
func valued(m *schema.Measure, number, value string) string {
	if m.SQL.Parts != nil {
		return m.SelectList(number)
	}
	for _, n := range m.Selected(number) {
		return n + " AS " + value
	}
	return ""
}

// A statement is a question with what its SELECT has beside the numbers.
type statement struct {
	Question
	at, value string   // names
	by        []string // columns and steps
}

// sql returns the SELECT of columns with aggregates of rows, the greatest value first or, by
// steps, the oldest.
func (f *statement) sql(columns, rows string) string {
	if len(f.by) == 0 {
		return "SELECT " + columns + "\nFROM (" + rows + ")"
	}
	var names []string
	for _, c := range f.Columns {
		names = append(names, wire.Quote(c))
	}
	ordered := strings.HasSuffix(columns, " AS "+f.value) // by one value
	order := names
	switch {
	case f.Step > 0:
		names, order = append(names, f.at), append([]string{f.at}, names...)
	case ordered:
		order = append([]string{f.value + " DESC"}, names...)
	}
	sql := "SELECT " + strings.Join(f.by, ", ") + ", " + columns + "\nFROM (" + rows + ")\nGROUP BY " + strings.Join(names, ", ") + "\nORDER BY " + strings.Join(order, ", ")
	// Rows that are in no order of their values are all shown: the greatest may be any.
	if f.Limit > 0 && ordered {
		sql += fmt.Sprintf("\nLIMIT %d", f.Limit)
	}
	return sql
}

// where is selects with texts that people can read.
func (s *Reader) where(r *window.Range) string {
	clock := func(t event.Time) string {
		return "toDateTime('" + time.Unix(ceilSeconds(t), 0).UTC().Format(time.DateTime) + "', 'UTC')"
	}
	where := "window_start >= " + clock(r.From) + " AND window_start < " + clock(r.Until)
	for i, g := range r.Group {
		if g != nil {
			where += " AND " + wire.Quote(s.layout.By[i].Name) + " = " + wire.Text(string(g))
		}
	}
	return where
}

// A Refused is a question that cannot be answered, with the reason and what to change.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// The codes of errors that a view makes on purpose (form.checks), and of a time zone that is
// not known.
const (
	throwIf      = 395
	badArguments = 36
)

// refused returns a *Refused in place of an error about the parameters of a view.
func refused(err error) error {
	var e *wire.Error
	if errors.As(err, &e) && (e.Code == throwIf || e.Code == badArguments) {
		reason, _, _ := strings.Cut(e.Message(), ": while executing")
		reason, _, _ = strings.Cut(reason, ": In scope")
		reason, _, _ = strings.Cut(reason, ". (FUNCTION_THROW")
		return &Refused{reason}
	}
	return err
}
