package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"weir/config"
)

// TestBudgets: the parts of memory add up to at most memory, for all listeners
// and all shares.
func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		listen       string
		memory, resp config.Size
		scratch      int
		counting     int64
	}{
		{"", 64 << 20, 0, 0, 64 << 20},
		{"", 64 << 20, 16 << 20, 0, 64 << 20},
		{"127.0.0.1:0", 64 << 20, 0, 16 << 20, 44 << 20},
		{"127.0.0.1:0", 64 << 20, 32 << 20, 32 << 20, 24 << 20},
		{"127.0.0.1:0", 1 << 30, 0, 256 << 20, 704 << 20},
		{"127.0.0.1:0", 1 << 40, 1 << 30, 1 << 30, 1<<40 - 1<<30 - 1<<28},
	} {
		cfg := &config.Config{Memory: c.memory, RESP: config.RESP{Listen: c.listen, Memory: c.resp}}
		if scratch, counting := budgets(cfg, false); scratch != c.scratch || counting != c.counting {
			t.Errorf("%+v: %d and %d", c, scratch, counting)
		}
		if scratch, _ := budgets(cfg, true); scratch == 0 {
			t.Errorf("%+v: a listener that is given has no keys", c)
		}
	}
}

// TestPortTaken: the error of a taken port has the address and the key that changes it.
func TestPortTaken(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	_, out, _ := s.start(t, "serve", "--listen", "127.0.0.1:0")
	at := regexp.MustCompile(`"redis":"([^"]+)"`)
	eventually(t, "a listener", func() bool { return at.MatchString(out.String()) })
	addr := at.FindStringSubmatch(out.String())[1]
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
		want := fmt.Sprintf("error: %s %s: the port is taken by another process\nhint: choose another address with %s\n", c.key, addr, c.change)
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(out.String(), want) {
			t.Errorf("weir %q: exit code %d, want 1 with\n%s\ngot\n%s", c.args, code, want, out)
		}
	}
}
