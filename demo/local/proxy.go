package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"weir/internal/samesite"
)

// ClickHouse listens on a random port of loopback, and answers only requests that have a secret in this
// header, because a web page in a browser on this machine may guess the port. The
// proxy, which has the engine's address, refuses what such a page sends, and adds the secret.
const keyHeader = "X-Weir-Key"

// keyed is the configuration of a ClickHouse that wants the secret. Under the secret as a path it says
// that it is alive.
const keyed = `<clickhouse>
	<max_server_memory_usage>%[2]d</max_server_memory_usage>
	<mark_cache_size>%[3]d</mark_cache_size>
	<http_handlers>
		<rule>
			<url>/%[1]s</url>
			<handler><type>static</type><content_type>text/plain; charset=UTF-8</content_type><response_content>Ok.&#10;</response_content></handler>
		</rule>
		<rule>
			<headers><` + keyHeader + `>%[1]s</` + keyHeader + `></headers>
			<handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler>
		</rule>
	</http_handlers>
</clickhouse>
`

// newProxy returns the server in front of ClickHouse.
func (e *Engine) newProxy(loopback bool) *http.Server {
	quiet := log.New(io.Discard, "", 0) // a client that leaves, or a crash, which supervise reports
	forward := &httputil.ReverseProxy{
		Transport: &http.Transport{
			DialContext:         e.dial,
			DisableCompression:  true, // the client says what it wants
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     10 * time.Second, // before ClickHouse closes it, in the middle of a request
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine"
			r.Out.Header.Set(keyHeader, e.key)
			if r.In.URL.Path == "/ping" {
				r.Out.URL.Path = "/" + e.key
			}
			for _, account := range []string{"Authorization", "X-ClickHouse-User", "X-ClickHouse-Key"} {
				r.Out.Header.Del(account) // there are none
			}
		},
		// ClickHouse was killed, or does not run any more: so does its connection end.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     quiet,
	}
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// The engine has no accounts, and its SQL can read and write files.
			if err := samesite.Check(r, loopback); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			forward.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          quiet,
	}
}

// dial connects to ClickHouse. While there is none, because it has crashed and starts again, dial waits.
func (e *Engine) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var dialer net.Dialer
	for {
		if c := e.child(); c != nil {
			conn, err := dialer.DialContext(ctx, network, fmt.Sprint("127.0.0.1:", c.cfg.HTTP))
			if err == nil {
				return conn, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-e.done:
			return nil, errors.New("local: engine: it has stopped")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
