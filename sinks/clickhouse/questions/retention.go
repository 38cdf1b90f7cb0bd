package questions

import (
	"fmt"
	"slices"
	"strings"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// A triangle is a form (asked.go) whose windows have numbers from 0 on.
type triangle struct {
	form
	number string // of the window that moment %[1]s is in
	window string // the _window (as in form.start) with number %[1]s
	count  string // how many windows there are
}

// cameBack says what a row of these views is.
const cameBack = "How many ids of a window (cohort) were there in a later one (returned), of a measure that holds ids."

// triangles are the forms of a view of retention.
func triangles(l *schema.Layout) []triangle {
	size, asked := duration("size"), spanned(l)
	side := hopping("retention_tumble", cameBack, []string{"from", "to", "size"}, asked)

	days := periods()
	days.name, days.about, days.checks = "retention", cameBack, calendar
	trunc := dated("{from:Date}")
	skip := "(" + trunc + " < {from:Date})" // the period of from begins before it
	var add []string
	for _, u := range units {
		add = append(add, fmt.Sprintf("{unit:String} = '%s', %s(%s, %%[1]s + %s)", u[0], u[1], trunc, skip))
	}
	return []triangle{
		{
			form:   days,
			number: "dateDiff(" + unit + ", " + trunc + ", " + period("%[1]s") + ") - " + skip,
			window: "multiIf(" + strings.Join(add, ", ") + ", " + trunc + ")",
			count:  "if({to:Date} > {from:Date}, dateDiff(" + unit + ", " + trunc + ", {to:Date} - 1) + NOT " + skip + ", 0)",
		},
		{
			form:   side,
			number: "intDiv(toUnixTimestamp(%[1]s) - " + asked.from + ", " + size + ") - (toUnixTimestamp(%[1]s) < " + asked.from + ")",
			window: "(" + asked.from + " + %[1]s * " + size + ")",
			count:  "intDiv(" + asked.until(size, size) + " - " + asked.from + ", " + size + ")",
		},
	}
}

// retentionOf returns the data of the views of retention.
func retentionOf(l *schema.Layout, c *wire.DB, t triangle) []idsData {
	number := func(moment string) string { return "toInt32(" + fmt.Sprintf(t.number, moment) + ")" }
	d := idsData{
		askedData: askedFor(l, c, t.form, l.By),
		statement: "retention",
		limits:    []check{askedOf(l), {fmt.Sprintf("("+t.count+") > %d", periodsMost), fmt.Sprintf("write a shorter range or longer periods: an answer has at most %d", periodsMost)}},
		columns:   slices.Concat(windowColumns, uints("cohort"), []schema.Column{{Name: "later", Type: schema.UTC}}, uints("returned")),
		place:     number,
		window:    t.window,
	}
	d.within += " AND " + number("%[1]s") + " >= 0 AND " + number("%[1]s") + " < least((" + t.count + "), " + fmt.Sprint(periodsMost) + ")"
	return d.both()
}

// Window returns the window (as form.start has it) with a number. Starts and Ends return
// when it begins and ends.
func (d idsData) Window(number string) string { return fmt.Sprintf(d.window, number) }
func (d idsData) Starts(window string) string { return strings.ReplaceAll(d.start, "_window", window) }
func (d idsData) Ends(window string) string   { return strings.ReplaceAll(d.end, "_window", window) }
