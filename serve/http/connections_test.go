package http

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/tcptest"
)

// TestFlood opens more connections than the server allows, silent ones and ones
// with a header that never ends: the server closes the oldest of them, and
// answers health checks at once all the while.
func TestFlood(t *testing.T) {
	l := tcptest.Listen(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- (&Server{}).Serve(ctx, l) }()
	healthy := func() {
		t.Helper()
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: await.Never}
		res, err := c.Get("http://" + l.Addr().String() + "/livez")
		if err != nil {
			t.Fatalf("in the flood: %v", err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("in the flood: %d", res.StatusCode)
		}
	}
	var flood []net.Conn
	for i := range 2 * connectionsMost {
		text := ""
		if i%2 == 0 {
			text = "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "
		}
		flood = append(flood, dialHTTP(t, l, text))
		if i%100 == 99 {
			healthy()
		}
	}
	// The server has closed the first connection; the last one may stay.
	if _, err := flood[0].Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the first of %d connections was not cut off: %v", len(flood), err)
	}
	for deadline := await.Deadline(); ; {
		begun := time.Now()
		last := dialHTTP(t, l, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(last), nil)
		if err == nil && res.StatusCode == http.StatusOK {
			break
		}
		// By then a header counts as one that never ends.
		if time.Since(begun) < headerTimeout/2 || time.Now().After(deadline) {
			t.Fatalf("the last of %d connections: %v, %v", len(flood)+1, res, err)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// TestAnsweredStay: the server closes no connection with a request that it is
// answering, and refuses a new one when all are such.
func TestAnsweredStay(t *testing.T) {
	c := newConnections(2)
	l := tcptest.Listen(t)
	in, out := make(chan struct{}), make(chan struct{})
	s := &http.Server{ConnState: c.state, ConnContext: c.context, Handler: c.answering(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		in <- struct{}{}
		<-out
	}))}
	go func() { _ = s.Serve(l) }() // until it is closed
	defer s.Close()
	const ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	one, two := dialHTTP(t, l, ask), dialHTTP(t, l, ask)
	<-in
	<-in
	if _, err := dialHTTP(t, l, "").Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the third was not turned away: %v", err)
	}
	close(out)
	for _, conn := range []net.Conn{one, two} {
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("one that was being answered: %v, %v", res, err)
		}
	}
	// Now both connections wait; closing either makes room.
	go func() { <-in }()
	if res, err := http.ReadResponse(bufio.NewReader(dialHTTP(t, l, ask)), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the fourth: %v, %v", res, err)
	}
}

// TestAtMost: a request beyond the bound gets 503, and succeeds when it is sent
// again later.
func TestAtMost(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	h := atMost(1, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		in <- struct{}{}
		<-out
	}))
	first := make(chan int)
	go func() { first <- ask(t, h, "GET", "/", "").StatusCode }()
	<-in
	if res := ask(t, h, "GET", "/", ""); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("the second: %d %v", res.StatusCode, res.Header)
	}
	close(out)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first: %d", code)
	}
	go func() { <-in }()
	if res := ask(t, h, "GET", "/", ""); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
}
