package redistest

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	var addr string
	t.Run("serves", func(t *testing.T) {
		s := Start(t, "--hll-sparse-max-bytes", "123")
		addr = s.Addr
		if got := s.Do(t, "CONFIG", "GET", "hll-sparse-max-bytes"); len(got.([]any)) != 2 || got.([]any)[1] != "123" {
			t.Errorf("CONFIG GET = %q, want the value passed to Start", got)
		}
		if got := s.Do(t, "CONFIG", "GET", "save"); got.([]any)[1] != "" {
			t.Errorf("CONFIG GET save = %q, want no persistence", got)
		}
		bin := []byte{0, '\r', '\n', 0xff}
		if got := s.Do(t, "SET", "k", bin); got != "OK" {
			t.Errorf("SET = %v", got)
		}
		if got := s.Do(t, "GET", "k"); got != string(bin) {
			t.Errorf("GET = %q, want %q", got, bin)
		}
		if got := s.Do(t, "GET", "none"); got != nil {
			t.Errorf("GET of nothing = %v, want nil", got)
		}
		if got, ok := s.Do(t, "NONSENSE").(Error); !ok || !strings.HasPrefix(string(got), "ERR unknown command") {
			t.Errorf("NONSENSE = %v, want an Error", got)
		}
		if got := s.Do(t, "STRLEN", "k"); got != int64(4) {
			t.Errorf("STRLEN = %v", got)
		}
		cpu, err := s.CPU()
		if err != nil || cpu <= 0 || cpu > time.Minute {
			t.Errorf("CPU = %v, %v", cpu, err)
		}
	})
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Errorf("the server on %s outlived its test", addr)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(); err == nil || !strings.Contains(err.Error(), "make redis") {
		t.Errorf("without redis-server: %v, want the remedy", err)
	}
}
