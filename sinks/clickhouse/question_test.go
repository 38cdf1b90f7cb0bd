package clickhouse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
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
	all := Question{From: time.UnixMilli(int64(first)), Until: time.UnixMilli(int64(last + spec.Window))}
	view := c.name("suite_1m")
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
	for m := range s.layout.counted {
		for name := range m.shows("") {
			columns[m.Name] = append(columns[m.Name], quote(name))
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
	same("heat", s.SQL(q), "SELECT substring(geohash, 1, 2) AS cell, count() FROM (SELECT member, argMax(geohash, (ts, score)) AS geohash FROM "+c.name("suite_places")+" GROUP BY member) GROUP BY cell")
	q.Precision, q.Within = 3, strings.Trim(read(t, c, "SELECT substring(geohash, 1, 1) FROM "+c.name("suite_places")+" LIMIT 1")[0], "()'")
	same("heat within a cell", s.SQL(q), "SELECT substring(geohash, 1, 3) AS cell, count() FROM (SELECT member, argMax(geohash, (ts, score)) AS geohash FROM "+c.name("suite_places")+" GROUP BY member) WHERE startsWith(cell, '"+q.Within+"') GROUP BY cell")
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
		for i, of := range []Question{one, other, union} {
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

// TestQuestionNames: columns may be called as the statements' own names are.
func TestQuestionNames(t *testing.T) {
	long(t)
	for _, names := range [][]string{{"at", "n"}, {"value", "counts"}, {"slots", "whole"}, {"st", "ids"}, {"both", "later"}} {
		t.Run(strings.Join(names, "-"), func(t *testing.T) {
			c := open(t)
			spec := sinktest.Spec()
			for i, name := range names {
				spec.By[i].Name = name
			}
			whole, err := sinktest.NewLog(5).Whole(spec)
			if err != nil {
				t.Fatal(err)
			}
			(&backend{c: c}).Open(t, spec)
			s := c.sink(plan(t, suiteJob(spec)))
			write(t, s, whole)
			columns := map[string][]string{"hits": {"hits"}}
			for m := range s.layout.counted {
				for name := range m.shows("") {
					columns[m.Name] = append(columns[m.Name], quote(name))
				}
			}
			if len(columns) < 10 {
				t.Fatalf("%d measures", len(columns))
			}
			same := func(name, got, want string) {
				t.Helper()
				g, w := read(t, c, got), read(t, c, want)
				slices.Sort(g)
				slices.Sort(w)
				if len(w) == 0 || !slices.Equal(g, w) {
					t.Errorf("%s: %d rows, want %d\n%s", name, len(g), len(w), got)
				}
			}
			for measure, shown := range columns {
				q := Question{Measure: measure, Columns: names, Step: time.Minute, From: time.UnixMilli(0), Until: time.UnixMilli(1 << 41), Group: [][]byte{nil, nil}}
				same(measure, s.SQL(q), fmt.Sprintf("SELECT %s, %s, window_start, %s FROM %s", names[0], names[1], strings.Join(shown, ", "), c.name("suite_1m")))
			}
			q := Question{Measure: "hits", Columns: names[:1], Limit: 2, From: time.UnixMilli(0), Until: time.UnixMilli(1 << 41), Group: [][]byte{nil, nil}}
			same("top", s.SQL(q), fmt.Sprintf("SELECT %[1]s, sum(hits) AS most FROM %[2]s GROUP BY %[1]s ORDER BY most DESC, %[1]s LIMIT 2", names[0], c.name("suite_1m")))
			q = Question{Measure: "active", Step: 5 * time.Minute, Returning: true, From: time.UnixMilli(0), Until: time.UnixMilli(1 << 41), Group: [][]byte{nil, nil}}
			same("who came back", s.SQL(q), fmt.Sprintf("WITH x AS (SELECT toStartOfInterval(window_start, INTERVAL 5 MINUTE) AS step, groupBitmapMergeState(active) AS people FROM %s GROUP BY step) "+
				"SELECT a.step, b.step, bitmapAndCardinality(a.people, b.people) FROM x AS a CROSS JOIN x AS b WHERE a.step <= b.step", c.name("suite_state")))
		})
	}
}

// TestDeadLetters: the last dead letters come back as they were written, each once.
func TestDeadLetters(t *testing.T) {
	c := open(t)
	s := unasked(t, c, actives())
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

// TestDeadLettersOfAnyTime: the time of a record may be any int64. Where a DateTime64 has it not, SQL and
// DeadLetters have the first or the last one that it has, also of a row that has another.
func TestDeadLettersOfAnyTime(t *testing.T) {
	c := open(t)
	s := unasked(t, c, actives())
	op := operator(t, s.layout.Spec, 0)
	want := map[int64]string{0: "1900-01-01 00:00:00.000", 1: "1900-01-01 00:00:00.000", 2: "1969-12-31 23:59:59.999", 3: "2299-12-31 23:59:59.999", 4: "2299-12-31 23:59:59.999"}
	for i, at := range []event.Time{math.MinInt64, -2_208_988_800_001, -1, 10_413_792_000_000, math.MaxInt64} {
		observe(t, op, 0, int64(i), at, "{}")
	}
	write(t, s, op.Take())
	check := func() {
		t.Helper()
		got, err := s.DeadLetters(t.Context(), 10)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d dead letters, %v", len(got), err)
		}
		for _, d := range got {
			if at := time.UnixMilli(int64(d.Time)).UTC().Format("2006-01-02 15:04:05.000"); at != want[d.Offset] {
				t.Errorf("offset %d: %s, want %s", d.Offset, at, want[d.Offset])
			}
		}
	}
	check()
	rows := read(t, c, "SELECT offset, toString(record_time) FROM "+c.name("weir_dead_letters")+" ORDER BY offset")
	for i, row := range rows {
		if to := fmt.Sprintf("(%d,'%s')", i, want[int64(i)]); row != to {
			t.Errorf("SQL has %s, want %s", row, to)
		}
	}
	run(t, c, "ALTER TABLE "+c.name("weir_dead_letters")+" UPDATE record_time = reinterpret(toInt64(9223372036854775807), 'DateTime64(3)') WHERE offset = 4 SETTINGS mutations_sync = 2")
	check()
}
