package clickhouse

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/sinks/clickhouse/native"
	"weir/sinks/clickhouse/wire"
)

// However a server ends a request whose body it has not read, the insert is an error, and nothing reads the rows
// afterwards.
func TestInsertUnread(t *testing.T) {
	url, database := localtest.Engine(t)
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	engine := httputil.NewSingleHostReverseProxy(where)
	over := make(chan struct{})
	defer close(over)
	for name, answer := range map[string]http.HandlerFunc{
		"acknowledges rows that it has not read": func(http.ResponseWriter, *http.Request) {},
		"reads a byte and says nothing more": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			<-over
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query().Get("query"); strings.Contains(q, "INSERT") {
				w.Header().Set("X-ClickHouse-Query-Id", "1")
				answer(w, r)
				return
			}
			engine.ServeHTTP(w, r)
		}))
		var pulled atomic.Int64
		text := strings.Repeat("0123456789", 1000)
		rows := func(yield func(string) bool) {
			for range 20_000 { // more than any buffer on the way
				if pulled.Add(1); !yield(text) {
					return
				}
			}
		}
		columns := []native.Column[string]{native.String("text", func(row string) string { return row })}
		for limit := 300 * time.Millisecond; pulled.Load() == 0; limit *= 2 { // a slow machine has not begun before
			db, err := wire.Dial(wire.Config{URLs: []string{s.URL}, Database: database, InsertTimeout: limit})
			if err != nil {
				t.Fatal(err)
			}
			_, err = wire.Insert(t.Context(), db, db.Shards[0], "rows", new(native.Writer[string]), columns, 20_000, rows)
			if err == nil {
				t.Fatalf("a server %s: the insert succeeds", name)
			}
		}
		n := pulled.Load()
		time.Sleep(20 * time.Millisecond)
		if later := pulled.Load(); later != n {
			t.Errorf("a server %s: %d rows are read after the insert has returned", name, later-n)
		}
	}
}
