package clickhouse

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/local/localtest"
	"weir/window"
)

const noon = 1_763_640_000_000 // 2025-11-20 12:00:00 UTC

func TestWriteAndRead(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0, 1)
	var docs []string
	for i := range 100 {
		docs = append(docs, click(noon+int64(i)*1000, fmt.Sprintf("/p/%d", i%3), i%40, fmt.Sprint("e", i)))
	}
	docs = append(docs, `{"ts":`, click(noon-100_000_000, "/p/1", 1, "x"), click(noon+100_000_000, "/p/1", 1, "x"))
	observe(t, op, 0, 0, noon, docs...)
	observe(t, op, 1, 0, noon, docs[:10]...)
	changes := op.Take()
	write(t, s, changes)
	write(t, s, changes) // again: joins away

	check := func() {
		t.Helper()
		for sql, want := range map[string]string{
			"SELECT sum(hits) FROM " + c.name("clicks_1m"):                                                            "(110)",
			"SELECT count(), sum(hits), max(users), max(active) FROM " + c.name("clicks_1m") + " WHERE page = '/p/0'": "(2,38,20,20)",
			"SELECT count() FROM " + c.name("weir_dead_letters") + " FINAL":                                           "(3)",
			"SELECT count(), countDistinct(member) FROM " + c.name("locations_view_placeholder"):                      "",
		} {
			if want == "" {
				continue
			}
			if got := one(t, c, sql); got != want {
				t.Errorf("%s\ngot %s, want %s", sql, got, want)
			}
		}
	}
	check()
	if err := s.Rollup(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	check()
	known, err := s.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (window.Known{TopicID: [16]byte{1, 2, 3, 15: 16}, Next: 103}); known[0] != want || known[1].Next != 10 {
		t.Errorf("known %v, want %v", known, want)
	}
}

// TestOrder: rows are acknowledged before the ledger speaks of them, and
// nothing follows an insert that failed.
func TestOrder(t *testing.T) {
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	s := install(t, dial(t, Config{URL: b.URL, Database: database}), clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), `{`)
	changes := op.Take()
	changes.Table.Seal()
	order := []string{"clicks_state", "clicks_places_state", "weir_dead_letters", "weir_ledger"}
	for failing := range len(order) + 1 {
		var tables []string
		b.on(func(w http.ResponseWriter, r *http.Request) {
			_, name, _ := strings.Cut(r.URL.Query().Get("query"), "`.`")
			name, _, _ = strings.Cut(name, "`")
			tables = append(tables, name)
			if len(tables) == failing+1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			for setting, want := range map[string]string{"async_insert": "0", "wait_end_of_query": "1", "optimize_on_insert": "0", "insert_deduplicate": "0"} {
				if got := r.URL.Query().Get(setting); got != want {
					t.Errorf("insert into %s with %s=%s, want %s", name, setting, got, want)
				}
			}
			b.engine.ServeHTTP(w, r)
		})
		err := s.Write(t.Context(), changes)
		if (err != nil) != (failing < len(order)) {
			t.Errorf("insert %d fails: %v", failing, err)
		}
		if want := order[:min(failing+1, len(order))]; !slices.Equal(tables, want) {
			t.Errorf("insert %d fails: inserts into %v, want %v", failing, tables, want)
		}
	}
}

// TestComplete: a window is complete when the watermark of every partition
// that is not idle has passed its end, and stays it.
func TestComplete(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0, 1)
	complete := func(want string) {
		t.Helper()
		if err := s.Rollup(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		sql := "SELECT toUnixTimestamp(window_start) - 1763640000, complete FROM " + c.name("clicks_1m") + " ORDER BY window_start"
		if got := strings.Join(read(t, c, sql), " "); got != want {
			t.Errorf("complete: %s, want %s", got, want)
		}
	}
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon+61_000, "/", 1, "b"), click(noon+125_000, "/", 1, "c"))
	observe(t, op, 1, 0, noon, click(noon+59_999, "/", 1, "d"))
	write(t, s, op.Take())
	complete("(0,0) (60,0) (120,0)")
	observe(t, op, 1, 1, noon, click(noon+60_000, "/", 1, "e"))
	write(t, s, op.Take())
	complete("(0,1) (60,0) (120,0)")
	// A third partition that has been silent for two minutes is idle…
	line := "INSERT INTO " + c.name("weir_ledger") + " (job, version, epoch, partition, chunk, first, next, watermark, flushed_at) VALUES ('clicks', 1, 0, 2, 0, 0, 1, 1763640000, "
	exec := func(sql string) {
		t.Helper()
		if err := c.exec(t.Context(), "test", sql, queryTimeout); err != nil {
			t.Fatal(err)
		}
	}
	exec(line + "now() - 120)")
	observe(t, op, 1, 2, noon, click(noon+180_000, "/", 1, "f"))
	write(t, s, op.Take())
	complete("(0,1) (60,1) (120,0) (180,0)")
	// …and when it comes back, late, what was complete stays so.
	exec(line + "now())")
	complete("(0,1) (60,1) (120,0) (180,0)")
}

// TestAtOnce: a writer and two who roll up, at the same time, and somebody who
// reads: the view never falls, and ends right.
func TestAtOnce(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	const flushes, perFlush = 25, 40
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		other, err := c.Job(t.Context(), clicks())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := other.Rollup(t.Context(), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	last := uint64(0)
	for i := range int64(flushes) {
		var docs []string
		for n := range int64(perFlush) {
			docs = append(docs, click(noon+n*2000, fmt.Sprintf("/p/%d", n%3), int(i*perFlush+n), fmt.Sprint(i, n)))
		}
		observe(t, op, 0, i*perFlush, noon, docs...)
		write(t, s, op.Take())
		var hits, users uint64
		err := c.query(t.Context(), "read", "SELECT sum(hits), sum(users) FROM "+c.name("clicks_1m"), func(scan func(...any) error) error { return scan(&hits, &users) })
		if err != nil || hits != uint64(i+1)*perFlush || users < last {
			t.Fatalf("after flush %d: %d hits, %d users (before: %d), %v", i, hits, users, last, err)
		}
		last = users
	}
	cancel()
	wg.Wait()
	if err := s.Rollup(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"clicks_1m", "clicks_1h", "clicks_1d"} {
		if got := one(t, c, "SELECT sum(hits) FROM "+c.name(view)); got != fmt.Sprintf("(%d)", flushes*perFlush) {
			t.Errorf("%s counts %s", view, got)
		}
	}
}
