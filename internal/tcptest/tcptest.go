// Package tcptest makes TCP servers for tests, on loopback, as net/http/httptest makes
// HTTP servers.
package tcptest

import (
	"net"
	"testing"
)

// Listen returns a listener on a free port. It is closed at the end of the test.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Serve calls serve for each connection in a goroutine of its own, until the listener is
// closed, and closes each connection after that. It returns the address at once.
func Serve(l net.Listener, serve func(net.Conn)) (addr string) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}
