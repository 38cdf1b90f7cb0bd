package questions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// The rollups answer a question about very many windows, or about windows whose state rows are no
// longer kept, through clicks_range, clicks_tumble and their _total (asked.go). So its numbers equal the views', as
// of the last flush.
//
// These views are of all group columns and of none. Where a question is about some of the
// columns, the same statement is asked with these columns, instead of a view.

// Rollups returns the rollups of the job, shortest first. The Keep of each says how far back it can be asked. It also
// returns how long state rows are kept. It returns nothing if no server has what all shards have.
func (s *Reader) Rollups() (all []schema.Rollup, states time.Duration) {
	if s.client.Sharded() && !s.client.Wide {
		return nil, 0
	}
	for _, v := range s.layout.Levels {
		all = append(all, schema.Rollup{Window: v.Window, Keep: v.Reach})
	}
	return all, s.layout.Keep
}

// A Told is the number of a step or of a group.
type Told struct {
	At     time.Time
	Group  []string // a value for each of Question.Columns
	Number string   // in decimal digits; empty: there is none, or the ids that it comes from are no longer kept
}

// Long answers a question with Long: by steps that have events, or by groups, the greatest
// number first. The error is a *Refused if the question has no answer.
func (s *Reader) Long(ctx context.Context, q Question) (all []Told, err error) {
	sql := s.SQL(q)
	if sql == "" {
		return nil, s.noLong(q)
	}
	at, value := unused(s.layout, "at"), unused(s.layout, "value")
	columns := []string{"ifNull(toString(" + value + "), '')"}
	if q.Step > 0 {
		columns = append(columns, at)
	}
	for _, c := range q.Columns {
		columns = append(columns, "toString("+wire.Quote(c)+")")
	}
	err = s.client.Home().Question(ctx, "ask the rollups of "+s.layout.Spec.Job, "SELECT "+strings.Join(columns, ", ")+"\nFROM\n(\n"+sql+"\n)", func(scan func(...any) error) error {
		t := Told{Group: make([]string, len(q.Columns))}
		into := []any{&t.Number}
		if q.Step > 0 {
			into = append(into, &t.At)
		}
		for i := range t.Group {
			into = append(into, &t.Group[i])
		}
		err := scan(into...)
		all = append(all, t)
		return err
	})
	return all, refused(err)
}

// Groups returns how many groups a question with Long and Columns has, and how many of them have
// at least q.Least people.
func (s *Reader) Groups(ctx context.Context, q Question) (all, enough uint64, err error) {
	source, where := s.over(&q)
	if source == "" {
		return 0, 0, s.noLong(q)
	}
	sql := "SELECT count(), countIf(" + s.least(&q) + ")" + source + filter(where)
	err = s.client.Home().Question(ctx, "count the groups of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		return scan(&all, &enough)
	})
	return all, enough, refused(err)
}

func (s *Reader) noLong(q Question) error {
	if rollups, _ := s.Rollups(); rollups == nil {
		return &Refused{"a range of so many windows of " + s.layout.Spec.Job + " needs a server or a cluster that has the rows of all shards"}
	}
	var levels []string
	for m := range s.layout.Counted {
		for _, l := range m.SQL.Levels {
			if m.Name == q.Measure {
				levels = append(levels, fmt.Sprint(l))
			}
		}
	}
	if levels != nil {
		return &Refused{fmt.Sprintf("over so many windows measure %s of %s has the levels %s", q.Measure, s.layout.Spec.Job, strings.Join(levels, ", "))}
	}
	return &Refused{"measure " + q.Measure + " of " + s.layout.Spec.Job + " has no number over so many windows"}
}

// least is a condition for groups with enough people.
func (s *Reader) least(q *Question) string {
	if q.Least == 0 {
		return "true"
	}
	return fmt.Sprintf("ifNull(%s, 0) >= %d", s.shows(&Question{Measure: q.People}), q.Least)
}

// ofRollups returns the SELECT of a question with Long; "" if there is none.
func (s *Reader) ofRollups(q *Question) string {
	source, where := s.over(q)
	shown := s.shows(q)
	if source == "" || shown == "" {
		return ""
	}
	if q.Least > 0 {
		where = append(where, s.least(q))
	}
	at, value := unused(s.layout, "at"), unused(s.layout, "value")
	var columns []string
	for _, c := range q.Columns {
		columns = append(columns, wire.Quote(c))
	}
	order := append([]string{value + " DESC"}, columns...)
	if q.Step > 0 {
		columns, order = append(columns, "window_start AS "+at), append([]string{at}, columns...)
	}
	sql := "SELECT " + strings.Join(append(columns, shown+" AS "+value), ", ") + source + filter(where)
	if len(columns) > 0 {
		sql += "\nORDER BY " + strings.Join(order, ", ")
	}
	if q.Limit > 0 {
		sql += fmt.Sprintf("\nLIMIT %d", q.Limit)
	}
	return sql
}

func filter(where []string) string {
	if len(where) == 0 {
		return ""
	}
	return "\nWHERE " + strings.Join(where, " AND ")
}

// shows returns the column of a view that has the number of a question; "" if none has.
func (s *Reader) shows(q *Question) string {
	if q.Measure == "hits" {
		return "hits"
	}
	for m := range s.layout.Counted {
		switch {
		case m.Name != q.Measure:
		case m.SQL.Parts == nil:
			return m.Column()
		default:
			if i := slices.Index(m.SQL.Levels, q.Level); i >= 0 {
				return wire.Quote(m.Name + m.SQL.Parts[i])
			}
		}
	}
	return ""
}

// over returns the FROM of a question with Long, and the conditions for its WHERE; "" if there
// is none.
func (s *Reader) over(q *Question) (from string, where []string) {
	l := s.layout
	if rollups, _ := s.Rollups(); rollups == nil {
		return "", nil
	}
	apart := true // the groups of the answer are those of the job
	for i, c := range l.By {
		if i < len(q.Group) && q.Group[i] != nil {
			where = append(where, wire.Quote(c.Name)+" = "+wire.Text(string(q.Group[i])))
		} else if !slices.Contains(q.Columns, c.Name) {
			apart = false
		}
	}
	form, params := "_range", "from = "+moment(q.From.Unix())+", to = "+moment(q.Until.Unix())
	if q.Step > 0 {
		form, params = "_tumble", params+", size = '"+schema.Span(q.Step)+"'"
	}
	switch {
	case apart:
	case len(q.Columns)+len(where) == 0:
		form += "_total"
	default:
		return "\nFROM\n(\n" + ofSome(l, s.client, q, where) + "\n)", nil
	}
	return "\nFROM " + s.client.Name(l.Spec.Job+form) + "(" + params + ")", where
}

// ofSome returns the statement of clicks_range or clicks_tumble for some of the group columns and a choice of
// groups.
func ofSome(l *schema.Layout, c *wire.DB, q *Question, where []string) string {
	var by []schema.Column
	for _, c := range l.By {
		if slices.Contains(q.Columns, c.Name) {
			by = append(by, c)
		}
	}
	f := whole("range", "", nil, spanned(l))
	if q.Step > 0 {
		f = hopping("tumble", "", []string{"from", "to", "size"}, spanned(l))
	}
	f = f.with(map[string]string{
		"{from:DateTime}": fmt.Sprintf("toDateTime(%d, 'UTC')", q.From.Unix()), "{to:DateTime}": fmt.Sprintf("toDateTime(%d, 'UTC')", q.Until.Unix()),
		"{size:String}": wire.Text(schema.Span(q.Step)),
	})
	for _, condition := range where {
		f.within += " AND " + strings.ReplaceAll(condition, "%", "%%") // it is a format
	}
	return render("asked", askedFor(l, c, f, by))
}

// with returns the form with values in place of its parameters.
func (f form) with(values map[string]string) form {
	var pairs []string
	for parameter, value := range values {
		pairs = append(pairs, parameter, value)
	}
	fill := strings.NewReplacer(pairs...).Replace
	checks := f.checks
	needs := slices.Clone(f.needs)
	for i := range needs {
		needs[i] = need{fill(needs[i].unless), fill(needs[i].moment)}
	}
	return form{
		name: f.name, first: fill(f.first), step: fill(f.step), same: fill(f.same), within: fill(f.within), cover: fill(f.cover),
		start: fill(f.start), end: fill(f.end), needs: needs,
		checks: func(l *schema.Layout) []check {
			all := slices.Clone(checks(l))
			for i := range all {
				all[i] = check{fill(all[i].If), fill(all[i].Text)}
			}
			return all
		},
	}
}

// moment writes seconds since 1970 so that people can read them, for a parameter of a view. It is
// a number: a view gets the text of a parameter, which has no zone, and reads it in the server's.
// ClickHouse takes a text of less than five digits for no number of seconds.
func moment(seconds int64) string {
	if seconds < 10_000 {
		return fmt.Sprintf("'%05d'", seconds)
	}
	return "toUnixTimestamp('" + time.Unix(seconds, 0).UTC().Format(time.DateTime) + "', 'UTC')"
}
