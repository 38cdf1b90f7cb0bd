package questions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// Views with parameters put the windows that people ask for together from stored windows. There is
// one view for each form, and the same over all groups. docs/sql.md describes them, asked.sql
// is the statement.

// A form is a way to cut time into windows. A window is a number of steps. The texts are
// SQL with {name:Type} for the parameters.
type form struct {
	name   string
	about  string   // what a row of the view is
	params []string // in the order of the documentation

	first  string // the _window that begins at from
	step   string // the step that moment %[1]s is in
	same   string // moments %[1]s and %[2]s are in one step
	within string // moment %[1]s may matter: it bounds what is read
	cover  string // the windows of _step, as an array
	start  string // when _window begins
	end    string // when _window ends
	needs  []need // when the answer needs the windows of a level
	checks func(l *schema.Layout) []check
}

// A need is the first moment whose windows of a level an answer needs, in seconds since 1970. It needs none if a
// condition holds, because longer windows have all. _next stands for the seconds of the next longer level.
type need struct{ unless, moment string }

// A check refuses parameters: a query fails with Text if the condition If is true. A Text with values is an SQL
// expression, of the function format.
type check struct{ If, Text string }

func (c check) Message() string {
	if strings.HasPrefix(c.Text, "format(") {
		return c.Text
	}
	return wire.Text(c.Text)
}

// Bounds of a question, so that one cannot take the engine for long.
const (
	windowsMost  = 10_000 // windows of an answer, in each group
	overlapsMost = 1_500  // windows that a moment is in
)

const (
	zone = "{zone:String}"

	// The range is of moments.
	fromTime = "toInt64(toUnixTimestamp({from:DateTime}))"
	toTime   = "toInt64(toUnixTimestamp({to:DateTime}))"

	// Or it is of local dates.
	inDates = "%[1]s >= toDateTime({from:Date}, " + zone + ") AND %[1]s < toDateTime({to:Date} + 366, " + zone + ")"

	// How durations are written, for match and for people.
	durations     = "^([1-9][0-9]{0,6}[smhdw])+$"
	durationsSuch = "'90s', '10m', '1h' or '7d'"
)

// duration returns the seconds of a parameter that is a text such as 10m; of one that is refused, a second, so that no
// other error comes first.
func duration(name string) string {
	return fmt.Sprintf("toInt64(parseTimeDelta(if(match({%[1]s:String}, '%[2]s'), {%[1]s:String}, '1s')))", name, durations)
}

// written returns the check that a parameter is a duration.
func written(name string) check {
	return check{fmt.Sprintf("NOT match({%s:String}, '%s')", name, durations), fmt.Sprintf("write %s as a text such as %s", name, durationsSuch)}
}

// multiples returns the checks that parameters are durations that the shortest windows divide.
func multiples(l *schema.Layout, params ...string) (all []check) {
	v := l.Levels[0]
	for _, p := range params {
		all = append(all, written(p), check{fmt.Sprintf("%s %% %d != 0", duration(p), v.Seconds),
			fmt.Sprintf("write %s as a multiple of '%s', the shortest windows of job %s", p, schema.Span(v.Window), l.Spec.Job)})
	}
	return all
}

// A span is a range of moments in seconds since 1970, rounded outwards to the shortest windows.
type span struct{ from, to string }

func (s span) later() check {
	return check{s.to + " <= " + s.from, "write a to that is later than from"}
}

// outwards returns a span of some moments.
func outwards(l *schema.Layout, from, to string) span {
	pane := fmt.Sprint(l.Levels[0].Seconds)
	return span{"intDiv(" + from + ", " + pane + ") * " + pane, atLeast(to, pane)}
}

// spanned returns the span of the parameters from and to.
func spanned(l *schema.Layout) span { return outwards(l, fromTime, toTime) }

// whole is the form of one window, which is a span.
func whole(name, about string, params []string, s span, checks ...check) form {
	return form{
		name: name, about: about, params: params,
		first:  s.from,
		step:   s.from,
		same:   "toUnixTimestamp(%[1]s) >= " + s.from + " AND toUnixTimestamp(%[2]s) < " + s.to,
		within: "toUnixTimestamp(%[1]s) >= " + s.from + " AND toUnixTimestamp(%[1]s) < " + s.to,
		cover:  "[_step]",
		start:  "toDateTime(_window, 'UTC')",
		end:    "toDateTime(" + s.to + ", 'UTC')",
		needs: []need{
			{s.from + " % _next = 0", s.from},
			{s.to + " % _next = 0", "intDiv(" + s.to + ", _next) * _next"},
		},
		checks: func(*schema.Layout) []check { return checks },
	}
}

// hopping is the form of windows that begin every so many seconds, the first one at the begin of a span. The last one ends
// at its end or behind it. Tumbling windows begin where the one before ends.
func hopping(name, about string, params []string, s span) form {
	size, every := duration("size"), duration(params[len(params)-1])
	hop := size // the length of the steps
	if every != size {
		hop = "gcd(" + size + ", " + every + ")"
	}
	until := s.until(size, every)
	return form{
		name: name, about: about, params: params,
		first:  s.from,
		step:   s.from + " + intDiv(toUnixTimestamp(%[1]s) - " + s.from + ", " + hop + ") * " + hop,
		same:   "toUnixTimestamp(%[1]s) >= " + s.from + " AND intDiv(toUnixTimestamp(%[1]s) - " + s.from + ", " + hop + ") = intDiv(toUnixTimestamp(%[2]s) - " + s.from + ", " + hop + ")",
		within: "toUnixTimestamp(%[1]s) >= " + s.from + " AND toUnixTimestamp(%[1]s) < " + until,
		cover: fmt.Sprintf("arrayFilter(w -> w + %[1]s > _step AND w >= %[2]s AND w + %[1]s <= %[3]s, "+
			"arrayMap(i -> %[2]s + (intDiv(_step - %[2]s, %[4]s) - i) * %[4]s, range(least(intDiv(%[1]s - 1, %[4]s) + 1, %[5]d))))", size, s.from, until, every, overlapsMost),
		start: "toDateTime(_window, 'UTC')",
		end:   "toDateTime(_window + " + size + ", 'UTC')",
		needs: []need{{hop + " % _next = 0 AND " + s.from + " % _next = 0", "_window"}},
		checks: func(l *schema.Layout) []check {
			return append(multiples(l, params[2:]...), s.later(),
				check{s.to + " - " + s.from + " < " + size, "format('write a size of {}s or less: the range is shorter than a window; " + l.Spec.Job + "_range has one number for a range', toString(" + s.to + " - " + s.from + "))"},
				check{fmt.Sprintf(size+" / "+every+" > %d", overlapsMost), fmt.Sprintf("write a greater every: size is more than %d times every", overlapsMost)},
				check{fmt.Sprintf("("+s.to+" - "+s.from+") / "+every+" > %d", windowsMost), fmt.Sprintf("write a shorter range or longer windows: an answer has at most %d", windowsMost)})
		},
	}
}

// until returns where the last window ends that hops from the begin of a span until it reaches its end.
func (s span) until(size, every string) string {
	return "(" + s.from + " + " + size + " + " + atLeast("greatest("+s.to+" - "+s.from+" - "+size+", 0)", every) + ")"
}

// units are the units of a calendar, with the functions that add one to a date.
var units = [...][2]string{{"day", "addDays"}, {"week", "addWeeks"}, {"month", "addMonths"}, {"quarter", "addQuarters"}, {"year", "addYears"}}

// wrongUnit is a condition that the unit is none of these. unit is the unit, or a day in place of
// one that is refused, so that no other error comes first: dateTrunc knows hours, too, and Weeks.
var (
	wrongUnit = "{unit:String} NOT IN (" + strings.Join(unitNames(wire.Text), ", ") + ")"
	unit      = "if(" + wrongUnit + ", 'day', {unit:String})"
)

// unitNames returns the names of the units, as a function writes them.
func unitNames(write func(string) string) (all []string) {
	for _, u := range units {
		all = append(all, write(u[0]))
	}
	return all
}

// period returns the first local date of the period that a moment is in. dateTrunc
// returns a date for some units and a time for others.
func period(moment string) string {
	return "toDate(dateTrunc(" + unit + ", toDateTime(" + moment + ", 'UTC'), " + zone + "), " + zone + ")"
}

// dated returns the first date of the period that a date is in.
func dated(date string) string { return "toDate(dateTrunc(" + unit + ", " + date + "))" }

// begins returns the moment at which a local date begins, in seconds since 1970.
func begins(date string) string { return "toUnixTimestamp(toDateTime(" + date + ", " + zone + "))" }

// next returns the first date of the period behind the one that begins at a date.
func next(date string) string {
	var cases []string
	for _, u := range units {
		cases = append(cases, fmt.Sprintf("{unit:String} = '%s', %s(%s, 1)", u[0], u[1], date))
	}
	return "multiIf(" + strings.Join(cases, ", ") + ", " + date + ")"
}

// ofPeriod is the number of a step of a period.
func ofPeriod(moment, step string) string {
	return "intDiv(toUnixTimestamp(" + moment + ") - " + begins(period(moment)) + ", " + step + ")"
}

// periods is the form of the periods of a calendar.
func periods() form {
	return form{
		name: "calendar", about: "Days, weeks, months, quarters or years (unit) of a time zone, of each group.", params: []string{"from", "to", "unit", "zone"},
		first:  "{from:Date}",
		step:   period("%[1]s"),
		same:   period("%[1]s") + " = " + period("%[2]s"),
		within: inDates,
		cover:  "if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])",
		start:  "toDateTime(" + begins("_window") + ", 'UTC')",
		end:    "toDateTime(" + begins(next("_window")) + ", 'UTC')",
		needs:  []need{{begins("_window") + " % _next = 0 AND " + begins(next("_window")) + " % _next = 0", begins("_window")}},
		checks: func(l *schema.Layout) []check { return append(calendar(l), tooManyDays) },
	}
}

// growing is the form of the beginnings of these periods, each a step longer than the one before.
func growing() form {
	step := duration("every")
	return form{
		name: "cumulate", about: "What had come in a day (or another unit) by then, each step of every later, of each group.", params: []string{"from", "to", "unit", "zone", "every"},
		first:  "({from:Date}, 0)",
		step:   "(" + period("%[1]s") + ", " + ofPeriod("%[1]s", step) + ")",
		same:   period("%[1]s") + " = " + period("%[2]s") + " AND " + ofPeriod("%[1]s", step) + " = " + ofPeriod("%[2]s", step),
		within: inDates,
		cover: "if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), " +
			"range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), " + begins(next("_step.1")) + " - 1) - " + begins("_step.1") + " + " + step + ", 0), " + step + ")))), [])",
		start: "toDateTime(" + begins("_window.1") + ", 'UTC')",
		end:   "toDateTime(least(" + begins("_window.1") + " + (_window.2 + 1) * " + step + ", " + begins(next("_window.1")) + "), 'UTC')",
		needs: []need{{step + " % _next = 0 AND " + begins("_window.1") + " % _next = 0 AND " + begins(next("_window.1")) + " % _next = 0", begins("_window.1")}},
		checks: func(l *schema.Layout) []check {
			days := "dateDiff('day', {from:Date}, " + next("{from:Date}") + ")"
			return append(append(append(calendar(l), tooManyDays), multiples(l, "every")...),
				check{fmt.Sprintf(days+" * 86400 / "+step+" > %d", overlapsMost), fmt.Sprintf("write a greater every: a period has at most %d steps", overlapsMost)},
				check{fmt.Sprintf("dateDiff('day', {from:Date}, {to:Date}) * 86400 / "+step+" > %d", windowsMost), fmt.Sprintf("write a shorter range or a greater every: an answer has at most %d windows", windowsMost)})
		},
	}
}

// forms returns those of the views.
func forms(l *schema.Layout) []form {
	asked, now := spanned(l), "toInt64(toUnixTimestamp(now()))"
	return []form{
		whole("range", "One number for a range, from and to, of each group.", []string{"from", "to"}, asked, asked.later()),
		whole("last", "One number for the last span, such as '1h', of each group.", []string{"span"}, outwards(l, now+" - "+duration("span"), now), written("span")),
		hopping("tumble", "Windows of a size, such as '10m', of each group, the first one at from.", []string{"from", "to", "size"}, asked),
		hopping("hop", "Windows of a size, one every so long, of each group, the first one at from.", []string{"from", "to", "size", "every"}, asked),
		periods(),
		growing(),
	}
}

// lastDate is the last one that a range of dates may end with. A period that begins before it
// ends before 7 February 2106, where ClickHouse's DateTime does.
const lastDate = "2105-01-01"

// calendar returns checks of a range of local dates. Stored windows that lie in two periods are
// refused whether there are rows of them or not: else an answer would depend on whether something
// happened around a midnight.
func calendar(l *schema.Layout) []check {
	v := l.Levels[0]
	dates := "arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('" + lastDate + "')) - {from:Date}))))"
	uneven := func(date string) string { return fmt.Sprintf("(%s %% %d != 0)", begins(date), v.Seconds) }
	first, last := dated("{from:Date}"), next(dated("greatest({to:Date} - 1, {from:Date})"))
	return []check{
		{wrongUnit, "write unit = " + strings.Join(unitNames(wire.Text), " or ")},
		{"{to:Date} > toDate('" + lastDate + "')", "write a to of " + lastDate + " or earlier"},
		{"{to:Date} <= {from:Date}", "write a to that is later than from"},
		{"{from:Date} != " + first + " OR {to:Date} != " + last, "format('write from = \\'{}\\' and to = \\'{}\\': from is the first day of a unit, and to the first one behind the last unit', toString(" + first + "), toString(" + last + "))"},
		{
			"arrayExists(d -> (" + dated("d") + " = d) AND (" + uneven("d") + " OR " + uneven(next("d")) + "), " + dates + ")",
			fmt.Sprintf("windows of %s of job %s do not divide days of this time zone", schema.Span(v.Window), l.Spec.Job),
		},
	}
}

// tooManyDays refuses a range with more days than an answer may have windows.
var tooManyDays = check{fmt.Sprintf("dateDiff('day', {from:Date}, {to:Date}) > %d", windowsMost), fmt.Sprintf("write a shorter range: it has more than %d days", windowsMost)}

// askedData is what asked.sql sees. Its level is the longest.
type askedData struct {
	schema.LevelData
	form
	by []schema.Column // the groups of the answer: those of the job, or fewer
}

// askedFor returns the data of a form for a job.
func askedFor(l *schema.Layout, c *wire.DB, f form, by []schema.Column) askedData {
	return askedData{l.Level(c, len(l.Levels)-1), f, by}
}

func (d askedData) view(total string) schema.View {
	name := d.Layout.Spec.Job + "_" + d.name + total
	if total != "" {
		d.about = strings.Replace(d.about, "each group", "all groups together", 1)
	}
	return schema.NewView(d.DB, name, d.about, d.columns(), render("asked", d))
}

func (d askedData) columns() []schema.Column {
	all := append(slices.Clone(d.by), schema.Column{Name: "window_start", Type: schema.UTC}, schema.Column{Name: "window_end", Type: schema.UTC}, schema.Column{Name: "hits", Type: "UInt64"})
	for _, m := range d.Measures() {
		for _, col := range m.ViewColumns(d.Layout.Spec.Job) {
			if slices.Contains(d.Forgotten(), m) {
				col.Type, _ = unknown(col.Type)
			}
			all = append(all, col)
		}
	}
	return append(all, schema.Column{Name: "complete", Type: "UInt8"})
}

// By is the list of the groups of the answer, each followed by a comma.
func (d askedData) By() string {
	var b strings.Builder
	for _, c := range d.by {
		b.WriteString(wire.Quote(c.Name) + ", ")
	}
	return b.String()
}

// Checks returns the checks of the form, and one that the first window is kept: later windows are kept for longer.
func (d askedData) Checks() []check {
	all := d.checks(d.Layout)
	if kept := d.Kept(); kept != "" && d.first != "" {
		all = append(all, check{"NOT (" + strings.ReplaceAll(kept, "_window", d.first) + ")", "ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired"})
	}
	return all
}

func (d askedData) Windows() string             { return "arrayJoin(" + d.cover + ")" }
func (d askedData) WindowStart() string         { return d.start }
func (d askedData) WindowEnd() string           { return d.end }
func (d askedData) Step(moment string) string   { return strings.ReplaceAll(d.step, "%[1]s", moment) }
func (d askedData) Within(moment string) string { return fmt.Sprintf(d.within, moment) }

// inside returns a condition that a window of so many seconds lies within one step.
func (d askedData) inside(start string, seconds int64) string {
	return fmt.Sprintf("("+d.same+")", start, fmt.Sprintf("(%s + %d)", start, seconds-1))
}

// longest returns the place of the longest level whose window that a moment is in lies within one step. With done,
// it has every row, too. It is the first level if there is none: no window of that one lies in two steps, which
// layout.calendar and multiples see to.
func (d askedData) longest(moment string, done bool) string {
	var all []string
	for _, v := range slices.Backward(d.Longer()) {
		start := fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(%s), %d) * %[2]d, 'UTC')", moment, v.Seconds())
		within := d.inside(start, v.Seconds())
		if done {
			within = fmt.Sprintf("(%s NOT IN (_tail.%d) AND %s)", start, v.Place(), within)
		}
		all = append(all, within, fmt.Sprint(v.Place()))
	}
	return "multiIf(" + strings.Join(all, ", ") + ", 1)"
}

// Used returns a condition for the rows that make up the answer. A row has the start of its window, the place
// of its level, and a part: see asked.sql.
func (d askedData) Used(moment, place, part string) string {
	used := d.Within(moment)
	if d.First {
		return used
	}
	return used + fmt.Sprintf(" AND if(%[1]s = 0, %[2]s = %[3]s, %[2]s = %[4]s OR (%[1]s = 2 AND %[2]s < %[4]s))", part, place, d.longest(moment, true), d.longest(moment, false))
}

// Part returns the part of a row with states of a level.
func (d askedData) Part(v schema.LevelData) string {
	switch {
	case v.Index == d.Index:
		return "1"
	case v.First:
		return fmt.Sprintf("if(%s IN (_tail.%d), 2, 1)", v.Start(), d.Fresh())
	}
	return fmt.Sprintf("if(rolled_in >= _at.%d, 2, 1)", v.Next().Place())
}

// Longer returns the levels but the first.
func (d askedData) Longer() []schema.LevelData { return d.Levels()[1:] }

// Forgotten returns the measures whose states may have expired.
func (d askedData) Forgotten() (all []*schema.Measure) {
	forgets := slices.ContainsFunc(d.Layout.Levels[1:], func(v schema.Level) bool { return v.KeepStates > 0 })
	for _, m := range d.Measures() {
		if forgets && m.Expires() {
			all = append(all, m)
		}
	}
	return all
}

// unknown returns the type of a column that may have no value, and what it has then: NULL,
// or an empty list, because a list cannot be NULL.
func unknown(typ string) (string, string) {
	switch {
	case strings.HasPrefix(typ, "Array("):
		return typ, "[]"
	case strings.HasPrefix(typ, "Nullable("):
		return typ, "NULL"
	}
	return "Nullable(" + typ + ")", "NULL"
}

// Answer returns the measure's columns for the select list; unknown if a state of it has
// expired.
func (d askedData) Answer(m *schema.Measure) string {
	forgets := slices.Contains(d.Forgotten(), m)
	var all []string
	for name, value := range m.Selected(m.Number(m.Plus("_o." + m.Column()))) {
		if forgets {
			_, none := unknown(cmp.Or(m.SQL.ViewType, m.SQL.NumberType))
			value = fmt.Sprintf("if(max(_o._gone), %s, %s)", none, value)
		}
		all = append(all, value+" AS "+wire.Quote(name))
	}
	return strings.Join(all, ",\n    ")
}

// Kept returns a condition for windows of which no row has expired or is missing; empty if
// there are none.
func (d askedData) Kept() string {
	var all []string
	for i, v := range d.Layout.Levels {
		var since []string
		if v.Reach > 0 {
			since = append(since, fmt.Sprintf("toInt64(toUnixTimestamp(now())) - %d", int64(v.Reach/time.Second)))
		}
		if v.WholeSince > 0 {
			since = append(since, fmt.Sprint(v.WholeSince))
		}
		for j, n := range d.needs {
			for _, moment := range since {
				switch {
				case i+1 < len(d.Layout.Levels):
					all = append(all, strings.ReplaceAll("("+n.moment+" >= "+moment+" OR "+n.unless+")", "_next", fmt.Sprint(d.Layout.Levels[i+1].Seconds)))
				case j == 0:
					all = append(all, n.moment+" >= "+moment)
				}
			}
		}
	}
	return strings.Join(all, " AND ")
}

// atLeast returns the first multiple of a number of seconds at or behind a moment, both in
// seconds since 1970.
func atLeast(moment, every string) string {
	return "(intDiv(toInt64(" + moment + ") + " + every + " - 1, " + every + ") * " + every + ")"
}
