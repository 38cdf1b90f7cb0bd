package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/internal/local/localtest"
)

// TestRollupFaults: two processes roll up at once while rows come in, and what
// they insert, rows and notes of how far they came, is refused, applied without
// an answer, applied twice, or applied long after it was given up. The first
// view is exact as of the last write all the while; one rollup after the
// trouble makes the longer ones so.
func TestRollupFaults(t *testing.T) {
	url, database := localtest.Engine(t)
	direct := dial(t, Config{URLs: []string{url}, Database: database})
	writer := unasked(t, direct, actives())
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	engine := httputil.NewSingleHostReverseProxy(where)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(7, 7))
	var late sync.WaitGroup
	struck := map[string]int{}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the test ends
		}
		again := func(ctx context.Context) *http.Request {
			a := q.Clone(ctx)
			a.Body = io.NopCloser(bytes.NewReader(body))
			return a
		}
		mu.Lock()
		what := [...]string{"refused", "lost", "twice", "late", "fine", "fine"}[r.IntN(6)]
		delay := time.Duration(r.IntN(1500)) * time.Millisecond
		if !bytes.Contains(body, []byte("INSERT INTO")) {
			what = "fine"
		} else {
			struck[what]++
		}
		mu.Unlock()
		switch what {
		case "lost":
			engine.ServeHTTP(httptest.NewRecorder(), again(q.Context()))
		case "late":
			late.Go(func() {
				time.Sleep(delay)
				engine.ServeHTTP(httptest.NewRecorder(), again(context.WithoutCancel(q.Context())))
			})
		case "twice":
			engine.ServeHTTP(httptest.NewRecorder(), again(q.Context()))
			engine.ServeHTTP(w, again(q.Context()))
			return
		case "fine":
			engine.ServeHTTP(w, again(q.Context()))
			return
		}
		w.Header().Set("X-ClickHouse-Exception-Code", "159")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "Code: 159. DB::Exception: Timeout exceeded (TIMEOUT_EXCEEDED)")
	}))
	defer between.Close()
	var sinks []*Sink
	for range 2 {
		sinks = append(sinks, another(dial(t, Config{URLs: []string{between.URL}, Database: database}), writer))
	}

	ctx, cancel := context.WithCancel(t.Context())
	var rolling sync.WaitGroup
	failed := 0
	for _, s := range sinks {
		rolling.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := s.Rollup(t.Context(), n%3 == 2, 0); err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	op := operator(t, writer.layout.Spec, 0)
	const flushes, perFlush = 8, 40
	for i := range int64(flushes) {
		var docs []string
		for n := range int64(perFlush) {
			docs = append(docs, click(noon+(n%7)*1_200_000, fmt.Sprintf("/p/%d", n%3), int(i*perFlush+n), fmt.Sprint(i, n)))
		}
		observe(t, op, 0, i*perFlush, noon+9_000_000, docs...)
		write(t, writer, op.Take())
		if got := one(t, direct, "SELECT sum(hits) FROM "+direct.name("clicks_1m")); got != fmt.Sprintf("(%d)", (i+1)*perFlush) {
			t.Errorf("after flush %d the view counts %s", i, got)
		}
		time.Sleep(50 * time.Millisecond)
	}
	await.Until(t, func() error { // or the test tests little
		mu.Lock()
		defer mu.Unlock()
		for _, what := range []string{"refused", "lost", "twice", "late"} {
			if struck[what] < 3 {
				return fmt.Errorf("inserts were %s %d times", what, struck[what])
			}
		}
		return nil
	})
	cancel()
	rolling.Wait()
	late.Wait()
	t.Logf("inserts: %v; rollups broken off: %d", struck, failed)

	if err := writer.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	exact(t, writer, "after the trouble")
}

// TestCompleteWindows: a window is rolled up once it is complete, once more if rows came
// since, and otherwise not. Open windows are rolled up if the live tail has grown for
// long. An hour is rolled up at its end.
func TestCompleteWindows(t *testing.T) {
	url, database := localtest.Engine(t)
	other := unasked(t, dial(t, Config{URLs: []string{url}, Database: database}), actives())
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
		if !slices.Equal(made, want) {
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
	roll("the hour is complete", s, 60, "1m+6", "1h+0")
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
	s := unasked(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	b := &backend{c: c}
	for i := range s.layout.levels {
		d := s.layout.level(c, i)
		_, query, ok := strings.Cut(render("view", d), "AS WITH")
		const place = "flushed_in >= _at" // it is about to learn how far the first rollup is
		if !ok || !strings.Contains(query, place) {
			t.Fatalf("no place for a pause in %s", query)
		}
		pause := ""
		for rolled := 0; rolled <= i; { // the longest level that is rolled up meanwhile
			// Three seconds, and more at each repetition. ClickHouse runs equal
			// subqueries once, and no sleep may be longer.
			pause += fmt.Sprintf(" + (SELECT sleep(%f))", 3-0.001*float64(len(pause)))
			slow := strings.Replace("WITH"+query, place, "flushed_in"+pause+" >= _at", 1)
			for _, table := range []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup", "weir_rollups"} {
				b.exec(t, "TRUNCATE TABLE "+c.name(table))
			}
			s = another(c, s)
			write(t, s, f.flow(t, 6))
			var got uint64
			ended := make(chan error, 1)
			go func() {
				ended <- c.query(t.Context(), "ask", "SELECT sum(hits) FROM ("+slow+")", func(scan func(...any) error) error { return scan(&got) })
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
				t.Errorf("%s: %d events, want %d, with level %d rolled up", d.v.view, got, f.next, rolled)
			}
			if made {
				rolled++
			}
		}
	}
}

// TestRollupsOfBackfill: of windows that are older than the rows of a rollup live, the longer rollups
// have every event, however often parts merge in between. Tables whose rows lived from their windows
// on are named and migrated, and what they lack can be repaired.
func TestRollupsOfBackfill(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups = []Rollup{{Window: time.Minute, Keep: 72 * time.Hour}, {Window: 24 * time.Hour}}
	s := unasked(t, c, j)
	b := &backend{c: c}
	const alter, of72 = "MODIFY TTL ", " + toIntervalSecond(259200)"
	b.exec(t, "ALTER TABLE "+c.name("clicks_1m_rollup")+" "+alter+"window_start"+of72)
	inv, err := c.inventory(t.Context(), c.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	if notes := fmt.Sprint(inv.notes(c, s.layout)); !strings.Contains(notes, "table clicks_1m_rollup: rows of windows that are older than 3d are not stored") {
		t.Errorf("the notes are %s", notes)
	}

	op, n := operator(t, s.layout.Spec, 0), int64(0)
	day := time.Now().UnixMilli()/86_400_000*86_400_000 - 20*86_400_000
	for hour := range int64(4) {
		for range 10 {
			ts := day + hour*3_600_000
			observe(t, op, 0, n, event.Time(ts), click(ts, "/", int(n), fmt.Sprint(n)))
			n++
		}
		write(t, s, op.Take())
		roll(t, s, true)
		b.exec(t, "OPTIMIZE TABLE "+c.name("clicks_1m_rollup")+" FINAL")
		if hour == 0 {
			steps, err := c.Migrate(t.Context(), []Job{j}, Migration{})
			if err != nil || !slices.ContainsFunc(steps, func(s Statement) bool { return strings.Contains(s.SQL, alter+"rolled_at"+of72) }) {
				t.Fatalf("it migrates with %v, %v", steps, err)
			}
			if _, err := s.Repair(t.Context(), 0, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, view := range []string{"clicks_1m", "clicks_1d"} {
			if got, want := one(t, c, "SELECT sum(hits), sum(active) FROM "+c.name(view)), fmt.Sprintf("(%d,%[1]d)", n); got != want {
				t.Errorf("%d events, and %s has %s", n, view, got)
			}
		}
	}
}
