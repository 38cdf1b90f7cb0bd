package redis

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"weir/internal/await"
)

// A transaction whose replies exceed the limit runs to its end, as does every
// one that has begun; but the server does not collect all replies, and cuts off
// the client.
func TestExecOutputIsBounded(t *testing.T) {
	s, addr := start(t, Config{Buffers: 1 << 20})
	s.mu.Lock()
	s.store.put([]byte("big"), newString(make([]byte, 512<<10)))
	s.mu.Unlock()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(await.Deadline())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fmt.Fprint(conn, "MULTI\r\n"+strings.Repeat("GET big\r\n", 400)+"INCR done\r\nEXEC\r\n"); err != nil {
		t.Fatal(err)
	}
	if replies, _ := io.ReadAll(conn); bytes.Contains(replies, []byte("$524288")) {
		t.Error("replies came that are more than allowed")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%d MiB allocated for replies of which 1 may wait", n>>20)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.store.find([]byte("done"), 0); it == nil || string(it.str) != "1" {
		t.Error("the transaction did not run to its end")
	}
}

// EVAL stores no more spellings of a script than SCRIPT LOAD does.
func TestScriptsRememberedAreBounded(t *testing.T) {
	s, addr := start(t, Config{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(await.Deadline())
	text := scriptTexts[0].text
	for i := range scriptsMost + 10 {
		spelling := text + strings.Repeat(" ", i)
		if _, err := fmt.Fprintf(conn, "*5\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\nv\r\n", len(spelling), spelling); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(":0\r\n"))); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.scripts); n > scriptsMost {
		t.Errorf("%d spellings are remembered, more than %d", n, scriptsMost)
	}
}
