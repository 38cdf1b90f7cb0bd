package questions

import (
	"fmt"
	"slices"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// sessionsOf returns the data of the views of sessions.
//
// A session is a sequence of events of one id, in which each comes less than the gap G after
// the one before. Panes have the length p ≤ G. Pane w is that of the moments from wp on and
// before (w+1)p. An id begins at most one session in it, with its first event t of w, because
// all others come less than p ≤ G after another one. Let v < w be the pane in which the id was
// last before w, and t' its last event there. Then
//
//		(w-v-1)p < t-t' < (w-v+1)p.
//
//	  - If w-v-1 ≥ G/p, then t-t' > G: a session begins for certain. So the lower bound has the
//	    ids of w that are in none of the ⌈G/p⌉ panes before it: w-v > ⌈G/p⌉.
//	  - If w-v+1 ≤ G/p, then t-t' < G: none begins. So the upper bound has the ids of w that are
//	    in none of the ⌊G/p⌋-1 panes before it: w-v ≥ ⌊G/p⌋.
//
// The same holds if a session goes on after a gap of exactly G, as neither case has that.
// The sums of both bounds over panes have the sum of the sessions between them. Reading begins
// ⌈G/p⌉ panes before the first one of the answer. So no session that began before the range
// is taken for one that begins in it.
//
// A pair of ids of a set that share a hash is taken for one id. One of the two has the first event of
// a session that begins for certain, which begins a session of this id too: the lower bound holds.
// The upper bound may lack the sessions of both, because each id may hide the pauses of the other.
// A pair shares its hash with the chance 2^-32. Each of the f ids of the range begins up to s
// sessions in a window. So the mean of the lack is the sum of f·s/2^32. Its variance is at most
// the sum of f·2s²/2^32, as (s+t)² ≤ 2s²+2t². In a window an id begins at most every/G sessions,
// rounded up, and no more than in all windows.
//
// What all windows of an answer have together is total_most. It does not depend on their length: each
// window's bound has room for pairs of its own, but no pair hides more sessions than the two ids begin in
// all. So the sum of these bounds is too wide. Where no window expects a pair, it is too narrow, because it fails as
// often as one of its windows. So the total has a room of its own: s is how many sessions an id begins in the
// whole range. The greatest s is seen unless its own id is one of a pair, with the chance f/2^32.
//
// The panes of each id are put in order once. So the work grows with the ids in panes, and not
// with the gap, as it would if each pane were compared with the union of those before.
func sessionsOf(l *schema.Layout, c *wire.DB) []idsData {
	each, gap := duration("every"), duration("gap")
	pane := l.Levels[0].Seconds
	asked := spanned(l)
	first, until := asked.from, asked.until(each, each)
	before := fmt.Sprintf("intDiv(%s + %d, %d)", gap, pane-1, pane)
	from := fmt.Sprintf("(%s - %s * %d)", first, before, pane)
	d := idsData{
		askedData: askedData{l.Level(c, 0), panesOf(l, "sessions", "How many sessions begin in a window: events of an id less than a gap apart.", from, until), l.By},
		statement: "sessions",
		columns:   append(slices.Clone(windowColumns), uints("least", "most", "total_most")...),
		place:     func(moment string) string { return numberOf(l, moment, from) },
		Pane:      pane, Before: before, First: first, Until: until, Gap: gap, Every: each,
	}
	d.limits = append(multiples(l, "every"), written("gap"), askedOf(l),
		check{fmt.Sprintf("%s < %d", gap, pane), fmt.Sprintf("write a gap of '%s' or more: that is the length of the shortest windows of job %s", schema.Span(l.Levels[0].Window), l.Spec.Job)},
		check{fmt.Sprintf("(%s - %s) / %s > %d", until, first, each, windowsMost), fmt.Sprintf("write a shorter range or a greater every: an answer has at most %d windows", windowsMost)})
	return d.both()
}
