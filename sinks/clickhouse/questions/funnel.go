package questions

import (
	"fmt"
	"strings"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// stepBits has the bits of a place for the number of a step.
const stepBits = 63

// funnelOf returns the data of the view of funnels.
//
// An id takes steps 1 to k in their order if it has events t1 < t2 < … < tk, one of each step.
// A state knows of an event only its pane. If the panes of k events are strictly later each,
// so are the events: that is the lower bound. If there are events t1 < … < tk, their panes are
// w1 ≤ … ≤ wk: that is the upper bound, where panes may be the same. Both have the greatest
// number of steps that some panes of the id allow. The first possible pane of each step leaves
// the most panes for the steps behind it. So one pass finds it: over the panes of an id, and over
// the steps of each pane, both in their order.
//
// Step k in pane w has the place (w << 6) + k. Of the first step only the least place matters, of
// the last one only the greatest: only those between are gathered.
//
// A pair of ids of a set that share a hash is taken for one id, which takes each step that one
// of them takes. It may take more steps in their order than either: then one of the pair has
// taken step j, in any order, for each j ≤ k. Or both take k steps, and count as one.
func funnelOf(l *schema.Layout, c *wire.DB) idsData {
	asked := spanned(l)
	from, until := asked.from, asked.to
	d := idsData{
		askedData: askedData{l.Level(c, 0), panesOf(l, "funnel", "How many ids took the steps in their order.", from, until), nil},
		statement: "funnel",
		columns:   append([]schema.Column{{Name: "step", Type: "UInt32"}, {Name: "name", Type: "String"}}, uints("least", "most")...),
		place:     func(moment string) string { return numberOf(l, moment, from) },
		steps:     true,
		Until:     until,
	}
	var names, kinds []string
	for _, m := range identified(l) {
		names, kinds = append(names, wire.Text(m.Name)), append(kinds, wire.Text(m.Kind.String()))
	}
	wrong := func(condition string) string { return "arrayExists(s -> " + condition + ", " + stepParts + ")" }
	d.limits = []check{
		{fmt.Sprintf("empty({steps:Array(String)}) OR length({steps:Array(String)}) > %d", stepsMost), fmt.Sprintf("write 1 to %d steps", stepsMost)},
		{
			wrong("s[1] NOT IN (" + strings.Join(names, ", ") + ")"),
			"begin each step with the name of a measure that holds ids, a set or a bitmap: " + strings.ReplaceAll(strings.Join(names, " or "), "'", "") + " of job " + l.Spec.Job,
		},
		{wrong(fmt.Sprintf("length(s) > %d", 1+len(l.By))), fmt.Sprintf("write each step as a measure and, after a colon each, a text or * for the %d group columns of job %s", len(l.By), l.Spec.Job)},
		{"arrayUniq(arrayMap(s -> transform(s[1], [" + strings.Join(names, ", ") + "], [" + strings.Join(kinds, ", ") + "]), " + stepParts + ")) > 1", "write steps that are all of sets or all of bitmaps: ids of both are not comparable"},
	}
	return d
}

// stepParts is an array of the parts of each step: the measure, then groups. It is the first
// part of what Asked returns. Behind it are, for each group column, whether some step takes any
// text of it, and the texts that the steps name.
const stepParts = "_asked.1"

// Asked returns a statement for the steps that are asked for. It stands in one place of the
// view, because ClickHouse analyses an expression in each place anew.
func (d idsData) Asked() string {
	all := "arrayMap(s -> splitByChar(':', s), {steps:Array(String)}) AS _parts"
	for i := range d.Layout.By {
		all += fmt.Sprintf(", arrayExists(s -> length(s) < %[1]d OR s[%[1]d] = '*', _parts), arrayMap(s -> decodeURLComponent(s[%[1]d]), _parts)", i+2)
	}
	return "(SELECT tuple(" + all + "))"
}

// taken returns a condition that a row of a measure is of the step whose parts are _s. Texts
// of groups are written as in window keys (package key).
func (d idsData) taken(m *schema.Measure) string {
	all := "_s[1] = " + wire.Text(m.Name)
	for i, c := range d.Layout.By {
		all += fmt.Sprintf(" AND (length(_s) < %[1]d OR _s[%[1]d] = '*' OR decodeURLComponent(_s[%[1]d]) = toString(%[2]s))", i+2, wire.Quote(c.Name))
	}
	return all
}

// takes returns a condition for the rows of a measure that are of some step.
//
// ClickHouse looks up each different text once in the texts of all steps, with its index. Only the
// rows that pass are compared with each step, and none where there is one column: its texts
// have said it all.
func (d idsData) takes(m *schema.Measure) string {
	all := " AND arrayExists(s -> s[1] = " + wire.Text(m.Name) + ", " + stepParts + ")" // of parameters only: ClickHouse reads nothing where it is false
	for i, c := range d.Layout.By {
		all += fmt.Sprintf(" AND (_asked.%d OR %s IN (_asked.%d))", 2*i+2, wire.Quote(c.Name), 2*i+3)
	}
	if len(d.Layout.By) > 1 {
		all += " AND arrayExists(_s -> " + d.taken(m) + ", " + stepParts + ")"
	}
	return all
}

// placed returns the places of a row, each in a row of its own; none if the row is of no step.
func (d idsData) placed(m *schema.Measure, moment string) string {
	return fmt.Sprintf("arrayJoin(arrayMap(_k -> toUInt32(bitShiftLeft(%s, 6) + _k), arrayFilter((_k, _s) -> %s, arrayEnumerate(%s), %[3]s)))", d.place(moment), d.taken(m), stepParts)
}

// Reached returns an expression for two places, at least and at most: of the last step that an id
// takes before the last one of the funnel. It goes over the places in order, from the place of the
// first step, or 0. After returns an expression that a place is behind another one, in a later
// pane.
func (d idsData) Reached(first, places string) string {
	next := func(end, behind string) string {
		return fmt.Sprintf("if(toUInt8((bitAnd(p, %[1]d) = bitAnd(%[2]s, %[1]d) + 1) * (%[3]s)), p, %[2]s)", stepBits, end, behind)
	}
	return fmt.Sprintf("arrayFold((a, p) -> (%s, %s), %s, (%s, %[4]s))", next("a.1", d.After("p", "a.1")), next("a.2", "p > a.2"), places, first)
}

func (d idsData) After(p, a string) string {
	return fmt.Sprintf("bitOr(%s, %d) > bitOr(%s, %[2]d)", p, stepBits, a)
}
