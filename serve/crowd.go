package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A crowd bounds what clients may take of a server.
//
// A connection waits while the server has no whole request of it. When there are more
// connections than most, crowd closes the one that has waited longest and accepts the
// new one. So a client that floods the listener (with silent connections, or with
// headers sent byte by byte) loses its own connections, and a health check still gets
// through. If the server is answering a request on every connection, crowd closes the
// new one.
type crowd struct {
	most int

	mu    sync.Mutex
	conns map[net.Conn]time.Time // since when it waits; zero: it is being answered
}

func newCrowd(most int) *crowd { return &crowd{most: most, conns: map[net.Conn]time.Time{}} }

// state is the ConnState function of the http.Server.
func (c *crowd) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		if len(c.conns) >= c.most && !c.evict() {
			_ = conn.Close() // the server finds it closed
			return
		}
		c.conns[conn] = time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(c.conns, conn)
	}
}

// evict closes the connection that has waited longest.
func (c *crowd) evict() bool {
	var oldest net.Conn
	var since time.Time
	for conn, at := range c.conns {
		if !at.IsZero() && (oldest == nil || at.Before(since)) {
			oldest, since = conn, at
		}
	}
	if oldest == nil {
		return false
	}
	_ = oldest.Close() // an error means that the client closed it first
	delete(c.conns, oldest)
	return true
}

// mark records that a connection waits since a time, or (zero) is being answered.
func (c *crowd) mark(conn net.Conn, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.conns[conn]; ok {
		c.conns[conn] = since
	}
}

type connKey struct{}

// context is the ConnContext function of the http.Server.
func (c *crowd) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// answering marks connections while h answers them.
func (c *crowd) answering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			c.mark(conn, time.Time{})
			defer func() { c.mark(conn, time.Now()) }()
		}
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
