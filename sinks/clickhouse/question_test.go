package clickhouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/sinktest"
)

// TestQuestion: the statements for people give the numbers of the views, of every measure
// that has one, for each group and window and for one group; over all windows they give
// what the sink merges; and heat and who came back are those of the positions and ids.
func TestQuestion(t *testing.T) {
	c := open(t)
	spec := sinktest.Spec()
	whole, err := sinktest.NewLog(5).Whole(spec)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{c: c}
	b.Open(t, spec)
	s := c.sink(plan(t, suiteJob(spec)))
	write(t, s, whole)

	first, last := event.Time(1<<62), event.Time(0)
	for row := range whole.Table.Rows {
		first, last = min(first, row.Window()), max(last, row.Window())
	}
	all := questions.Question{From: time.UnixMilli(int64(first)), Until: time.UnixMilli(int64(last + spec.Window))}
	view := c.Name("suite_1m")
	same := func(name, got, want string) {
		t.Helper()
		g, w := read(t, c, got), read(t, c, want)
		slices.Sort(g)
		slices.Sort(w)
		if len(w) == 0 || !slices.Equal(g, w) {
			t.Errorf("%s: %d rows\n%s\nwant %d\n%s\n%s", name, len(g), strings.Join(g, "\n"), len(w), strings.Join(w, "\n"), got)
		}
	}
	columns := map[string][]string{"hits": {"hits"}}
	for m := range s.layout.Counted {
		for name := range m.Selected("") {
			columns[m.Name] = append(columns[m.Name], wire.Quote(name))
		}
	}
	for name, shown := range columns {
		q := all
		q.Measure, q.Columns, q.Step = name, []string{"page", "country"}, time.Minute
		sql := "SELECT page, country, window_start, " + strings.Join(shown, ", ") + " FROM " + view
		same(name, s.SQL(q), sql)
		q.Group = [][]byte{[]byte("/p/1"), nil}
		same(name+" of a page", s.SQL(q), sql+" WHERE page = '/p/1'")
	}
	q := all
	q.Measure = "hits"
	same("hits", s.SQL(q), "SELECT sum(hits) FROM "+view)
	q.Columns, q.Limit = []string{"page"}, 2
	same("top pages", s.SQL(q), "SELECT page, sum(hits) AS n FROM "+view+" GROUP BY page ORDER BY n DESC, page LIMIT 2")
	q.Measure = "spread" // in no order of one value: all pages
	if got, pages := len(read(t, c, s.SQL(q))), len(read(t, c, "SELECT DISTINCT page FROM "+view)); got != pages || pages <= 2 {
		t.Errorf("quantiles of %d pages, of %d", got, pages)
	}
	q = all
	q.Measure, q.Step = "revenue", 5*time.Minute
	same("revenue", s.SQL(q), fmt.Sprintf("SELECT toDateTime(%d + intDiv(toUnixTimestamp(window_start) - %[1]d, 300) * 300, 'UTC') AS at, sum(revenue) FROM %s GROUP BY at", q.From.Unix(), view))
	q.Measure, q.Precision, q.Step = "places", 2, 0
	same("heat", s.SQL(q), "SELECT substring(geohash, 1, 2) AS cell, count() FROM (SELECT member, argMax(geohash, (ts, score)) AS geohash FROM "+c.Name("suite_places")+" GROUP BY member) GROUP BY cell")
	q.Precision, q.Within = 3, strings.Trim(read(t, c, "SELECT substring(geohash, 1, 1) FROM "+c.Name("suite_places")+" LIMIT 1")[0], "()'")
	same("heat within a cell", s.SQL(q), "SELECT substring(geohash, 1, 3) AS cell, count() FROM (SELECT member, argMax(geohash, (ts, score)) AS geohash FROM "+c.Name("suite_places")+" GROUP BY member) WHERE startsWith(cell, '"+q.Within+"') GROUP BY cell")
	q = all
	q.Step, q.Returning = 5*time.Minute, true
	for _, name := range []string{"active", "people"} {
		q.Measure = name
		got := read(t, c, s.SQL(q))
		one, other := all, all
		one.Measure, other.Measure = name, name
		one.Until, other.From = q.From.Add(q.Step), q.From.Add(q.Step)
		other.Until = other.From.Add(q.Step)
		union := all
		union.Measure, union.Until = name, other.Until
		var n [3]int
		for i, of := range []questions.Question{one, other, union} {
			if _, err := fmt.Sscan(strings.Trim(read(t, c, s.SQL(of))[0], "()"), &n[i]); err != nil {
				t.Fatal(err)
			}
		}
		if want := fmt.Sprintf("('%s','%s',%d)", one.From.UTC().Format(time.DateTime), other.From.UTC().Format(time.DateTime), n[0]+n[1]-n[2]); !slices.Contains(got, want) {
			t.Errorf("who came back, by %s: %q, want %q", name, got, want)
		}
	}
	q.Measure = "users"
	if sql := s.SQL(q); sql != "" {
		t.Errorf("a distinct count does not know who came back: %s", sql)
	}
}

// TestDeadLetters: the last dead letters come back as they were written, each once.
func TestDeadLetters(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	op := operator(t, s.layout.Spec, 0)
	for i := range int64(3) {
		observe(t, op, 0, i, noon, fmt.Sprintf(`{"ts":"x%d"}`, i))
	}
	changes := op.Take()
	write(t, s, changes)
	write(t, s, changes)
	got, err := s.DeadLetters(t.Context(), 2)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, d := range got {
		if want := changes.Dead[2-i]; d.Offset != want.Offset || d.Reason != want.Reason || string(d.Payload) != string(want.Payload) || d.Size != want.Size || d.Outcome != want.Outcome || d.Time != want.Time {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}
