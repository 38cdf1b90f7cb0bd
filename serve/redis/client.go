package redis

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"weir/serve/resp"
)

// A client is a connection and what the server knows of it. Its turns (turn.go) run
// in the goroutine that reads and writes the connection: one of its own (loop.go), or
// one that serves many connections (epoll_linux.go). The server's lock guards what
// other connections see of it (CLIENT LIST, WATCH). Commands about keys cannot reach
// it; those about the connection may change its session.
type client struct {
	server *Server
	ctx    context.Context
	conn   net.Conn // if a goroutine of its own serves it
	id     int64
	addr   string
	since  time.Time

	session
	transaction transaction

	// A turn.
	r    *resp.Reader
	w    *resp.Writer // the replies of this turn
	from int          // the length of w when the turn began
	work budget
	keys keyspace

	// Limits.
	authBy    time.Time // when the password must have arrived, unless authed
	partial   time.Time // when the command in progress began to arrive
	held      int       // bytes held for it: see buffers
	evicted   atomic.Bool
	displaced bool   // cut off without a password, to make room for a new connection
	cut       func() // makes the goroutine that serves the client cut it off
}

// A session is what commands about the connection change.
type session struct {
	name     string
	library  string
	version  string
	authed   bool
	protocol int           // 2 or 3
	closing  bool          // the connection ends after the replies made so far
	why      error         // why the connection ends, if that is an error
	wrong    int           // wrong passwords so far
	waited   bool          // the next command, with a password, has waited
	pause    time.Duration // how long to wait before it
}

// newClient returns a client that need not give a password.
func (s *Server) newClient(ctx context.Context, id int64, addr string) *client {
	return &client{
		server: s, ctx: ctx, id: id, addr: addr, since: s.config.Now(),
		session: session{authed: true, protocol: 2}, r: resp.NewReader(s.limits()),
		keys: keyspace{store: s.store, set: &s.settings, shows: s.windows != nil},
	}
}

// due returns the time at which the connection must be cut off if the client,
// which last sent something at last, sends nothing until then; zero: never.
func (c *client) due(last time.Time) time.Time {
	var due time.Time
	switch {
	case !c.partial.IsZero():
		due = c.partial.Add(c.server.config.Stall)
	case c.server.config.Idle > 0:
		due = last.Add(c.server.config.Idle)
	}
	if !c.authed && (due.IsZero() || c.authBy.Before(due)) {
		due = c.authBy
	}
	return due
}

// waits records, at the end of a turn, whether a command has arrived in part.
func (c *client) waits(now time.Time) {
	switch {
	case !c.r.Partial():
		c.partial = time.Time{}
	case c.partial.IsZero():
		c.partial = now
	}
}
