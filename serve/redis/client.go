package redis

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"weir/serve/key"
	"weir/serve/resp"
)

const (
	// batchMost is how many commands of a pipeline run each time the lock is taken:
	// enough to make the lock cheap, and few enough that other clients do not wait long.
	batchMost = 64
	// flushAt is how many bytes of replies are sent before more commands run.
	flushAt = 64 << 10
)

var errOutput = errors.New("more output than allowed waits for the client")

// A client is a connection and what the server knows of it. One goroutine serves it.
type client struct {
	server *Server
	ctx    context.Context
	conn   net.Conn
	id     int64
	addr   string

	r           *resp.Reader
	w           resp.Writer
	keys        keyspace
	transaction transaction

	// What commands about the connection change.
	name     string
	authed   bool
	protocol int   // 2 or 3
	closing  bool  // the connection ends after the replies made so far
	why      error // why the connection ends, if that is an error
	wrong    int   // wrong passwords so far

	// Limits.
	authBy                time.Time // when the password must have arrived, unless authed
	last                  time.Time // when the client last sent something
	partial               time.Time // when the command in progress began to arrive
	readUntil, writeUntil time.Time // the deadlines of the connection
	held                  int       // bytes held for it: see buffers
	cut                   atomic.Pointer[error]
}

// newClient returns a client that need not give a password.
func (s *Server) newClient(ctx context.Context, id int64, conn net.Conn) *client {
	c := &client{
		server: s, ctx: ctx, conn: conn, id: id, addr: conn.RemoteAddr().String(),
		authed: true, protocol: 2, r: resp.NewReader(s.limits()), keys: keyspace{store: s.store, server: s},
	}
	c.w.Limit(s.config.Buffers)
	return c
}

// serve reads what the client sends, runs it, and sends the replies, until the connection
// ends; the error says why.
func (c *client) serve() error {
	for {
		c.last = time.Now()
		ended := c.r.Fill(c)
		if err := c.answer(); err != nil || c.closing {
			return errors.Join(c.why, err)
		}
		if ended != nil {
			return ended
		}
		switch {
		case !c.r.Partial():
			c.partial = time.Time{}
		case c.partial.IsZero():
			c.partial = time.Now()
		}
	}
}

// answer runs the commands that have arrived, and sends the replies.
func (c *client) answer() error {
	for !c.closing {
		most := batchMost
		if !c.authed {
			most = 1 // the limits change with the password
		}
		commands, err := c.r.Batch(most)
		if err != nil {
			c.w.Error("ERR " + err.Error())
			c.closing, c.why = true, err
			break
		}
		if len(commands) == 0 {
			break
		}
		c.partial = time.Time{} // a command that has now arrived in part began later
		for len(commands) > 0 && !c.closing {
			commands = commands[c.run(commands):]
			if c.w.Over() {
				return errOutput
			}
			if c.w.Len() >= flushAt {
				if err := c.flush(); err != nil {
					return err
				}
			}
		}
	}
	return c.flush()
}

// Read waits for input for as long as the client may be silent.
func (c *client) Read(b []byte) (int, error) {
	until := c.due()
	// Setting a deadline costs as much as a short command, so one that is nearly
	// right stays.
	if late := until.Sub(c.readUntil); until.IsZero() != c.readUntil.IsZero() || late < 0 || late > c.server.config.Idle/8 {
		c.readUntil = until
		if err := c.conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
	}
	return c.conn.Read(b)
}

// due returns the time at which the connection must be cut off if the client sends
// nothing until then; zero: never.
func (c *client) due() time.Time {
	var due time.Time
	switch {
	case !c.partial.IsZero():
		due = c.partial.Add(c.server.config.Stall)
	case c.server.config.Idle > 0:
		due = c.last.Add(c.server.config.Idle)
	}
	if !c.authed && (due.IsZero() || c.authBy.Before(due)) {
		due = c.authBy
	}
	return due
}

// flush sends the replies. It fails if the client does not read them in time.
func (c *client) flush() error {
	c.hold()
	defer c.hold()
	if c.w.Len() == 0 {
		return nil
	}
	limit := c.server.config.Write
	if now := time.Now(); c.writeUntil.Sub(now) < limit {
		c.writeUntil = now.Add(limit * 5 / 4)
		if err := c.conn.SetWriteDeadline(c.writeUntil); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(c.w.Bytes())
	c.w.Reset()
	return err
}

// run executes the first commands, under the lock, and returns how many.
func (c *client) run(commands [][][]byte) (n int) {
	s := c.server
	failed := noFault
	switch {
	case !c.authed:
		if cmd := lookup(commands[0][0]); cmd != nil && (cmd.name == "auth" || cmd.name == "hello") {
			c.awaitGuess()
		}
		n = 1
	case c.asksWindows(commands[0]):
		// The window keys of this command are looked up here, without the lock.
		failed = c.resolve(commands[0])
		defer func() { c.keys.windows, c.keys.listed = nil, nil }()
		n = 1
	default:
		// Which keys EXEC reads is known only after the commands in front of it.
		for n = 1; n < len(commands) && (s.windows == nil || !c.asksWindows(commands[n]) && !is(commands[n][0], "EXEC")); n++ {
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	c.keys.nano, c.keys.now = at.UnixNano(), at.UnixMilli()
	if failed != noFault {
		c.transaction = transaction{}
		c.w.Error(string(failed))
		return n
	}
	for i, args := range commands[:n] {
		if c.execute(args); c.closing || c.w.Len() >= flushAt {
			return i + 1
		}
	}
	return n
}

// execute runs one command or queues it. The lock is held.
func (c *client) execute(args [][]byte) {
	cmd := lookup(args[0])
	if cmd == nil && isHTTP(args[0]) {
		c.server.config.Log.Warn("a connection that speaks HTTP was cut off: a web page may be making a browser send commands", "client", c.addr)
		c.closing = true
		return
	}
	t := &c.transaction
	if fault := c.refuse(cmd, args); fault != "" {
		t.aborted = t.open
		c.w.Error(fault)
		return
	}
	if t.open && cmd.flags&flagNoQueue == 0 {
		c.enqueue(cmd, args)
		return
	}
	c.call(cmd, args)
}

// isHTTP reports whether a command's name is the beginning of an HTTP request or
// of the Host header. The lines that follow could be a body that a web page made
// a browser send, so none of them may run. Redis does the same.
func isHTTP(name []byte) bool {
	const host = "host:" // a value may follow without a blank
	return is(name, "POST") || len(name) >= len(host) && bytes.EqualFold(name[:len(host)], []byte(host))
}

// call runs a command that was not refused.
func (c *client) call(cmd *command, args [][]byte) {
	c.server.calls++
	cmd.run(call{cmd, args, &c.w, c}, &c.keys)
}

// refuse checks a command before it runs, in the order in which Redis checks,
// and returns the error to reply, or "".
func (c *client) refuse(cmd *command, args [][]byte) string {
	switch {
	case cmd == nil:
		return "ERR unknown command '" + string(args[0][:min(128, len(args[0]))]) + "'"
	case cmd.arity > 0 && len(args) != cmd.arity || len(args) < -cmd.arity:
		return arityError(cmd.name)
	case !c.authed && cmd.flags&flagNoAuth == 0:
		return "NOAUTH Authentication required."
	case cmd.flags&flagWrite != 0 && c.server.config.ReadOnly:
		return errReadOnly
	case cmd.flags&flagGrow != 0 && c.server.store.used > c.server.config.Memory:
		return errMemory
	case c.server.windows != nil && cmd.flags&flagWrite != 0:
		for i := range cmd.keys.of(args) {
			if key.Is(args[i]) && cmd.writesTo(i) {
				return errReadOnlyWindow
			}
		}
	}
	return ""
}
