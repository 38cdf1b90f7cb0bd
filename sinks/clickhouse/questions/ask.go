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

// A Pair says how many of the ids of the period that begins at Start were there in the one
// that begins at Later, too.
type Pair struct {
	Start, Later     time.Time
	Cohort, Returned uint64
}

// Retention answers a question with a Unit, in the order of Start and then Later, as of the
// last flush. The error is a *Refused if the question has no answer.
func (s *Reader) Retention(ctx context.Context, q Question) (all []Pair, err error) {
	err = s.asks(ctx, q, func(scan func(...any) error) error {
		var p Pair
		err := scan(&p.Start, &p.Later, &p.Cohort, &p.Returned)
		all = append(all, p)
		return err
	})
	return all, err
}

// A Bound is what a number is at least and at most, of a window or of a step.
type Bound struct {
	At          time.Time
	Step        int // from 1
	Least, Most uint64
	Total       uint64 // of sessions: at most so many begin in all windows together
}

// Sessions answers a question with a Gap: how many sessions begin in each step of time in
// which some may. Steps begin at multiples of their length since 1970. The answer is as of the
// last flush, with the errors of Retention.
func (s *Reader) Sessions(ctx context.Context, q Question) (all []Bound, err error) {
	err = s.asks(ctx, q, func(scan func(...any) error) error {
		var b Bound
		err := scan(&b.At, &b.Least, &b.Most, &b.Total)
		all = append(all, b)
		return err
	})
	return all, err
}

// Funnel answers a question with Steps, in their order, as Sessions does.
func (s *Reader) Funnel(ctx context.Context, q Question) (all []Bound, err error) {
	err = s.asks(ctx, q, func(scan func(...any) error) error {
		var b Bound
		var step uint32
		var name string
		err := scan(&step, &name, &b.Least, &b.Most)
		b.Step = int(step)
		all = append(all, b)
		return err
	})
	return all, err
}

func (s *Reader) asks(ctx context.Context, q Question, row func(scan func(...any) error) error) error {
	sql := s.SQL(q)
	if sql == "" {
		return &Refused{s.unasked(q)}
	}
	return refused(s.client.Home().Question(ctx, "ask about the ids of "+s.layout.Spec.Job, sql, row))
}

// unasked says why a question about ids has no SELECT, and what to change.
func (s *Reader) unasked(q Question) string {
	l := s.layout
	of := "a question about the ids of " + l.Spec.Job + " needs "
	answer := []string{"later", "cohort", "returned"}
	if q.Gap > 0 {
		answer = []string{"least", "most", "total_most"}
	}
	var names, taken []string
	given := 0
	for i, c := range l.By {
		names = append(names, c.Name)
		if slices.Contains(answer, c.Name) {
			taken = append(taken, c.Name)
		}
		if i < len(q.Group) && q.Group[i] != nil {
			given++
		}
	}
	switch {
	case s.client.Sharded() && !s.client.Wide:
		return of + "a server or a cluster that has the rows of all shards"
	case given > 0 && given < len(l.By):
		return of + "a value for each group column, " + strings.Join(names, " and ") + ", or for none"
	case given > 0 && len(taken) > 0:
		return of + "all groups together, because a column of its answer is called " + strings.Join(taken, " or ") + ", as a group column is"
	default:
		return of + "a set or a bitmap"
	}
}

// ofIDs returns the SELECT of a question about ids over several windows, of a view of ids.go;
// "" if there is none.
func (s *Reader) ofIDs(q Question) string {
	span := "from = " + moment(q.From.Unix()) + ", to = " + moment(q.Until.Unix())
	if len(q.Steps) > 0 {
		var steps []string
		for _, step := range q.Steps {
			steps = append(steps, wire.Text(step))
		}
		if len(identified(s.layout)) == 0 {
			return ""
		}
		return "SELECT step, name, least, most\nFROM " + s.client.Name(s.layout.Spec.Job+"_funnel") + "(" + span + ", steps = [" + strings.Join(steps, ", ") + "])\nORDER BY step"
	}
	if !slices.ContainsFunc(identified(s.layout), func(m *schema.Measure) bool { return m.Name == q.Measure }) {
		return ""
	}
	var where []string
	for i, g := range q.Group {
		if g != nil {
			where = append(where, wire.Quote(s.layout.By[i].Name)+" = "+wire.Text(string(g)))
		}
	}
	total, filter := "", ""
	switch {
	case len(where) == 0 && len(s.layout.By) > 0:
		total = "_total"
	case len(where) != len(s.layout.By):
		return ""
	case len(where) > 0:
		filter = "\nWHERE " + strings.Join(where, " AND ")
	}
	missing := func(view string) bool { // because a group has the name of a column of its answer
		return !slices.Contains(Names(s.layout), s.layout.Spec.Job+view+total)
	}
	from := func(view string) string {
		return "\nFROM " + s.client.Name(s.layout.Spec.Job+view+total) + "(measure = " + wire.Text(q.Measure) + ", "
	}
	if q.Gap > 0 {
		if missing("_sessions") {
			return ""
		}
		return "SELECT window_start, least, most, total_most" + from("_sessions") + span +
			", gap = '" + schema.Span(q.Gap) + "', every = '" + schema.Span(q.Step) + "')" + filter + "\nORDER BY window_start"
	}
	if missing("_retention") || !slices.ContainsFunc(units[:], func(u [2]string) bool { return u[0] == q.Unit }) {
		return ""
	}
	unit, zone := wire.Text(q.Unit), wire.Text(q.Zone)
	return "SELECT window_start, later, cohort, returned" + from("_retention") +
		fmt.Sprintf("from = toDate(dateTrunc(%s, %s, %s), %[3]s) - INTERVAL %d %[5]s, to = toDate(dateTrunc(%[1]s, %[2]s, %[3]s), %[3]s) + INTERVAL 1 %[5]s, unit = %[1]s, zone = %[3]s)",
			unit, "toDateTime('"+q.Until.UTC().Format(time.DateTime)+"', 'UTC')", zone, q.Periods-1, strings.ToUpper(q.Unit)) + filter + "\nORDER BY window_start, later"
}
