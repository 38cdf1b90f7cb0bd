package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/sinks/clickhouse/wire"
)

// TestSplit: a flush beyond the bounds of a block is inserted as several blocks.
func TestSplit(t *testing.T) {
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	c := dial(t, wire.Config{URLs: []string{b.URL}, Database: database})
	j := clicks()
	j.Spec.Chunk = 16
	s := install(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	var docs []string
	for i := range 16 {
		docs = append(docs, click(noon+int64(i)*60_000, fmt.Sprintf("/p/%d", i%2), i, fmt.Sprint(i)), `{`)
	}
	observe(t, op, 0, 0, noon+3_900_000, docs...)
	changes := op.Take()
	changes.Table.Seal()
	if n := changes.Table.Len(); n != 16 {
		t.Fatalf("%d rows", n)
	}
	// 16 rows, positions and dead letters, the numbers of all windows but the latest, two ledger lines.
	for limit, want := range map[int]int{1: 65, 10: 9, 1 << 30: 5} {
		c.limit = limit
		inserts := 0
		b.on(func(w http.ResponseWriter, r *http.Request) {
			inserts++
			b.engine.ServeHTTP(w, r)
		})
		write(t, s, changes)
		b.off()
		if inserts != want {
			t.Errorf("%d rows a block: %d inserts, want %d", limit, inserts, want)
		}
		for sql, want := range map[string]string{
			"SELECT sum(hits), count() FROM " + c.Name("clicks_1m"):                      "(16,16)",
			"SELECT count() FROM " + c.Name("clicks_places"):                             "(16)",
			"SELECT count() FROM " + c.Name("weir_dead_letters") + " FINAL":              "(16)",
			"SELECT sum(next - first), count() FROM " + c.Name("weir_ledger") + " FINAL": "(32,2)",
		} {
			if got := one(t, c, sql); got != want {
				t.Errorf("limit %d: %s is %s, want %s", limit, sql, got, want)
			}
		}
	}
}

// answered returns a sink whose inserts a function answers instead of the engine.
func answered(t *testing.T, timeout time.Duration, serve http.HandlerFunc) *Sink {
	t.Helper()
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	b.on(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-ClickHouse-Query-Id", "1")
		serve(w, r)
	})
	l, err := clicks().Plan()
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, wire.Config{URLs: []string{b.URL}, Database: database, InsertTimeout: timeout}).sink(l)
}

// TestFlushInPieces: however large a flush is, a statement stays about within its bound.
func TestFlushInPieces(t *testing.T) {
	var sizes []int64
	s := answered(t, time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Error(err)
		}
		sizes = append(sizes, n)
	})
	const rows = 3000 // of 12 KiB each, with more than 100 ids
	s.layout.Spec.MaxGroups, s.layout.Spec.Chunk = rows, 1<<30
	op := operator(t, s.layout.Spec, 0)
	var docs []string
	for page := range rows {
		for user := range 105 {
			docs = append(docs, fmt.Sprintf(`{"ts":%d,"page":"/%d","user":%d,"id":"x","lon":1,"lat":1}`, noon, page, user*7919))
		}
	}
	observe(t, op, 0, 0, noon, docs...)
	table := op.Take().Table
	table.Seal()
	if table.Len() != rows {
		t.Fatalf("%d rows", table.Len())
	}
	for from := 0; from < rows; {
		var err error
		if from, err = s.writeState(t.Context(), table, nil, []int{rows}, from, 1); err != nil {
			t.Fatal(err)
		}
	}
	all := int64(0)
	for _, size := range sizes {
		if all += size; size > blockBytes+blockBytes/8 {
			t.Errorf("a statement of %d bytes", size)
		}
	}
	if all < rows*12<<10 || int64(len(sizes)) > all/blockBytes+2 {
		t.Errorf("statements of %d bytes", sizes)
	}
}

// TestSlowConnection: a statement of state rows that is too large for its deadline becomes smaller with
// each attempt, so a flush ends. Afterwards statements become larger again.
func TestSlowConnection(t *testing.T) {
	const rows, limit = 1000, 8 << 10 // bytes that come through in time
	got := 0
	s := answered(t, 500*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n > limit {
			<-r.Context().Done()
			return
		}
		got++
	})
	s.layout.Spec.MaxGroups = rows
	op := operator(t, s.layout.Spec, 0)
	var docs []string
	for page := range 200 {
		docs = append(docs, click(noon, fmt.Sprint("/", page), page, fmt.Sprint(page)))
	}
	observe(t, op, 0, 0, noon, docs...)
	table := op.Take().Table
	table.Seal()
	for from, failed := 0, 0; from < table.Len(); {
		next, err := s.writeState(t.Context(), table, nil, []int{table.Len()}, from, 1)
		if from = next; err == nil {
			continue
		}
		if failed++; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if failed > 40 {
			t.Fatalf("%d rows are written, and no statement comes through: it has %d rows", from, s.most)
		}
	}
	if got < 2 {
		t.Errorf("%d statements: the test tests nothing", got)
	}
}

// TestAim: how many rows the next statement has.
func TestAim(t *testing.T) {
	s := &Sink{client: &Client{DB: &wire.DB{Config: wire.Config{InsertTimeout: 8 * time.Second}}}}
	for _, c := range []struct {
		most, rows, sent int
		took             time.Duration
		want             int
		why              string
	}{
		{1000, 1000, 1 << 20, time.Millisecond, 4000, "at most four times as many"},
		{1000, 3, 3 << 10, time.Millisecond, 1000, "a few rows say nothing"},
		{1, 1, 1 << 10, time.Millisecond, 4, "a few rows were all that were let"},
		{1000, 1000, 1000<<20 - 1000, time.Millisecond, blockBytes >> 20, "of a megabyte each"},
		{1000, 1000, 32<<20 - 1000, 4 * time.Second, 250, "too slow for half of the deadline"},
		{1000, 10, 10 << 10, 4 * time.Second, 1000, "slow for another reason"},
		{1000, 1000, 8<<20 - 1000, 7 * time.Second, 500, "not less than keptBytes"},
	} {
		s.most = c.most
		if s.aim(c.rows, c.sent, c.took); s.most < c.want-c.want/100 || s.most > c.want+c.want/100 {
			t.Errorf("%s: %d rows, want %d", c.why, s.most, c.want)
		}
	}
}

// TestShardOf: the shard of a group never changes, because rows are there.
func TestShardOf(t *testing.T) {
	three := make(wire.Shards, 3)
	var got []int
	for i := range 12 {
		got = append(got, three.Of("clicks", []byte(fmt.Sprint("/p/", i)), []byte("de")))
	}
	got = append(got, three.Of("clicks"), three.Of("views"), three.Of("clicks", []byte("a"), []byte("bc")), three.Of("clicks", []byte("ab"), []byte("c")))
	if want := "[1 1 1 2 0 0 2 1 0 1 1 1 2 1 1 0]"; fmt.Sprint(got) != want {
		t.Errorf("shards %v, want %s", got, want)
	}
	var sizes [3]int
	for i := range 30_000 {
		sizes[three.Of("clicks", []byte(fmt.Sprint("/p/", i)))]++
	}
	for i, n := range sizes {
		if n < 9500 || n > 10500 {
			t.Errorf("shard %d has %d of 30,000 groups", i, n)
		}
	}
}
