package redistest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
)

// A test process that is killed must not leave its server behind.
func TestServerDiesWithParent(t *testing.T) {
	if os.Getenv("REDISTEST_CHILD") != "" {
		s := Start(t)
		os.Stdout.WriteString("addr " + s.Addr + "\n")
		time.Sleep(time.Hour)
		return
	}
	var out bytes.Buffer
	child := exec.Command(os.Args[0], "-test.run=TestServerDiesWithParent")
	child.Env = append(os.Environ(), "REDISTEST_CHILD=1")
	pipe, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	for !strings.HasSuffix(out.String(), "\n") {
		if _, err := pipe.Read(b); err != nil {
			t.Fatalf("child said %q: %v", out.String(), err)
		}
		out.Write(b)
	}
	addr := strings.TrimSpace(strings.TrimPrefix(out.String(), "addr "))
	if c, err := net.Dial("tcp", addr); err != nil {
		t.Fatalf("the child's server on %q: %v", addr, err)
	} else {
		c.Close()
	}
	child.Process.Kill()
	child.Wait()
	for deadline := await.Deadline(); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatalf("the server on %s outlived the killed process that started it", addr)
		}
	}
}
