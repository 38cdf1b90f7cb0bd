package clickhouse

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"sync"
	"testing"
	"time"

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
	direct := dial(t, Config{URL: url, Database: database})
	writer := unaudited(t, direct, actives())
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
		sinks = append(sinks, another(dial(t, Config{URL: between.URL, Database: database}), writer))
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
	exact(t, writer, "after the trouble", 2)
}
