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
// Beyond most connections, the one that has waited for longest is hung up on
// for the one that comes. Waiting is a connection without a whole request, so
// a client that floods the listener with connections, silent ones or such that send a
// header byte by byte, loses its own, and a health check still gets through.
// If every connection is being answered, the new one is not taken.
type crowd struct {
	most int

	mu    sync.Mutex
	conns map[net.Conn]time.Time // since when it waits; zero: it is being answered
}

func newCrowd(most int) *crowd { return &crowd{most: most, conns: map[net.Conn]time.Time{}} }

// state is the server's ConnState.
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

// evict hangs up on the connection that has waited for longest.
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
	_ = oldest.Close() // whether it was still there or not, it is gone
	delete(c.conns, oldest)
	return true
}

// mark notes whether a connection waits, or is being answered.
func (c *crowd) mark(conn net.Conn, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.conns[conn]; ok {
		c.conns[conn] = since
	}
}

type connKey struct{}

// context is the server's ConnContext.
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

// atMost lets n requests be worked on at a time and tells others to come again.
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
