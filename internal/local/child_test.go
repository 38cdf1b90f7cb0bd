package local

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/tcptest"
)

// TestRelay: a child's records reach the parent's log as records, however they
// are split into writes; a crash's output comes as warnings, and its last line
// is kept as the reason.
func TestRelay(t *testing.T) {
	var out bytes.Buffer
	r := &relay{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))}
	var child bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&child, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: childLog.ReplaceAttr}))
	log.Info("engine: ready", "url", "http://x", "data", "/d", "took", 250*time.Millisecond)
	log.Debug("not wanted")
	log.Error("bad", "n", 1)
	fmt.Fprint(&child, "\n\nfatal error: out of luck\n"+strings.Repeat("x", 40<<10)+"\n")
	fmt.Fprint(&child, "the end") // and no line end
	for _, b := range child.Bytes() {
		if n, err := r.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	r.end()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`level=INFO msg="engine: ready" data=/d took=250ms url=http://x`,
		`level=ERROR msg=bad n=1`,
		`level=WARN msg="engine: fatal error: out of luck"`,
	}
	for i, w := range want {
		if lines[i] != w {
			t.Errorf("line %d: %s\nwant %s", i, lines[i], w)
		}
	}
	if got := lines[len(lines)-1]; got != `level=WARN msg="engine: the end"` || r.last != "the end" {
		t.Errorf("last line %s, kept %q", got, r.last)
	}
	if got := r.words(); got != "fatal error: out of luck" {
		t.Errorf("the words are %q", got)
	}
	if len(lines) > 8 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestLastWords: the error contains the last output of a child, for any length
// of output, with or without a line end, and whether or not the child has read
// or answered the request.
func TestLastWords(t *testing.T) {
	l := tcptest.Listen(t)
	sock, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	for name, c := range map[string]struct{ script, want string }{
		"a line":       {"echo one >&2; echo the last >&2; exit 7", "the last (exit status 7)"},
		"half a line":  {"printf 'cannot go on' >&2; exit 7", "cannot go on (exit status 7)"},
		"much":         {"yes chatter | head -c 1000000 >&2; printf 'the end' >&2; exit 7", "the end (exit status 7)"},
		"nothing":      {"exit 7", "exit status 7"},
		"a panic":      {"echo 'panic: out of luck' >&2; echo 'main.main()' >&2; exit 2", "panic: out of luck (exit status 2)"},
		"killed":       {"printf 'so far' >&2; kill -9 $$", "so far (signal: killed)"},
		"ends by 0":    {"printf 'enough' >&2", "enough (it ended by itself)"},
		"with records": {`echo out of luck >&2; echo '{"level":"INFO","msg":"stopped"}' >&2; exit 7`, "out of luck (exit status 7)"},
	} {
		exe := filepath.Join(t.TempDir(), "child")
		if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		e := &Engine{url: "http://" + l.Addr().String(), cfg: EngineConfig{Log: slog.New(slog.DiscardHandler)}, exe: exe, sock: sock}
		if _, err := e.launch(t.Context()); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLoadErrorIsKept: the error of a library that cannot be loaded has the
// system's reason, which the system keeps per thread.
func TestLoadErrorIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no-library")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range 500 {
				if _, err := load(file); err == nil || !strings.Contains(err.Error(), file) {
					t.Errorf("the reason got lost: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestRestartWaits(t *testing.T) {
	want := []string{"0s", "100ms", "200ms", "400ms", "800ms", "1.6s", "3.2s", "5s", "5s"}
	r := defaultRestarts
	for i, w := range want {
		if got := r.wait(i + 1).String(); got != w {
			t.Errorf("after crash %d: %s, want %s", i+1, got, w)
		}
	}
	if got := r.wait(1); got != 0 {
		t.Errorf("after a first crash again: %s, want 0s", got)
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"": "127.0.0.1:8123", ":9": "127.0.0.1:9", "0.0.0.0:9": "0.0.0.0:9", "[::1]:9": "[::1]:9", "host:0": "host:0", "nonsense": "", "1.2.3.4": "",
	} {
		if got, err := loopback(addr, "8123"); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", addr, got, err)
		}
	}
}
