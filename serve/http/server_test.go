package http

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/tcptest"
)

// ask sends one request to a handler, with an Authorization header if that is
// not empty.
func ask(t *testing.T, h http.Handler, method, path, authorization string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// TestGuard: if there is a token, every path but the health checks needs the
// whole of it, and no answer contains it.
func TestGuard(t *testing.T) {
	const token = "correct-horse"
	guarded, open := (&Server{Token: token}).Handler(), (&Server{}).Handler()
	for _, c := range []struct {
		name, authorization string
		want                int
	}{
		{"none", "", 401},
		{"another", "Bearer wrong-horsey", 401},
		{"the beginning of it", "Bearer correct-hors", 401},
		{"more than it", "Bearer correct-horse!", 401},
		{"empty", "Bearer ", 401},
		{"without its scheme", token, 401},
		{"another scheme", "Basic " + token, 401},
		{"right", "Bearer " + token, 200},
	} {
		for _, path := range []string{"/metrics", "/api/v1/status"} {
			res := ask(t, guarded, "GET", path, c.authorization)
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.want {
				t.Errorf("%s token, %s: %d, want %d", c.name, path, res.StatusCode, c.want)
			}
			if c.want == 401 && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s token, %s: no word of what is wanted", c.name, path)
			}
			if all := fmt.Sprint(res.Header, string(body)); strings.Contains(all, token) {
				t.Errorf("%s token, %s: the token is in the answer: %s", c.name, path, all)
			}
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/"} {
		if res := ask(t, guarded, "GET", path, ""); res.StatusCode != 200 {
			t.Errorf("%s without a token: %d: an orchestrator has none, and the page asks for it", path, res.StatusCode)
		}
	}
	if res := ask(t, open, "GET", "/metrics", ""); res.StatusCode != 200 {
		t.Errorf("no token configured: %d", res.StatusCode)
	}
}

// TestAuditIsSeen: the status and the metrics show what the last audit found;
// /readyz names it too and still answers 200, because counting and answers are
// as good as before. Without an audit, or after one without findings, they show
// nothing.
func TestAuditIsSeen(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		audit                  func() Audit
		ready, status, metrics string
	}{
		{nil, "ok\n", `"jobs": []`, "go_goroutines"},
		{func() Audit { return Audit{} }, "ok\n", `"jobs": []`, "go_goroutines"},
		{func() Audit { return Audit{At: at} }, "ok\n", `"mismatches": 0`, "weir_audit_mismatches 0"},
		{func() Audit {
			return Audit{At: at, Mismatches: 12, Found: []Mismatch{{"clicks", "rows are gone", "run this"}}}
		},
			"ok\nbut the audit of 2026-11-01T12:00:00Z found 12 mismatches: see /api/v1/status, or run weir verify\n",
			`"mismatches": 12,
    "found": [
      {
        "job": "clicks",
        "what": "rows are gone",
        "do": "run this"
      }
    ]`, "weir_audit_mismatches 12"},
	} {
		h := (&Server{Audit: c.audit}).Handler()
		for path, want := range map[string]string{"/readyz": c.ready, "/api/v1/status": c.status, "/metrics": c.metrics} {
			res := ask(t, h, "GET", path, "")
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) || path == "/readyz" && string(body) != want {
				t.Errorf("%s: %s, %v: %s\nwant %s", path, res.Status, err, body, want)
			}
			if known := c.audit != nil && !c.audit().At.IsZero(); strings.Contains(string(body), "audit") != (known && (path != "/readyz" || c.audit().Mismatches > 0)) {
				t.Errorf("%s: %s", path, body)
			}
		}
	}
}

// TestAuditDue: when the first audit is due is known before it ends.
func TestAuditDue(t *testing.T) {
	due := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	res := ask(t, (&Server{Audit: func() Audit { return Audit{Due: due} }}).Handler(), "GET", "/metrics", "")
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "\nweir_audit_due_timestamp_seconds 1.7935344e+09\n") || strings.Contains(string(body), "mismatches") {
		t.Errorf("%v: %s", err, body)
	}
}

// TestMethods: HTTP changes nothing (only GET is allowed), and a path that is
// not documented does not exist.
func TestMethods(t *testing.T) {
	h := (&Server{}).Handler()
	for _, path := range []string{"/", "/metrics", "/livez", "/readyz", "/api/v1/status"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
			if res := ask(t, h, method, path, ""); res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, res.StatusCode)
			}
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/config", "/api/v1/status/x"} {
		if res := ask(t, h, "GET", path, ""); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestLimits: the server refuses a header that is too large, cuts off one that
// never ends, answers other clients meanwhile, and ends with its context.
func TestLimits(t *testing.T) {
	l := tcptest.Listen(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- (&Server{}).Serve(ctx, l) }()

	begun := time.Now()
	slow := dialHTTP(t, l, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	large := dialHTTP(t, l, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Large: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(large), nil)
	if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB: %+v, %v", res, err)
	}
	if res, err := http.Get("http://" + l.Addr().String() + "/livez"); err != nil || res.StatusCode != 200 {
		t.Errorf("beside the slow one: %+v, %v", res, err)
	} else {
		res.Body.Close()
	}
	if _, err := io.Copy(io.Discard, slow); err != nil {
		t.Errorf("the slow client was not cut off: %v", err)
	}
	if took := time.Since(begun); took < 4*time.Second {
		t.Errorf("a header that never ends was cut off after %s, want 5s", took)
	}

	idle := dialHTTP(t, l, "")
	stop()
	if err := await.Receive(t, "its end with its context", served); err != nil {
		t.Error(err)
	}
	idle.Close()
}

// dialHTTP connects and sends the beginning of a request.
func dialHTTP(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(await.Deadline()); err != nil {
		t.Fatal(err)
	}
	// A server that refuses a request early may close the connection before it has
	// read all of it.
	if _, err := io.WriteString(c, text); err != nil && len(text) < 1<<10 {
		t.Fatal(err)
	}
	return c
}
