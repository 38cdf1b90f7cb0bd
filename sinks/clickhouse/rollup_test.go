package clickhouse

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/event"
	"weir/internal/await"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// TestCompleteWindows: a window is rolled up once it is complete, once more if rows came
// since, and otherwise not. Open windows are rolled up if the live tail has grown for
// long. An hour is rolled up at its end.
func TestCompleteWindows(t *testing.T) {
	url, database := localtest.Engine(t)
	other := install(t, dial(t, wire.Config{URLs: []string{url}, Database: database}), actives())
	var made, asked []string // windows made, and other statements, since the last look
	list := regexp.MustCompile(`INSERT INTO \S+_(1[mh])_rollup(?s:.*)toUnixTimestamp\(.*\) IN \(([0-9, ]+)\)`)
	s := another(through(t, url, database, func(statement string) bool {
		if m := list.FindStringSubmatch(statement); m != nil {
			for _, start := range strings.Split(m[2], ", ") {
				seconds, err := strconv.Atoi(start)
				if err != nil {
					t.Error(err)
				}
				made = append(made, fmt.Sprint(m[1], "+", (int64(seconds)-noon/1000)/60))
			}
		} else {
			asked = append(asked, statement)
		}
		return true
	}, nil), other)
	op, next := operator(t, s.layout.Spec, 0), int64(0)
	at := func(minutes ...int64) {
		t.Helper()
		for _, m := range minutes {
			observe(t, op, 0, next, noon+7_200_000, click(noon+m*60_000, "/", int(next), fmt.Sprint(next)))
			next++
		}
		write(t, s, op.Take())
	}
	roll := func(what string, s *Sink, minutes int64, want ...string) {
		t.Helper()
		made, asked = nil, nil
		if err := s.Rollup(t.Context(), false, event.Time(noon+minutes*60_000)); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(made); !slices.Equal(made, want) { // a statement of its own stamps those whose numbers the flush gave
			t.Errorf("%s: made %v, want %v", what, made, want)
		}
		exact(t, other, what)
	}
	at(0, 1)
	roll("the first is complete", s, 1, "1m+0")
	at(1, 2, 3)
	roll("two are complete", s, 3, "1m+1", "1m+2")
	at(3)
	roll("the watermark stays within a window", s, 3)
	if len(asked) > 0 {
		t.Errorf("it asked the server %q", asked)
	}
	at(0, 4)
	roll("late events", s, 3)
	roll("late events, and one is complete", s, 4, "1m+0", "1m+3")
	roll("by another", another(s.client, s), 4)
	at(5)
	s.memos[0].due = time.Now()
	roll("the tail has grown for long", s, 4, "1m+4", "1m+5")
	s.memos[1].due = time.Now()
	roll("the tail of the hour has grown for long", s, 4, "1h+0")
	at(6, 60)
	roll("the hour is complete", s, 60, "1h+0", "1m+6")
	for i := range s.memos {
		if n := s.memos[i].made.Len(); n > 3 {
			t.Errorf("level %d remembers %d windows", i, n)
		}
	}
}

// TestViewBesideRollup: a rollup is made and noted while ClickHouse analyses a query of a
// view. The query lacks nothing.
func TestViewBesideRollup(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	b := &backend{c: c}
	for i := range s.layout.Levels {
		d := s.layout.Level(c.DB, i)
		query := schema.Render("view", d)
		const place = "flushed_in >= _at" // it is about to learn how far the first rollup is
		if !strings.Contains(query, place) {
			t.Fatalf("no place for a pause in %s", query)
		}
		pause := ""
		for rolled := 0; rolled <= i; { // the longest level that is rolled up meanwhile
			// Three seconds, and more at each repetition. ClickHouse runs equal
			// subqueries once, and no sleep may be longer.
			pause += fmt.Sprintf(" + (SELECT sleep(%f))", 3-0.001*float64(len(pause)))
			slow := strings.Replace(query, place, "flushed_in"+pause+" >= _at", 1)
			for _, table := range []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup", "weir_rollups"} {
				b.exec(t, "TRUNCATE TABLE "+c.Name(table))
			}
			s = another(c, s)
			write(t, s, f.flow(t, 6))
			var got uint64
			ended := make(chan error, 1)
			go func() {
				ended <- c.Query(t.Context(), "ask", "SELECT sum(hits) FROM ("+slow+")", func(scan func(...any) error) error { return scan(&got) })
			}()
			await.Until(t, func() error {
				if len(ended) == 0 && one(t, c, "SELECT count() FROM system.processes WHERE query LIKE '%SELECT sleep(%' AND query NOT LIKE '%system.processes%'") == "(0)" {
					return errors.New("the query has not begun")
				}
				return nil
			})
			for level := range rolled + 1 {
				if err := s.rollup(t.Context(), level, time.Now(), true, 0); err != nil {
					t.Fatal(err)
				}
			}
			made := len(ended) == 0 // or the machine was too slow for this to tell anything
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if got != uint64(f.next) { // each window has all of its events anew
				t.Errorf("%s: %d events, want %d, with level %d rolled up", d.Level.View, got, f.next, rolled)
			}
			if made {
				rolled++
			}
		}
	}
}
