package clickhouse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/sinktest"
)

// TestLong: what the rollups say of a long range is what the state rows say: by steps and of the
// whole range, of all groups, of some columns, and of chosen groups; for every measure that has a
// number; of windows that were rolled up, and of those that were not.
func TestLong(t *testing.T) {
	long(t)
	c := open(t)
	functionsOn(t, c)
	spec := sinktest.Spec()
	whole, err := sinktest.NewLog(5).Whole(spec)
	if err != nil {
		t.Fatal(err)
	}
	j := suiteJob(spec)
	j.Rollups = []schema.Rollup{{Window: time.Minute}, {Window: 2 * time.Minute}}
	s := asking(t, c, j)
	write(t, s, whole)
	first, last := event.Time(1<<62), event.Time(0)
	for row := range whole.Table.Rows {
		first, last = min(first, row.Window()), max(last, row.Window())
	}
	if err := s.Rollup(t.Context(), true, (first+last)/2); err != nil { // the other half is in the tail
		t.Fatal(err)
	}
	const step = 2 * time.Minute
	all := questions.Question{From: time.UnixMilli(int64(first)).Truncate(step), Until: time.UnixMilli(int64(last)).Truncate(step).Add(step)}
	if all.Until.Sub(all.From) < 4*step {
		t.Fatalf("the log has %v: it is too short", all.Until.Sub(all.From))
	}
	// told has the groups, steps and numbers of the rollups, and counted those of the state rows.
	told := func(q questions.Question) (rows []string) {
		t.Helper()
		q.Long = true
		got, err := s.Long(t.Context(), q)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.SQL(q))
		}
		for _, r := range got {
			rows = append(rows, fmt.Sprintf("%q %d %s", r.Group, max(0, r.At.Unix()), r.Number))
		}
		slices.Sort(rows)
		return rows
	}
	counted := func(q questions.Question, part int) (rows []string) {
		t.Helper()
		var columns []string
		for _, c := range q.Columns {
			columns = append(columns, "toString("+wire.Quote(c)+")")
		}
		at, n := "toDateTime(0)", len(q.Columns)
		if q.Step > 0 {
			at, n = "at", n+1
		}
		sql := fmt.Sprintf("SELECT CAST([%s], 'Array(String)'), %s, ifNull(toString(tuple(*).%d), '') FROM (%s)", strings.Join(columns, ", "), at, n+part, s.SQL(q))
		err := c.Query(t.Context(), "test", sql, func(scan func(...any) error) error {
			var r questions.Told
			err := scan(&r.Group, &r.At, &r.Number)
			rows = append(rows, fmt.Sprintf("%q %d %s", r.Group, r.At.Unix(), r.Number))
			return err
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
		slices.Sort(rows)
		return rows
	}
	group := func(page, country string) [][]byte {
		texts := make([][]byte, 2)
		for i, text := range []string{page, country} {
			if text != "" {
				texts[i] = []byte(text)
			}
		}
		return texts
	}
	measures := []string{"hits"}
	for m := range s.layout.Counted {
		if !slices.Contains([]string{"seen", "entry", "exit", "often"}, m.Name) { // which have no number
			measures = append(measures, m.Name)
		}
	}
	if len(measures) < 9 {
		t.Fatalf("%v", measures)
	}
	var asked []questions.Question
	for _, step := range []time.Duration{0, step} {
		for _, columns := range [][]string{nil, {"page"}, {"country"}, {"country", "page"}} {
			for _, g := range [][][]byte{group("", ""), group("/p/1", ""), group("/p/1", "DE")} {
				q := all
				q.Step, q.Columns, q.Group, q.Level = step, columns, g, 0.95
				asked = append(asked, q)
			}
		}
	}
	for i, name := range measures {
		part := 1
		if name == "spread" {
			part = 3 // p95
		}
		for j, q := range asked {
			if (i+j)%23 > 0 { // each statement costs a tenth of a second
				continue
			}
			q.Measure = name
			if got, want := told(q), counted(q, part); len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s by %q in steps of %v of %q:\n%s\nwant\n%s\n%s", name, q.Columns, q.Step, q.Group, strings.Join(got, "\n"), strings.Join(want, "\n"), s.SQL(q))
			}
		}
	}

	// Groups with few people are left out, and counted.
	q := all
	q.Measure, q.Columns, q.People, q.Least, q.Long = "hits", []string{"page"}, "active", 1, true
	everyone, err := s.Long(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	q.Least = 1 << 20
	if got, err := s.Long(t.Context(), q); err != nil || len(got) > 0 {
		t.Errorf("groups of a million people: %v, %v", got, err)
	}
	if of, enough, err := s.Groups(t.Context(), q); err != nil || of != uint64(len(everyone)) || of < 3 || enough > 0 {
		t.Errorf("%d groups, %d with a million people, %v; want %d", of, enough, err, len(everyone))
	}
	q.Least, q.Limit = 0, 2
	if got, err := s.Long(t.Context(), q); err != nil || len(got) != 2 || !slices.EqualFunc(got, everyone[:2], func(a, b questions.Told) bool { return a.Number == b.Number && a.Group[0] == b.Group[0] }) {
		t.Errorf("the first two of %v are %v, %v", everyone, got, err)
	}

	// A name of a group that looks like a part of the statement is a name.
	for _, page := range []string{"{from:DateTime}", "%d%[1]s", `'\`} {
		q := all
		q.Measure, q.Step, q.Group = "users", step, group(page, "")
		if got := told(q); len(got) > 0 {
			t.Errorf("%q has %q", page, got)
		}
	}
	// Where no server has what all shards have, there are no rollups to ask.
	one := c.Shards
	c.Shards = append(c.Shards[:1:1], c.Shards[0])
	var refused *questions.Refused
	if rollups, _ := s.Rollups(); rollups != nil {
		t.Errorf("on shards without a cluster: %v", rollups)
	}
	if _, err := s.Long(t.Context(), questions.Question{Measure: "hits", From: all.From, Until: all.Until, Long: true}); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "all shards") {
		t.Errorf("on shards without a cluster: %v", err)
	}
	c.Shards = one
	for want, q := range map[string]questions.Question{
		"has the levels 0.5, 0.9, 0.95, 0.99": {Measure: "spread", Level: 0.3},
		"write size as a multiple of '1m'":    {Measure: "hits", Step: 90 * time.Second},
	} {
		q.From, q.Until, q.Long = all.From, all.Until, true
		if _, err := s.Long(t.Context(), q); !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
