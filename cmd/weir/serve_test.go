package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/await"
	"weir/internal/redistest"
)

// TestServe runs the command: it answers, requires the password, and exits with
// 0 after a signal.
func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("opensesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log await.Output
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--password-file", file, "--read-only"}, &log, &log)
	}()
	var addr string
	await.Until(t, func() error {
		if addr = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(log.String()); addr == "" {
			return fmt.Errorf("it does not say where it listens: %s", log.String())
		}
		return nil
	})
	c, err := redistest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, step := range []struct {
		want any
		args []any
	}{
		{redistest.Error("NOAUTH Authentication required."), []any{"PING"}},
		{"OK", []any{"AUTH", "opensesame"}},
		{"PONG", []any{"PING"}},
		{redistest.Error("READONLY This server only answers reads."), []any{"SET", "k", "v"}},
		{int64(0), []any{"PFCOUNT", "k"}},
	} {
		if got, err := c.Do(step.args...); err != nil || got != step.want {
			t.Errorf("%v = %v, %v; want %v", step.args, got, err, step.want)
		}
	}
	cancel()
	if n := await.Receive(t, "its end", code); n != 0 {
		t.Errorf("exit code %d: %s", n, log.String())
	}
	if strings.Contains(log.String(), "opensesame") {
		t.Errorf("the log has the password: %s", log.String())
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("it still listens")
	}
}

func TestServeStaysOnLoopback(t *testing.T) {
	t.Setenv("WEIR_RESP_PASSWORD", "")
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "example.org:1"} {
		var out await.Output
		if code := execute(t.Context(), []string{"serve", "--listen", listen}, &out, &out); code != exitConfig {
			t.Errorf("--listen %s without a password: exit code %d: %s", listen, code, out.String())
		}
	}
	var out await.Output
	if code := execute(t.Context(), []string{"serve", "--memory", "0B"}, &out, &out); code != exitUsage {
		t.Errorf("--memory 0B: exit code %d, want %d: %s", code, exitUsage, out.String())
	}
	if code := execute(t.Context(), []string{"serve", "--listen", "nonsense"}, &out, &out); code != exitUsage {
		t.Errorf("--listen nonsense: exit code %d: %s", code, out.String())
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		if err := guardListen(listen, false); err != nil {
			t.Errorf("--listen %s: %v", listen, err)
		}
	}
	if err := guardListen("0.0.0.0:6379", true); err != nil {
		t.Errorf("with a password: %v", err)
	}
}
