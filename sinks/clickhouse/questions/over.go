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
// one view for each form, and the same over all groups. docs/sql.md describes them, schema/over.sql
// is the statement.

// A form is a way to cut time into windows. A window is a number of steps. The texts are
// SQL with {name:Type} for the parameters.
type form struct {
	name   string
	params []string // in the order of the documentation

	first   string // the _window that begins at from
	step    string // the step that moment %[1]s is in
	same    string // moments %[1]s and %[2]s are in one step
	within  string // moment %[1]s may matter: it bounds what is read
	cover   string // the windows of _step, as an array
	start   string // when _window begins
	end     string // when _window ends
	aligned string // steps begin and end at multiples of %[1]d seconds since 1970
	checks  func(l *schema.Layout) []check
}

// A check refuses parameters: a query fails with Text if the condition If is true. A Text with values is an SQL
// expression, of the function format.
type check struct{ If, Text string }

func (c check) Message() string {
	if strings.HasPrefix(c.Text, "format(") {
		return c.Text
	}
	return wire.Text(c.Text)
}

// exactly returns the checks that the windows of an answer, one every so many seconds, are the range. Others would
// be the answer to another question, and none would look like none of the events.
func exactly(size, every string) []check {
	from, to := "toInt64("+fromTime+")", "toInt64("+toTime+")"
	first := "intDiv(" + from + ", " + every + ") * " + every
	last := first + " + " + size + " + " + atLeast("greatest("+to+" - "+first+" - "+size+", 0)", every)
	return []check{
		{"{to:DateTime} <= {from:DateTime}", "write a to that is later than from"},
		{to + " - " + from + " < " + size, "format('write a size of {} or less: the range is shorter than a window', toString(" + to + " - " + from + "))"},
		{
			from + " != " + first + " OR " + to + " != " + last,
			"format('write from = \\'{}\\' and to = \\'{}\\': windows begin at multiples of their step since 1970, the first one at from, and the last one ends at to; of now() take toStartOfInterval(now(), INTERVAL 1 MINUTE) or the like', toString(toDateTime(" + first + ")), toString(toDateTime(" + last + ")))",
		},
	}
}

// Bounds of a question, so that one cannot take the engine for long.
const (
	windowsMost  = 10_000 // windows of an answer, in each group
	overlapsMost = 1_500  // windows that a moment is in
)

const (
	every = "greatest({every:UInt32}, 1)" // of 0, which is refused, no other error comes first
	zone  = "{zone:String}"

	// The range is of moments.
	fromTime = "toUnixTimestamp({from:DateTime})"
	toTime   = "toUnixTimestamp({to:DateTime})"

	// Or it is of local dates.
	inDates = "%[1]s >= toDateTime({from:Date}, " + zone + ") AND %[1]s < toDateTime({to:Date} + 366, " + zone + ")"
)

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
func ofPeriod(moment string) string {
	return "intDiv(toUnixTimestamp(" + moment + ") - " + begins(period(moment)) + ", " + every + ")"
}

// hopping is the form of windows that begin every so many seconds.
func hopping(every string) form {
	const size = "greatest({size:UInt32}, 1)"
	hop := "gcd(" + size + ", " + every + ")" // the length of the steps
	return form{
		name: "over", params: []string{"from", "to", "size", "every"},
		first:  "toInt64(" + fromTime + ")",
		step:   "intDiv(toUnixTimestamp(%[1]s), " + hop + ") * " + hop,
		same:   "intDiv(toUnixTimestamp(%[1]s), " + hop + ") = intDiv(toUnixTimestamp(%[2]s), " + hop + ")",
		within: "toUnixTimestamp(%[1]s) >= " + fromTime + " AND toUnixTimestamp(%[1]s) < " + toTime,
		cover: "arrayFilter(w -> w + {size:UInt32} > _step AND w >= " + fromTime + " AND w + {size:UInt32} <= " + toTime + ", " +
			"arrayMap(i -> (intDiv(toInt64(_step), " + every + ") - i) * " + every + ", range(intDiv({size:UInt32} - 1, " + every + ") + 1)))",
		start:   "toDateTime(_window, 'UTC')",
		end:     "toDateTime(_window + {size:UInt32}, 'UTC')",
		aligned: hop + " %% %[1]d = 0",
		checks: func(l *schema.Layout) []check {
			return append(append(multiples(l, "size", "every"),
				check{fmt.Sprintf("{size:UInt32} / "+every+" > %d", overlapsMost), fmt.Sprintf("size is more than %d times every: make every greater", overlapsMost)},
				check{fmt.Sprintf("(toInt64("+toTime+") - "+fromTime+") / "+every+" > %d", windowsMost), fmt.Sprintf("more than %d windows: make the range shorter or every greater", windowsMost)}),
				exactly("toInt64({size:UInt32})", every)...)
		},
	}
}

// periods is the form of the periods of a calendar.
func periods() form {
	return form{
		name: "calendar", params: []string{"from", "to", "unit", "zone"},
		first:   "{from:Date}",
		step:    period("%[1]s"),
		same:    period("%[1]s") + " = " + period("%[2]s"),
		within:  inDates,
		cover:   "if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])",
		start:   "toDateTime(" + begins("_window") + ", 'UTC')",
		end:     "toDateTime(" + begins(next("_window")) + ", 'UTC')",
		aligned: begins("_window") + " %% %[1]d = 0 AND " + begins(next("_window")) + " %% %[1]d = 0",
		checks:  func(l *schema.Layout) []check { return append(calendar(l), tooManyDays) },
	}
}

func forms() []form {
	return []form{
		hopping(every), periods(),
		{
			name: "cumulative", params: []string{"from", "to", "unit", "zone", "every"},
			first:  "({from:Date}, 0)",
			step:   "(" + period("%[1]s") + ", " + ofPeriod("%[1]s") + ")",
			same:   period("%[1]s") + " = " + period("%[2]s") + " AND " + ofPeriod("%[1]s") + " = " + ofPeriod("%[2]s"),
			within: inDates,
			cover: "if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), " +
				"range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), " + begins(next("_step.1")) + " - 1) - " + begins("_step.1") + " + " + every + ", 0), " + every + ")))), [])",
			start:   "toDateTime(" + begins("_window.1") + ", 'UTC')",
			end:     "toDateTime(least(" + begins("_window.1") + " + (_window.2 + 1) * " + every + ", " + begins(next("_window.1")) + "), 'UTC')",
			aligned: every + " %% %[1]d = 0 AND " + begins("_window.1") + " %% %[1]d = 0 AND " + begins(next("_window.1")) + " %% %[1]d = 0",
			checks: func(l *schema.Layout) []check {
				days := "dateDiff('day', {from:Date}, " + next("{from:Date}") + ")"
				return append(append(append(calendar(l), tooManyDays), multiples(l, "every")...),
					check{fmt.Sprintf(days+" * 86400 / "+every+" > %d", overlapsMost), fmt.Sprintf("more than %d steps in a period: make every greater", overlapsMost)},
					check{fmt.Sprintf("dateDiff('day', {from:Date}, {to:Date}) * 86400 / "+every+" > %d", windowsMost), fmt.Sprintf("more than %d windows: make the range shorter or every greater", windowsMost)})
			},
		},
	}
}

// multiples returns checks that parameters are multiples of the shortest windows.
func multiples(l *schema.Layout, params ...string) (all []check) {
	pane := l.Levels[0].Seconds
	for _, p := range params {
		all = append(all, check{fmt.Sprintf("{%s:UInt32} = 0 OR {%s:UInt32} %% %d != 0", p, p, pane),
			fmt.Sprintf("%s has to be a multiple of %d seconds, the shortest windows of job %s", p, pane, l.Spec.Job)})
	}
	return all
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
		{wrongUnit, "unit has to be one of " + strings.Join(unitNames(strings.Clone), ", ")},
		{"{to:Date} > toDate('" + lastDate + "')", "to has to be " + lastDate + " or earlier"},
		{"{to:Date} <= {from:Date}", "write a to that is later than from"},
		{"{from:Date} != " + first + " OR {to:Date} != " + last, "format('write from = \\'{}\\' and to = \\'{}\\': from is the first day of a unit, and to the first one behind the last unit', toString(" + first + "), toString(" + last + "))"},
		{
			"arrayExists(d -> (" + dated("d") + " = d) AND (" + uneven("d") + " OR " + uneven(next("d")) + "), " + dates + ")",
			fmt.Sprintf("windows of %s of job %s do not divide days of this time zone", schema.Span(v.Window), l.Spec.Job),
		},
	}
}

// tooManyDays refuses a range with more days than an answer may have windows.
var tooManyDays = check{fmt.Sprintf("dateDiff('day', {from:Date}, {to:Date}) > %d", windowsMost), fmt.Sprintf("more than %d days: make the range shorter", windowsMost)}

// overData is what schema/over.sql sees. Its level is the longest.
type overData struct {
	schema.LevelData
	form
	by []schema.Column // the groups of the answer: those of the job, or fewer
}

// overOf returns the data of a form for a job.
func overOf(l *schema.Layout, c *wire.DB, f form, by []schema.Column) overData {
	return overData{l.Level(c, len(l.Levels)-1), f, by}
}

func (d overData) view(total string) schema.View {
	name := d.Layout.Spec.Job + "_" + d.name + total
	return schema.NewView(d.DB, name, d.columns(), render("over", d))
}

func (d overData) columns() []schema.Column {
	all := append(slices.Clone(d.by), schema.Column{Name: "window_start", Type: schema.UTC}, schema.Column{Name: "window_end", Type: schema.UTC}, schema.Column{Name: "hits", Type: "UInt64"})
	for _, m := range d.Measures() {
		for _, col := range m.ViewColumns() {
			if slices.Contains(d.Forgotten(), m) {
				col.Type, _ = unknown(col.Type)
			}
			all = append(all, col)
		}
	}
	return append(all, schema.Column{Name: "complete", Type: "UInt8"})
}

// By is the list of the groups of the answer, each followed by a comma.
func (d overData) By() string {
	var b strings.Builder
	for _, c := range d.by {
		b.WriteString(wire.Quote(c.Name) + ", ")
	}
	return b.String()
}

// Checks returns the checks of the form, and one that the first window is kept: later windows are kept for longer.
func (d overData) Checks() []check {
	all := d.checks(d.Layout)
	if kept := d.Kept(); kept != "" && d.first != "" {
		kept = strings.NewReplacer("window_start", d.start, "_window", d.first).Replace(kept)
		all = append(all, check{"NOT (" + strings.ReplaceAll(kept, "_window", d.first) + ")", "ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired"})
	}
	return all
}

func (d overData) Windows() string             { return "arrayJoin(" + d.cover + ")" }
func (d overData) WindowStart() string         { return d.start }
func (d overData) WindowEnd() string           { return d.end }
func (d overData) Step(moment string) string   { return fmt.Sprintf(d.step, moment) }
func (d overData) Within(moment string) string { return fmt.Sprintf(d.within, moment) }

// inside returns a condition that a window of so many seconds lies within one step.
func (d overData) inside(start string, seconds int64) string {
	return fmt.Sprintf("("+d.same+")", start, fmt.Sprintf("(%s + %d)", start, seconds-1))
}

// longest returns the place of the longest level whose window that a moment is in lies within one step. With done,
// it has every row, too. It is the first level if there is none: no window of that one lies in two steps, which
// layout.calendar and multiples see to.
func (d overData) longest(moment string, done bool) string {
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
// of its level, and a part: see over.sql.
func (d overData) Used(moment, place, part string) string {
	used := d.Within(moment)
	if d.First {
		return used
	}
	return used + fmt.Sprintf(" AND if(%[1]s = 0, %[2]s = %[3]s, %[2]s = %[4]s OR (%[1]s = 2 AND %[2]s < %[4]s))", part, place, d.longest(moment, true), d.longest(moment, false))
}

// Part returns the part of a row with states of a level.
func (d overData) Part(v schema.LevelData) string {
	switch {
	case v.Index == d.Index:
		return "1"
	case v.First:
		return fmt.Sprintf("if(%s IN (_tail.%d), 2, 1)", v.Start(), d.Fresh())
	}
	return fmt.Sprintf("if(rolled_in >= _at.%d, 2, 1)", v.Next().Place())
}

// Longer returns the levels but the first.
func (d overData) Longer() []schema.LevelData { return d.Levels()[1:] }

// Forgotten returns the measures whose states may have expired.
func (d overData) Forgotten() (all []*schema.Measure) {
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
func (d overData) Answer(m *schema.Measure) string {
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
// there are none. Windows of a level are needed if the steps are no multiples of the next longer
// one's.
func (d overData) Kept() string {
	var all []string
	for i, v := range d.Layout.Levels {
		var since []string
		if v.Reach > 0 {
			since = append(since, fmt.Sprintf("window_start >= now('UTC') - %d", int64(v.Reach/time.Second)))
		}
		if v.WholeSince > 0 {
			since = append(since, fmt.Sprintf("window_start >= toDateTime(%d, 'UTC')", v.WholeSince))
		}
		if since == nil {
			continue
		}
		kept := strings.Join(since, " AND ")
		if i+1 < len(d.Layout.Levels) {
			kept = "(" + kept + " OR " + fmt.Sprintf(d.aligned, d.Layout.Levels[i+1].Seconds) + ")"
		}
		all = append(all, kept)
	}
	return strings.Join(all, " AND ")
}

// atLeast returns the first multiple of a number of seconds at or behind a moment, both in
// seconds since 1970.
func atLeast(moment, every string) string {
	return "(intDiv(toInt64(" + moment + ") + " + every + " - 1, " + every + ") * " + every + ")"
}
