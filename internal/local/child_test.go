package local

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRelay: a child's records reach the parent's log as records, whatever
// pieces they come in; a crash's output comes as warnings, and its last line
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
	fmt.Fprintln(&child, "the end")
	for _, b := range child.Bytes() {
		if n, err := r.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
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
	if len(lines) > 8 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestRestartWaits(t *testing.T) {
	want := []string{"0s", "100ms", "200ms", "400ms", "800ms", "1.6s", "3.2s", "5s", "5s"}
	for i, w := range want {
		if got := defaultRestarts.wait(i + 1).String(); got != w {
			t.Errorf("after crash %d: %s, want %s", i+1, got, w)
		}
	}
	if got := defaultRestarts.wait(1 << 40); got != defaultRestarts.max {
		t.Errorf("after very many: %v", got)
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
