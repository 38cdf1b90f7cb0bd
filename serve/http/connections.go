package http

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections bounds how many connections clients may have to a server.
//
// A connection waits while the server has no whole request of it. When there are as many
// connections as allowed, the one that has waited longest is closed, and the new one is
// accepted. A client may flood the listener, with silent connections or with headers sent byte
// by byte. It loses its own connections, and a health check still gets through. If the server
// is answering a request on every connection, the new one is closed.
type connections struct {
	most int

	mu      sync.Mutex
	waiting map[net.Conn]time.Time // since when it waits; zero: it is being answered
}

func newConnections(most int) *connections {
	return &connections{most: most, waiting: map[net.Conn]time.Time{}}
}

// state is the ConnState function of the http.Server.
func (c *connections) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		if len(c.waiting) >= c.most && !c.evict() {
			_ = conn.Close() // the server finds it closed
			return
		}
		c.waiting[conn] = time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(c.waiting, conn)
	}
}

// evict closes the connection that has waited longest.
func (c *connections) evict() bool {
	var oldest net.Conn
	var since time.Time
	for conn, at := range c.waiting {
		if !at.IsZero() && (oldest == nil || at.Before(since)) {
			oldest, since = conn, at
		}
	}
	if oldest == nil {
		return false
	}
	_ = oldest.Close() // an error means that the client closed it first
	delete(c.waiting, oldest)
	return true
}

type connKey struct{}

// context is the ConnContext function of the http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// narrow limits how many bytes the kernel holds for a client that does not read; an error leaves it
// at what it is.
func narrow(r *http.Request, bytes int) {
	if tcp, ok := r.Context().Value(connKey{}).(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(bytes)
	}
}

// answering marks connections while h answers them.
func (c *connections) answering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mark := func(since time.Time) { // zero: it is being answered
			c.mu.Lock()
			defer c.mu.Unlock()
			conn, _ := r.Context().Value(connKey{}).(net.Conn)
			if _, open := c.waiting[conn]; open {
				c.waiting[conn] = since
			}
		}
		mark(time.Time{})
		defer func() { mark(time.Now()) }()
		h.ServeHTTP(w, r)
	})
}

// atMost lets h work on n requests at a time; further ones get 503 and may be sent
// again.
func atMost(n int, h http.Handler) http.Handler {
	turns := make(chan struct{}, n)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at a time", http.StatusServiceUnavailable)
		}
	})
}
