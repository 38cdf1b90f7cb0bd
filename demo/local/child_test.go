package local

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"weir/demo/child"
	"weir/internal/await"
)

// TestLastWords: the reason why a child has ended is its last line, however its output is cut, or the
// first line of a Go crash. The lines are in the log.
func TestLastWords(t *testing.T) {
	for output, want := range map[string]string{
		"one\nthe last\n": "the last (exit status 7)",
		"half a line":     "half a line (exit status 7)",
		strings.Repeat("x", 40<<10) + "\nthe end": "the end (exit status 7)",
		"":                                    "exit status 7",
		"panic: out of luck\n\ngoroutine 1\n": "panic: out of luck (exit status 7)",
	} {
		var log await.Output
		n := &Native{Process: &child.Process{Err: errors.New("exit status 7")}, said: said{log: slog.New(slog.NewTextHandler(&log, nil))}}
		for i := range len(output) {
			_, _ = n.said.Write([]byte{output[i]})
		}
		n.said.end()
		if got := n.why().Error(); got != want {
			t.Errorf("%.20q: %q, want %q", output, got, want)
		}
		if words, _, _ := strings.Cut(want, " ("); output != "" && !strings.Contains(log.String(), words) {
			t.Errorf("%.20q: not in the log: %s", output, log.String())
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
				if _, err := dlopen(file); err == nil || !strings.Contains(err.Error(), file) {
					t.Errorf("the reason got lost: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
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
