package bounded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadFile: ReadFile ends for any kind of file, with a clear error.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, wrong string }{
		{at("right", "all of it"), "all of it", ""},
		{at("empty", ""), "", ""},
		{at("large", strings.Repeat("x", 11)), "", "larger than 10B"},
		{"/dev/zero", "", "larger than 10B"},
		{"/dev/null", "", ""},
		{dir, "", "a directory"},
		{pipe, "", "nothing writes into this pipe"},
		{filepath.Join(dir, "none"), "", "no such file"},
	} {
		got, err := ReadFile(c.path, 10)
		if string(got) != c.want || (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), dir)) {
			t.Errorf("%s: %q, %v; want %q, %q", c.path, got, err, c.want, c.wrong)
		}
	}
}

// TestReadPipe: ReadFile reads a pipe to its end, and does not wait for ever
// for one that does not end.
func TestReadPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd()) // as the shell's <(…) names it
	if _, err := w.WriteString("jobs: "); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(path, 100, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not closed it") {
		t.Errorf("an open pipe: %q, %v", data, err)
	}
	if _, err := w.WriteString("jobs: []\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if data, err := ReadFile(path, 100); string(data) != "jobs: []\n" || err != nil {
		t.Errorf("a pipe: %q, %v", data, err)
	}
}
