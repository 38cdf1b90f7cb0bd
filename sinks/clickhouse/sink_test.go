package clickhouse

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/audit"
	"weir/demo/local/localtest"
	"weir/event"
	"weir/sinks/clickhouse/wire"
)

const noon = 1_763_640_000_000 // 2025-11-20 12:00:00 UTC

// TestOrder: Write writes places, then the state rows of their windows, then the ledger
// lines that cover them, each after the one before is acknowledged. It writes nothing after
// an insert that failed.
func TestOrder(t *testing.T) {
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	s := install(t, dial(t, wire.Config{URLs: []string{b.URL}, Database: database}), clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), `{`)
	changes := op.Take()
	changes.Table.Seal()
	order := []string{"clicks_places_state", "clicks_state", "weir_dead_letters", "weir_ledger"}
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
			for setting, want := range map[string]string{"async_insert": "0", "wait_end_of_query": "1", "optimize_on_insert": "0", "insert_deduplicate": "0", "deduplicate_insert": "disable"} {
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

// TestLongStatement: a statement may be longer than the server's defaults allow, as that of weir_audit
// is in a database of 64 jobs.
func TestLongStatement(t *testing.T) {
	c := open(t)
	const most = 50_000 // elements, and 262,144 bytes
	if got := one(t, c, "SELECT length(["+strings.Repeat("1000000 + 1, ", most/2)+"1])"); got != "(25001)" {
		t.Errorf("the server answers %s", got)
	}
}

// TestProfile: the account has a profile with limits at which statements end early. What weir
// asks for is whole, or an error; a rollup lacks no group.
func TestProfile(t *testing.T) {
	engine, database := localtest.Engine(t)
	u, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	var profile atomic.Value
	profile.Store("")
	direct := httputil.NewSingleHostReverseProxy(u)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query()
		set, _ := url.ParseQuery(profile.Load().(string))
		for name, values := range set {
			if !given.Has(name) { // what a statement says itself comes before the profile
				given[name] = values
			}
		}
		r.URL.RawQuery = given.Encode()
		direct.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := dial(t, wire.Config{URLs: []string{server.URL}, Database: database})
	j := clicks()
	j.Spec.MaxGroups = 1000
	s := full(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	questions := []string{
		"SELECT page, count() FROM " + c.Name("clicks_state") + " GROUP BY page", "SELECT DISTINCT page FROM " + c.Name("clicks_state"),
		"SELECT page, hits FROM " + c.Name("clicks_state") + " ORDER BY hits, page", "SELECT page, hits FROM " + c.Name("clicks_1m"),
	}
	events := 0
	for i, settings := range []string{
		"max_rows_to_group_by=10&group_by_overflow_mode=any", "max_rows_to_group_by=10&group_by_overflow_mode=break", "max_rows_to_read=10&max_block_size=10&read_overflow_mode=break",
		"max_result_rows=10&max_block_size=10&result_overflow_mode=break", "max_rows_to_sort=10&max_block_size=10&sort_overflow_mode=break",
		"max_rows_in_distinct=10&max_block_size=10&distinct_overflow_mode=break", "limit=10", "offset=10",
	} {
		var docs []string
		for k := range 300 {
			docs = append(docs, click(noon+int64(i)*60_000+int64(k), fmt.Sprint("/p/", k), k, fmt.Sprint("e", i, k)))
		}
		observe(t, op, 0, int64(events), noon, docs...)
		write(t, s, op.Take())
		events += len(docs)
		profile.Store(settings)
		refused := 0
		for _, sql := range questions {
			n := 0
			err := c.Query(t.Context(), "ask", sql, func(func(...any) error) error { n++; return nil })
			if err == nil && n < 300 {
				t.Errorf("%s: %s has %d rows and no error", settings, sql, n)
			}
			if err != nil {
				refused++
			}
		}
		if limited := strings.HasPrefix(settings, "max_"); limited != (refused > 0) {
			t.Errorf("%s: %d questions are refused, so this shows nothing", settings, refused)
		}
		failed := s.Rollup(t.Context(), true, 0)
		profile.Store("")
		if got := one(t, c, "SELECT sum(hits) FROM "+c.Name("clicks_1m")); got != fmt.Sprintf("(%d)", events) {
			t.Errorf("%s: the view has %s events, want %d; the rollup ended with %v", settings, got, events, failed)
		}
	}
}

// TestWriteAgain: the server stores a block that it was sent before. It would drop it, as
// tables with replicas do by default, although the part of the first attempt may be lost.
func TestWriteAgain(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	tables := []string{"clicks_state", "weir_ledger"}
	for _, table := range tables {
		for _, sql := range []string{"ALTER TABLE " + c.Name(table) + " MODIFY SETTING non_replicated_deduplication_window = 100", "SYSTEM STOP MERGES " + c.Name(table)} {
			if err := c.Exec(t.Context(), "prepare", sql, wire.QueryTimeout); err != nil {
				t.Fatal(err)
			}
		}
	}
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	changes := op.Take()
	write(t, s, changes)
	write(t, s, changes)
	for _, table := range tables {
		if got := one(t, c, "SELECT count() FROM "+c.Name(table)); got != "(2)" {
			t.Errorf("%s has %s rows of two equal inserts", table, got)
		}
	}
}

// lines puts lines into the ledger, each the values of lineColumns.
func lines(t *testing.T, c *Client, values ...string) {
	t.Helper()
	sql := "INSERT INTO " + c.Name("weir_ledger") + " (job, version, " + lineColumns + ") VALUES "
	for i, v := range values {
		if i > 0 {
			sql += ", "
		}
		sql += "('clicks', 1, " + v + ")"
	}
	if err := c.Exec(t.Context(), "test", sql, wire.QueryTimeout); err != nil {
		t.Fatal(err)
	}
}

const lineColumns = "epoch, partition, chunk, first, next, watermark, flushed_at"

// TestComplete: a window is complete when the watermark of every partition that is not
// idle has passed its end, and stays complete. A partition with records that the ledger
// does not cover is not idle.
func TestComplete(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	op := operator(t, s.layout.Spec, 0, 1)
	log := map[int32]event.Span{}
	var watermarks audit.Watermarks
	var since event.Time // between two looks
	complete := func(want string) {
		t.Helper()
		covered, err := s.Coverage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Rollup(t.Context(), false, watermarks.Look(&covered, log, since)); err != nil {
			t.Fatal(err)
		}
		sql := "SELECT toUnixTimestamp(window_start) - 1763640000, complete FROM " + c.Name("clicks_1m") + " ORDER BY window_start"
		if got := strings.Join(read(t, c, sql), " "); got != want {
			t.Errorf("complete: %s, want %s", got, want)
		}
	}
	observe(t, op, 0, 0, noon+125_000, click(noon, "/", 1, "a"), click(noon+61_000, "/", 1, "b"), click(noon+125_000, "/", 1, "c"))
	write(t, s, op.Take())
	// Partition 1 has a record, and nothing of it was counted yet…
	log[0], log[1] = event.Span{Next: 3}, event.Span{Next: 1}
	complete("(0,0) (60,0) (120,0)")
	observe(t, op, 1, 0, noon+59_999, click(noon+59_999, "/", 1, "d"))
	write(t, s, op.Take())
	// …or not far enough.
	complete("(0,0) (60,0) (120,0)")
	log[1] = event.Span{Next: 2}
	observe(t, op, 1, 1, noon+60_000, click(noon+60_000, "/", 1, "e"))
	write(t, s, op.Take())
	complete("(0,1) (60,0) (120,0)")
	// The server's clock says that the other lines are of hours before, and that those of
	// a third partition are still older…
	lines(t, c, "0, 2, 0, 0, 1, 1763640000, now() - 7200")
	b := &backend{c: c}
	b.exec(t, "ALTER TABLE "+c.Name("weir_ledger")+" MODIFY COLUMN flushed_at DEFAULT now() + 7200")
	observe(t, op, 1, 2, noon+180_000, click(noon+180_000, "/", 1, "f"))
	write(t, s, op.Take())
	log[1], log[2] = event.Span{Next: 3}, event.Span{Next: 1}
	complete("(0,1) (60,0) (120,0) (180,0)")
	// …which has been silent for two minutes, and has a record that the ledger does not cover…
	observe(t, op, 0, 3, noon+125_000, click(noon+125_000, "/", 1, "g"))
	observe(t, op, 1, 3, noon+180_000, click(noon+180_000, "/", 1, "h"))
	write(t, s, op.Take())
	log[0], log[1], log[2] = event.Span{Next: 4}, event.Span{Next: 4}, event.Span{Next: 2}
	since = 120_000
	complete("(0,1) (60,0) (120,0) (180,0)")
	// …and is idle only where there is none…
	log[2] = event.Span{Next: 1}
	since = 0
	complete("(0,1) (60,1) (120,0) (180,0)")
	// …and when it comes back, late, what was complete stays so.
	lines(t, c, "0, 2, 0, 0, 1, 1763640000, now() + 7200")
	complete("(0,1) (60,1) (120,0) (180,0)")
}

// TestAheadOfTheClock: if a chunk's watermark is ahead of the server's clock by more than
// skew, that chunk counts as having none; the partition's other chunks keep theirs.
func TestAheadOfTheClock(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	skew := s.layout.Spec.Skew
	now := event.Time(time.Now().UnixMilli())
	op := operator(t, s.layout.Spec, 0, 1)
	const far = event.Time(4_294_944_000_000) // 2106-02-07
	observe(t, op, 0, 0, now, click(int64(now), "/", 1, "a"))
	observe(t, op, 0, 1, far, click(int64(far), "/", 1, "b")) // the record's own time is as wrong
	observe(t, op, 1, 0, now+skew, click(int64(now+skew), "/", 1, "c"))
	write(t, s, op.Take())
	look := func(p int32, want audit.Covered) {
		t.Helper()
		covered, err := s.Coverage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := covered.Partitions[p]
		if got.Flushed == 0 || got.Flushed > covered.Now || covered.Now < now {
			t.Errorf("partition %d: flushed at %d, now %d, begun at %d", p, got.Flushed, covered.Now, now)
		}
		got.Flushed, got.TopicID, got.Earlier = 0, [16]byte{}, nil
		if got != want {
			t.Errorf("partition %d: %+v, want %+v", p, got, want)
		}
	}
	look(0, audit.Covered{Next: 2, Ahead: true})
	look(1, audit.Covered{Next: 1, Watermark: now + skew})
	// The next chunk, and an epoch after it.
	lines(t, c, "0, 0, 1, 64, 65, toDateTime64(1763640000, 3), now()")
	look(0, audit.Covered{Next: 65, Ahead: true, Watermark: noon})
	lines(t, c, "1, 0, 0, 0, 7, toDateTime64(1763640001, 3), now()")
	look(0, audit.Covered{Epoch: 1, Next: 7, Watermark: noon + 1000})
}
