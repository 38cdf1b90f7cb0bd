package main

import (
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// TestScratchKeysOfRun: in weir run the keys of clients keep to memory, as the
// windows do.
func TestScratchKeysOfRun(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	_, out, _ := s.start(t, "run", "--memory=64MiB", "--resp.listen=127.0.0.1:0")
	at := regexp.MustCompile(`"resp":"([^"]+)"`)
	eventually(t, "a listener", func() bool { return at.MatchString(out.String()) })
	c, err := redistest.Dial(at.FindStringSubmatch(out.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Do("CONFIG", "GET", "maxmemory")
	if want := []any{"maxmemory", "67108864"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("CONFIG GET maxmemory = %v, %v; want %v", got, err, want)
	}
}

// TestPortTaken: a port that something else has is refused with the address, the
// key that changes it, and the name and number of the process that has it, where
// this system shows them.
func TestPortTaken(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	server, out, _ := s.start(t, "serve", "--listen", "127.0.0.1:0")
	at := regexp.MustCompile(`"redis":"([^"]+)"`)
	eventually(t, "a listener", func() bool { return at.MatchString(out.String()) })
	addr := at.FindStringSubmatch(out.String())[1]
	by := "another process"
	if runtime.GOOS == "linux" {
		by = fmt.Sprintf("weir (process %d)", server.Process.Pid)
	}
	for _, c := range []struct {
		key, change string
		args        []string
	}{
		{"http.listen", "http.listen, --http.listen or WEIR_HTTP_LISTEN", []string{"run", "--http.listen=" + addr}},
		{"resp.listen", "resp.listen, --resp.listen or WEIR_RESP_LISTEN", []string{"run", "--resp.listen=" + addr}},
		{"--listen", "--listen", []string{"serve", "--listen", addr}},
		{"--listen", "--listen", []string{"broker", "--data", t.TempDir(), "--listen", addr}},
	} {
		cmd, out, ended := s.start(t, c.args...)
		<-ended
		want := fmt.Sprintf("error: %s %s: the port is taken by %s\nhint: choose another address with %s\n", c.key, addr, by, c.change)
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(out.String(), want) {
			t.Errorf("weir %q: exit code %d, want 1 with\n%s\ngot\n%s", c.args, code, want, out)
		}
	}
}
