package http

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/await"
	"weir/internal/tcptest"
)

// TestHost: a listener on loopback without a token answers only requests with
// its own host name, so that no web page can read it through a name that
// resolves to 127.0.0.1. Health checks, and requests with the token, may use
// any host name.
func TestHost(t *testing.T) {
	serve := func(h *Server, listen string) (port string) {
		t.Helper()
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx, l) }()
		t.Cleanup(func() {
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		_, port, _ = net.SplitHostPort(l.Addr().String())
		return port
	}
	ask := func(port, path, host string, header ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequest("GET", "http://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	open, public, guarded := serve(&Server{}, "127.0.0.1:0"), serve(&Server{}, "0.0.0.0:0"), serve(&Server{Token: "plum"}, "127.0.0.1:0")
	paths := []string{"/", "/metrics", "/api/v1/status"}
	for _, path := range paths {
		for _, c := range []struct {
			name, port, host string
			header           []string
			want             int
		}{
			{"its own name", open, "127.0.0.1:" + open, nil, 200},
			{"localhost", open, "localhost", nil, 200},
			{"a rebound name", open, "evil.example", nil, 403},
			{"a rebound name with its origin", open, "evil.example", []string{"Origin", "http://evil.example"}, 403},
			{"another origin", open, "localhost", []string{"Origin", "http://evil.example"}, 403},
			{"another site", open, "localhost", []string{"Sec-Fetch-Site", "cross-site"}, 403},
			{"a name of the network, public", public, "weir.internal:8686", nil, 200},
			{"another origin, public", public, "weir.internal:8686", []string{"Origin", "http://evil.example"}, 403},
			{"any name with the token", guarded, "weir.example", []string{"Authorization", "Bearer plum", "Origin", "http://grafana.example"}, 200},
			{"any name without the token", guarded, "weir.example", nil, 401},
			{"a link on another site", open, "localhost", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
			{"a frame on another site", open, "localhost", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
			{"a link to a rebound name", open, "evil.example", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		} {
			if path == "/" && (c.name == "any name without the token" || c.name == "a link on another site") { // the page holds no data
				c.want = 200
			}
			if code, text := ask(c.port, path, c.host, c.header...); code != c.want || code == 403 && !strings.Contains(text, "refused") {
				t.Errorf("%s, %s: %d %.100q, want %d", path, c.name, code, text, c.want)
			}
		}
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if code, _ := ask(open, path, "10.1.2.3:8686"); code != 200 {
			t.Errorf("%s from an orchestrator: %d", path, code)
		}
	}
}

// failingListener fails once before it accepts.
type failingListener struct {
	net.Listener
	failed bool
}

func (l *failingListener) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestServerLog: messages of net/http become ordinary lines of the log.
func TestServerLog(t *testing.T) {
	l := tcptest.Listen(t)
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := &Server{Log: slog.New(slog.NewJSONHandler(&out, nil))}
	go func() { served <- h.Serve(ctx, &failingListener{Listener: l}) }()
	res, err := http.Get("http://" + l.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	var line struct{ Level, Msg string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "WARN" || !strings.Contains(line.Msg, "http: Accept error") {
		t.Errorf("the log says %q (%v)", &out, err)
	}
}

// TestRefusals: guesses of the token are counted, and logged once a minute.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out await.Output
		h := &Server{Token: "plum", Log: slog.New(slog.NewTextHandler(&out, nil))}
		handler := h.Handler()
		guess := func(n int) {
			for range n {
				ask(t, handler, "GET", "/metrics", "Bearer pear")
			}
		}
		lines := func(want int, last string) {
			t.Helper()
			synctest.Wait()
			text := strings.TrimSpace(out.String())
			if n := strings.Count(text, "refused"); n != want || !strings.Contains(text[strings.LastIndex(text, "\n")+1:], last) {
				t.Errorf("%d lines, want %d, the last with %s:\n%s", n, want, last, text)
			}
		}
		guess(1)
		lines(1, "requests=1 ")
		guess(5000)
		lines(1, "requests=1 ")
		time.Sleep(refusalsPause + 1)
		guess(2)
		lines(2, "requests=5001 last_from=192.0.2.1:1234")
		if n := h.refused.count(); n != 5003 {
			t.Errorf("%d refused, want 5003", n)
		}
	})
}
