package clickhouse

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"strings"
	"testing"

	"weir/demo/local/localtest"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// TestHalfAnswers: what an answer with status 200 says besides decides whether a statement is done.
// ClickHouse sends that status before it knows, where the account's profile has it send progress.
func TestHalfAnswers(t *testing.T) {
	url, database := localtest.Engine(t)
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	engine := httputil.NewSingleHostReverseProxy(where)
	var part string // of the statements that are answered in another way
	var passing int // so many of them reach the engine first
	var answer func(w http.ResponseWriter)
	hits := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if q.URL.Query().Get("send_progress_in_http_headers") != "0" {
			t.Error("the profile of the account may send status 200 at the first progress")
		}
		if part != "" && strings.Contains(q.URL.Query().Get("query")+string(body), part) {
			if hits++; hits > passing {
				w.Header().Set("X-ClickHouse-Query-Id", "1")
				answer(w)
				return
			}
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		engine.ServeHTTP(w, q)
	}))
	t.Cleanup(proxy.Close)
	direct := dial(t, wire.Config{URLs: []string{url}, Database: database})
	other := install(t, direct, actives())
	f := &tap{op: operator(t, other.layout.Spec, 0)}
	write(t, other, f.flow(t, 6))
	c := dial(t, wire.Config{URLs: []string{proxy.URL}, Database: database})
	roller := func() *Sink { return another(c, other) } // each time without what it remembers

	const refusal = "Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)"
	answers := map[string]func(w http.ResponseWriter){
		"an exception in the header": func(w http.ResponseWriter) {
			w.Header().Set("X-ClickHouse-Exception-Code", "241")
			io.WriteString(w, refusal)
		},
		"an exception in the header alone": func(w http.ResponseWriter) { w.Header().Set("X-ClickHouse-Exception-Code", "241") },
		"an exception in the body": func(w http.ResponseWriter) {
			io.WriteString(w, "\r\n__exception__\r\nabcdefghijklmnop\r\n"+refusal+"\n76 abcdefghijklmnop\r\n__exception__\r\n")
		},
		"an exception in the place of rows": func(w http.ResponseWriter) {
			w.Header().Set("X-ClickHouse-Format", "Native")
			io.WriteString(w, "\r\n__exception__\r\nabcdefghijklmnop\r\n"+refusal+"\n76 abcdefghijklmnop\r\n__exception__\r\n")
		},
		"the beginning of rows": func(w http.ResponseWriter) {
			w.Header().Set("X-ClickHouse-Format", "Native")
			io.WriteString(w, "\x01")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"the beginning of a body": func(w http.ResponseWriter) {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"a text": func(w http.ResponseWriter) { io.WriteString(w, "We are back soon") },
	}
	for what, of := range map[string]struct {
		part    string
		passing int
		do      func(ctx context.Context) error
	}{
		"a rollup":          {part: "`.`clicks_1m_rollup` (", do: func(ctx context.Context) error { return roller().Rollup(ctx, true, 0) }},
		"opening a round":   {part: "`.`weir_rollups` (", do: func(ctx context.Context) error { return roller().Rollup(ctx, true, 0) }},
		"noting the rollup": {part: "`.`weir_rollups` (", passing: 1, do: func(ctx context.Context) error { return roller().Rollup(ctx, true, 0) }},
		"a repair":          {part: "`.`clicks_1m_rollup` (", do: func(ctx context.Context) error { _, err := roller().Repair(ctx, 0, 0, nil); return err }},
		"a migration": {part: "CREATE ", do: func(ctx context.Context) error {
			_, err := c.Migrate(ctx, []schema.Job{clicks()}, migrate.Options{})
			return err
		}},
		"a flush":       {part: "`.`clicks_state` (", do: func(ctx context.Context) error { return roller().Write(ctx, f.flow(t, 6)) }},
		"a ledger line": {part: "`.`weir_ledger` (", do: func(ctx context.Context) error { return roller().Write(ctx, f.flow(t, 6)) }},
	} {
		for how, a := range answers {
			part, passing, answer, hits = of.part, of.passing, a, 0
			err := of.do(t.Context())
			switch {
			case hits <= passing:
				t.Errorf("%s: no statement came by: the test tests nothing", what)
			case err == nil:
				t.Errorf("%s counts as done after %s", what, how)
			case strings.Contains(how, "exception") && !strings.Contains(err.Error(), "241") && !strings.Contains(err.Error(), "Memory limit"):
				t.Errorf("%s after %s: %v, want the exception", what, how, err)
			}
		}
	}
	part = ""
	roll(t, other, true)
	exact(t, other, "in the end")
}
