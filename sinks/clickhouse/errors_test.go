package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"weir/demo/local/localtest"
	"weir/internal/await"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// between is a proxy between the sink and the engine. It does to inserts into the tables
// of jobs what a test wants.
type between struct {
	*httptest.Server
	engine *httputil.ReverseProxy
	insert atomic.Pointer[func(w http.ResponseWriter, r *http.Request)]
}

func stand(t *testing.T, engine string) *between {
	t.Helper()
	u, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{engine: httputil.NewSingleHostReverseProxy(u)}
	b.engine.ErrorLog = nil
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := b.insert.Load(); f != nil && strings.HasPrefix(r.URL.Query().Get("query"), "INSERT INTO") {
			(*f)(w, r)
			return
		}
		b.engine.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *between) on(f func(w http.ResponseWriter, r *http.Request)) { b.insert.Store(&f) }
func (b *between) off()                                              { b.insert.Store(nil) }

// prepared returns a sink behind such a proxy, and changes to write.
func prepared(t *testing.T) (*between, *Sink, *window.Changes) {
	t.Helper()
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	c := dial(t, wire.Config{URLs: []string{b.URL}, Database: database, InsertTimeout: 2 * time.Second})
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	var docs []string
	for i := range 50 {
		docs = append(docs, click(noon+int64(i)*3000, fmt.Sprint("/p/", i%7), i, fmt.Sprint(i)))
	}
	observe(t, op, 0, 0, noon, docs...)
	changes := op.Take()
	changes.Table.Seal()
	return b, s, changes
}

// TestPlainHTTP: a server with TLS answers plain HTTP, and its text is lost when it resets the
// connection. An answer of ClickHouse's that is lost in this way is judged by its code.
func TestPlainHTTP(t *testing.T) {
	lost := fmt.Errorf("failed to read response: %w", &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	if err := wire.Explain("ping", &ch.HTTPError{StatusCode: http.StatusBadRequest, Err: lost}); !fatalWith(err, "write https:// in the url") {
		t.Errorf("plain HTTP to a port with TLS: %v", err)
	}
	for _, other := range []error{
		&ch.HTTPError{StatusCode: http.StatusBadRequest, Err: &ch.Exception{Code: 159, Message: "failed to read response body: connection reset by peer"}},
		&ch.HTTPError{StatusCode: http.StatusBadGateway, Err: lost}, lost,
	} {
		if err := wire.Explain("ask", other); fatalWith(err, "") {
			t.Errorf("%v is not tried again", err)
		}
	}
}

// TestAnswers: the code that ClickHouse answers decides whether weir tries
// again or stops with an error.
func TestAnswers(t *testing.T) {
	b, s, changes := prepared(t)
	for _, a := range []struct {
		status int
		code   int
		text   string
		fatal  string // a part of the remedy; empty: the error is temporary
	}{
		{500, 252, "Too many parts (3000). Merges are processing significantly slower than inserts. (TOO_MANY_PARTS)", ""},
		{500, 242, "Table is in readonly mode (TABLE_IS_READ_ONLY)", ""},
		{500, 285, "Number of alive replicas (1) is less than requested quorum (2/3) (TOO_FEW_LIVE_REPLICAS)", ""},
		{500, 319, "Unknown status, client must retry (UNKNOWN_STATUS_OF_INSERT)", ""},
		{500, 241, "Memory limit (total) exceeded (MEMORY_LIMIT_EXCEEDED)", ""},
		{500, 202, "Too many simultaneous queries (TOO_MANY_SIMULTANEOUS_QUERIES)", ""},
		{500, 159, "Timeout exceeded (TIMEOUT_EXCEEDED)", ""},
		{500, 209, "Timeout exceeded while reading from socket (SOCKET_TIMEOUT)", ""},
		{500, 210, "I/O error (NETWORK_ERROR)", ""},
		{500, 201, "Quota for user has been exceeded (QUOTA_EXCEEDED)", ""},
		{500, 243, "Cannot reserve 1.00 MiB, not enough space (NOT_ENOUGH_SPACE)", ""},
		{400, 33, "Cannot read all data (CANNOT_READ_ALL_DATA)", ""},
		{500, 999, "Session expired (KEEPER_EXCEPTION)", ""},
		{500, 4711, "an error that weir does not know", ""},
		{502, 0, "bad gateway", ""},
		{503, 0, "try later", ""},
		{404, 16, "No such column active (NO_SUCH_COLUMN_IN_TABLE)", "the table is not as `weir migrate` made it"},
		{404, 60, "Table does not exist (UNKNOWN_TABLE)", "run `weir migrate`"},
		{404, 81, "Database weir does not exist (UNKNOWN_DATABASE)", "run `weir migrate`"},
		{400, 53, "Type mismatch (TYPE_MISMATCH)", "the table is not as `weir migrate` made it"},
		{403, 497, "Not enough privileges (ACCESS_DENIED)", "lacks a right"},
		{500, 164, "Cannot execute query in readonly mode (READONLY)", "read-only"},
		{403, 516, "Authentication failed (AUTHENTICATION_FAILED)", "check user and password"},
		{404, 115, "Setting insert_deduplicate is neither a builtin setting (UNKNOWN_SETTING)", "ClickHouse 26.3"},
		{401, 0, "", "check user and password"},
		{404, 0, "nothing here", "not that of ClickHouse's HTTP interface"},
		{405, 0, "Method Not Allowed", "not that of ClickHouse's HTTP interface"}, // of a server that takes no POST
	} {
		b.on(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if a.code > 0 {
				w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(a.code))
				a.text = fmt.Sprintf("Code: %d. DB::Exception: %s", a.code, a.text)
			}
			w.WriteHeader(a.status)
			io.WriteString(w, a.text)
		})
		err := s.Write(t.Context(), changes)
		var e *wire.Error
		switch {
		case !errors.As(err, &e):
			t.Errorf("%d %s: error %v", a.code, a.text, err)
		case int(e.Code) != a.code:
			t.Errorf("%s: code %d", a.text, e.Code)
		case a.fatal == "" && e.Fatal():
			t.Errorf("%s: fatal: %v", a.text, err)
		case a.fatal != "" && (!e.Fatal() || !strings.Contains(err.Error(), a.fatal)):
			t.Errorf("%s: %v, want advice %q", a.text, err, a.fatal)
		}
	}
	b.off()
	write(t, s, changes)
}

// TestUnknownResult: inserts hang, lose their answers, are cut in the middle or are half
// stored. Each gives an error that is worth another attempt, and after that attempt the
// numbers are right.
func TestUnknownResult(t *testing.T) {
	b, s, changes := prepared(t)
	for name, f := range map[string]func(b *between, w http.ResponseWriter, r *http.Request){
		"answer lost": func(b *between, w http.ResponseWriter, r *http.Request) {
			b.engine.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"hangs": func(b *between, w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"cut in the middle of a block": func(b *between, w http.ResponseWriter, r *http.Request) {
			r.Body = io.NopCloser(io.LimitReader(r.Body, 200))
			r.ContentLength = -1
			b.engine.ServeHTTP(w, r)
		},
		"refused": func(b *between, w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
		"a page of what stands between": func(b *between, w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "<html>We are back soon</html>")
		},
		"an empty answer of what stands between": func(b *between, w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
		},
		"fails after the header": func(b *between, w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "\r\n__exception__\r\nabcdefghijklmnop\r\nCode: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n76 abcdefghijklmnop\r\n__exception__\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b.off()
			for _, table := range []string{"clicks_state", "clicks_places_state", "weir_ledger"} {
				run(t, s.client, "TRUNCATE TABLE "+s.client.Name(table))
			}
			for at := range 4 { // state, places, dead letters (none), ledger
				n := 0
				b.on(func(w http.ResponseWriter, r *http.Request) {
					if n++; n == at+1 {
						f(b, w, r)
						return
					}
					b.engine.ServeHTTP(w, r)
				})
				err := s.Write(t.Context(), changes)
				var e *wire.Error
				if at < 3 && (!errors.As(err, &e) || e.Fatal()) {
					t.Fatalf("insert %d: %v, want an error to try again", at, err)
				}
			}
			b.off()
			await.Until(t, func() error { return s.Write(t.Context(), changes) }) // an insert has two seconds
			backend := &backend{c: s.client}
			if got := one(t, backend.c, "SELECT sum(hits) FROM "+s.client.Name("clicks_1m")); got != "(50)" {
				t.Errorf("%s hits", got)
			}
			if got := one(t, backend.c, "SELECT count() FROM "+s.client.Name("weir_ledger")+" FINAL"); got != "(1)" {
				t.Errorf("%s ledger lines", got)
			}
		})
	}
}

// TestUnreachable: the error says that no server is at the address, or that the server is
// not ClickHouse.
func TestUnreachable(t *testing.T) {
	ctx := t.Context()
	var e *wire.Error
	c := dial(t, wire.Config{URLs: []string{"http://127.0.0.1:1"}, Database: "weir", User: "u", Password: "hunter2"})
	if err := c.Ping(ctx); !errors.As(err, &e) || e.Fatal() || err.Error() != "clickhouse: ping: dial tcp 127.0.0.1:1: connect: connection refused" {
		t.Errorf("no server: %v", err)
	}
	if _, err := c.Job(ctx, clicks()); !errors.As(err, &e) || e.Fatal() {
		t.Errorf("no server: %v", err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if err := dial(t, wire.Config{URLs: []string{other.URL}, Database: "weir"}).Ping(ctx); !fatalWith(err, "not that of ClickHouse") {
		t.Errorf("something else there: %v", err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "1\n") }))
	defer page.Close()
	err := dial(t, wire.Config{URLs: []string{page.URL}, Database: "weir"}).Ping(ctx)
	if !errors.As(err, &e) || e.Fatal() || !strings.Contains(err.Error(), "not ClickHouse's") {
		t.Errorf("something else there that says 200: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Ping(ctx); err == nil || fatalWith(err, "") {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRights: opening a job with an account that may not write is an error.
func TestRights(t *testing.T) {
	engine, database := localtest.Engine(t)
	install(t, dial(t, wire.Config{URLs: []string{engine}, Database: database}), clicks())
	answer := "SELECT toUInt8(0) AS result"
	b := stand(t, engine)
	b.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasPrefix(string(body), "CHECK GRANT") {
			body = []byte(answer)
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		b.engine.ServeHTTP(w, r)
	})
	c := dial(t, wire.Config{URLs: []string{b.URL}, Database: database})
	if _, err := c.Job(t.Context(), clicks()); !fatalWith(err, "grant SELECT and INSERT") {
		t.Errorf("without rights: %v", err)
	}
	answer = "SELECT toUInt8(1) AS result"
	if _, err := c.Job(t.Context(), clicks()); err != nil {
		t.Errorf("with rights: %v", err)
	}
}

// TestConfig: a configuration that cannot work is refused before any connection.
func TestConfig(t *testing.T) {
	for want, cfg := range map[string]wire.Config{
		"want http://":          {URLs: []string{"clickhouse://localhost:9000"}, Database: "weir"},
		"do not belong there":   {URLs: []string{"http://u:hunter2@localhost:8123"}, Database: "weir"},
		"but the url says http": {URLs: []string{"http://localhost:8123"}, Database: "weir", TLS: &tls.Config{}},
		"no digit first":        {URLs: []string{"http://localhost:8123"}, Database: "1weir"},
		"quotes":                {URLs: []string{"http://localhost:8123"}, Database: "weir", Cluster: "a'b"},
		"negative":              {URLs: []string{"http://localhost:8123"}, Database: "weir", InsertTimeout: -1},
	} {
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNoConnection: where a server that hangs holds all connections, the error says so, and
// not which settings the client library has.
func TestNoConnection(t *testing.T) {
	const want = "clickhouse: ask: no connection within 10s: the server does not answer, or others wait for it"
	if err := wire.Explain("ask", fmt.Errorf("query: %w", ch.ErrAcquireConnTimeout)); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestForeignView: a materialized view on a table of weir's whose own table was dropped is an outage, which
// ends with the view, and not a table that weir migrate makes.
func TestForeignView(t *testing.T) {
	_, s, changes := prepared(t)
	c := s.client
	name := func(table string) string { return wire.Quote(c.Config.Database) + "." + table }
	run(t, c, "CREATE TABLE "+name("seen")+" (page String) ENGINE = Null", "CREATE MATERIALIZED VIEW "+name("looks")+" TO "+name("seen")+" AS SELECT page FROM "+name("clicks_state"), "DROP TABLE "+name("seen"))
	err := s.Write(t.Context(), changes)
	if fatalWith(err, "") || err == nil || !strings.Contains(err.Error(), "drop the view, or make that table again") {
		t.Errorf("beside a view without its table, weir says %v", err)
	}
	run(t, c, "DROP VIEW "+name("looks"))
	if err := s.Write(t.Context(), changes); err != nil {
		t.Error(err)
	}
}
