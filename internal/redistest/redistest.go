// Package redistest runs the real redis-server beside a test, for comparing
// with it and for measuring against it.
//
//	srv := redistest.Start(t)
//	srv.Do(t, "PFADD", "k", "a") // int64(1)
//
// The server listens on a free loopback port, persists nothing, and ends with
// the test, even when the test process is killed.
package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/demo/child"
	"weir/internal/await"
)

// Remedy is the message if redis-server is missing.
const Remedy = "redis-server is not installed: run `make redis`"

// A Server is a running redis-server.
type Server struct {
	Addr string // host:port

	log  await.Output
	run  *child.Process
	conn *Conn // of Do
}

// Start launches a server for t and stops it when t ends. Arguments are passed
// to redis-server, for instance "--hll-sparse-max-bytes", "0". It fails t if
// there is no redis-server.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := Launch(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Launch is Start outside a test. The caller must call Stop.
func Launch(args ...string) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redistest: " + Remedy)
	}
	// Between finding a free port and listening on it, another process may
	// take it: then the server ends, and another port is tried.
	for range 5 {
		var s *Server
		if s, err = launch(path, args); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func launch(path string, args []string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()

	s := &Server{Addr: addr.String()}
	cmd := exec.Command(path, append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(addr.Port),
		"--save", "", "--appendonly", "no", "--dir", os.TempDir(), "--daemonize", "no",
		"--loglevel", "warning",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if s.run, err = child.Start(cmd, nil); err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	if s.conn, err = s.await(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// await connects as soon as the server answers.
func (s *Server) await() (*Conn, error) {
	deadline := await.Deadline()
	for {
		c, err := Dial(s.Addr)
		if err == nil {
			if r, err := c.Do("PING"); err == nil && r == "PONG" {
				return c, nil
			}
			c.Close()
		}
		select {
		case <-s.run.Gone:
			return nil, fmt.Errorf("redistest: redis-server ended at once: %s", s.log.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("redistest: redis-server does not answer on %s: %s", s.Addr, s.log.String())
		}
	}
}

// Stop ends the server and waits for it.
func (s *Server) Stop() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.run.Kill()
	<-s.run.Gone
	s.run.Close()
}

// Do sends one command over a connection of the server's own and returns the
// reply; an error reply is returned as an [Error]. It fails t if the
// connection fails. Not for concurrent use: see [Dial].
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()
	r, err := s.conn.Do(args...)
	if err != nil {
		t.Fatalf("redis-server: %v: %.100v\n%s", err, args, s.log.String())
	}
	return r
}

// Conn returns the server's own connection, the one Do uses.
func (s *Server) Conn() *Conn { return s.conn }

// CPU returns the processor time the server has used so far.
func (s *Server) CPU() (time.Duration, error) {
	r, err := s.conn.Do("INFO", "cpu")
	if err != nil {
		return 0, err
	}
	text, _ := r.(string)
	var sum float64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("redistest: INFO cpu: %w", err)
			}
			sum += seconds
		}
	}
	return time.Duration(sum * float64(time.Second)), nil
}
