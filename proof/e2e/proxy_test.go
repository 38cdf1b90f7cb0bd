package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A proxy stands between weir and ClickHouse. It forwards every request until a
// test sets another handler, which makes a fault.
type proxy struct {
	url     string // the address that weir gets
	forward *httputil.ReverseProxy
	log     *log.Logger

	mu      sync.Mutex
	rng     *rand.Rand
	handler http.HandlerFunc // nil: it forwards
	count   int              // requests that the present handler got
	late    sync.WaitGroup   // inserts that have not landed yet
}

func newProxy(t *testing.T, engine string) *proxy {
	t.Helper()
	to, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{log: log.New(io.Discard, "", 0), rng: rand.New(rand.NewPCG(1, 0))}
	p.forward = &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorLog: p.log,
		// If the engine is unreachable, the client's connection breaks too.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = p.log
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		p.late.Wait()
	})
	p.url = server.URL
	return p
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	handler := p.handler
	if handler != nil {
		p.count++
	}
	p.mu.Unlock()
	if handler == nil {
		handler = p.forward.ServeHTTP
	}
	handler(w, r)
}

// handle sets the handler of all requests from now on; nil forwards them.
func (p *proxy) handle(handler http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler, p.count = handler, 0
}

// draw is a random number below n. Requests get the numbers in the order in
// which they come.
func (p *proxy) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rng.IntN(n)
}

// handled is the number of requests that the present handler got.
func (p *proxy) handled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// inserts reports whether a request inserts rows into a table; with an empty
// name, into any.
func inserts(r *http.Request, table string) bool {
	q := r.URL.Query().Get("query") // an INSERT … SELECT comes in the body
	return strings.HasPrefix(q, "INSERT") && strings.Contains(q, table)
}

// slow answers late and reads the request in small pieces.
func (p *proxy) slow(before, bite time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(before)
		r.Body = slowBody{r.Body, bite}
		p.forward.ServeHTTP(w, r)
	}
}

type slowBody struct {
	io.ReadCloser
	bite time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.bite)
	return b.ReadCloser.Read(p[:min(len(p), 1024)])
}

var errCut = errors.New("cut off")

// cut breaks both connections in the middle of the request.
func (p *proxy) cut(w http.ResponseWriter, r *http.Request) {
	r.Body = &cutBody{ReadCloser: r.Body, left: 1 + p.draw(8000)}
	p.forward.ServeHTTP(w, r)
}

type cutBody struct {
	io.ReadCloser
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errCut
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil { // the request is shorter: its end is lost
		err = errCut
	}
	return n, err
}

// deaf forwards requests and drops the answers.
func (p *proxy) deaf(_ http.ResponseWriter, r *http.Request) {
	p.forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// refusals are answers of a ClickHouse that runs but cannot insert.
var refusals = []struct {
	code int
	text string
}{
	{252, "Too many parts (3000). Merges are processing significantly slower than inserts. (TOO_MANY_PARTS)"},
	{241, "Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)"},
	{202, "Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)"},
	{242, "Table is in readonly mode. (TABLE_IS_READ_ONLY)"},
	{285, "Number of alive replicas (1) is less than requested quorum (2/3). (TOO_FEW_LIVE_REPLICAS)"},
	{319, "Unknown status, client must retry. (UNKNOWN_STATUS_OF_INSERT)"},
	{159, "Timeout exceeded. (TIMEOUT_EXCEEDED)"},
}

const noSpace, noSpaceText = 243, "Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)"

// refuse answers with one of the errors, in turn.
func (p *proxy) refuse(w http.ResponseWriter, r *http.Request) {
	with := refusals[p.draw(len(refusals))]
	refuse(w, r, with.code, with.text)
}

func refuse(w http.ResponseWriter, r *http.Request, code int, text string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, "Code: %d. DB::Exception: %s\n", code, text)
}

// delay cuts the connection of an insert after it has arrived whole, and sends
// the insert to ClickHouse after a time, when newer ones are there.
func (p *proxy) delay(by time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !inserts(r, "") {
			p.forward.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		p.late.Go(func() {
			defer func() { _ = recover() }() // the engine is away: it never lands
			time.Sleep(by)
			p.forward.ServeHTTP(httptest.NewRecorder(), again)
		})
		panic(http.ErrAbortHandler)
	}
}

// swallow acknowledges inserts into a table and drops them. No writer can
// survive that; the test shows that the comparison notices it.
func (p *proxy) swallow(table string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !inserts(r, table) {
			p.forward.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-ClickHouse-Query-Id", "swallowed") // without it weir does not accept the answer
		w.WriteHeader(http.StatusOK)
	}
}
