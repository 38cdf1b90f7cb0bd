package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"weir/serve/resp"
)

// A client is a connection and what the server knows of it. The fields that
// other connections see (CLIENT LIST, WATCH) are guarded by the server's lock.
type client struct {
	server *Server
	ctx    context.Context
	conn   net.Conn
	r      *resp.Reader
	w      resp.Writer

	id      int64
	addr    string
	since   time.Time
	name    string
	library string
	version string

	authed  bool
	closing bool      // after the replies at hand
	partial time.Time // when the command in progress began

	readUntil, writeUntil time.Time // the deadlines that are set

	// A transaction.
	multi      bool
	aborted    bool // a queued command was refused
	spoiled    bool // a watched key has changed
	queue      []queued
	queueBytes int
	watching   []watchedKey

	// The command that runs.
	cmd     *command
	args    [][]byte
	now     int64            // Unix milliseconds
	nano    int64            // the same in nanoseconds
	windows map[string]*item // the window keys that it reads
	listed  []listedKey      // and all there are, for KEYS and SCAN
}

const (
	// batchMost is how many commands of a pipeline run under one taking of the
	// lock: enough to make the lock cheap, few enough that others need not
	// wait for more than some microseconds.
	batchMost = 64
	// flushAt is how much is written before more commands run.
	flushAt = 64 << 10
)

// Before AUTH little is believed (and little memory given), as in Redis.
var strangerLimits = resp.Limits{Args: 10, Bulk: 16 << 10, Request: 64 << 10}

var errOutput = errors.New("more output than allowed waits for the client")

// loop serves the connection until it ends; the error says why.
func (c *client) loop() error {
	for {
		most := batchMost
		if !c.authed {
			most = 1
		}
		commands, err := c.r.Batch(most)
		if err != nil {
			var breach resp.ProtocolError
			if errors.As(err, &breach) {
				c.w.Error("ERR " + breach.Error())
			}
			return errors.Join(err, c.flush())
		}
		for len(commands) > 0 && !c.closing {
			commands = commands[c.run(commands):]
			if c.w.Len() > c.server.config.Output {
				return errOutput
			}
			if c.w.Len() >= flushAt {
				if err := c.flush(); err != nil {
					return err
				}
			}
		}
		if c.closing {
			if err := c.flush(); err != nil {
				return err
			}
			return io.EOF
		}
	}
}

// Read feeds the Reader. Whoever waits for input has sent all answers before.
func (c *client) Read(b []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	now := time.Now()
	var until time.Time
	switch {
	case !c.r.Partial():
		c.partial = time.Time{}
		if c.server.config.Idle > 0 {
			until = now.Add(c.server.config.Idle)
		}
	case c.partial.IsZero():
		c.partial = now
		fallthrough
	default:
		until = c.partial.Add(c.server.config.Stall)
	}
	// Setting a deadline costs as much as a short command does, so one that
	// is nearly right stays.
	if d := until.Sub(c.readUntil); until.IsZero() != c.readUntil.IsZero() || d < 0 || d > c.server.config.Idle/8 {
		c.readUntil = until
		if err := c.conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
	}
	return c.conn.Read(b)
}

// flush sends what has been written. A peer that does not take it in time is
// cut off.
func (c *client) flush() error {
	if c.w.Len() == 0 {
		return nil
	}
	if now := time.Now(); c.writeUntil.Sub(now) < c.server.config.Write {
		c.writeUntil = now.Add(c.server.config.Write * 5 / 4)
		if err := c.conn.SetWriteDeadline(c.writeUntil); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(c.w.Bytes())
	c.w.Reset()
	return err
}

// run executes the first n ≥ 1 commands.
func (c *client) run(commands [][][]byte) (n int) {
	s := c.server
	fault := ""
	if s.windows == nil {
		n = len(commands)
	} else {
		// A command that reads window keys runs alone, once they have been
		// looked up: which happens here, where nobody waits.
		for n < len(commands) && !c.wantsWindows(commands[n]) {
			n++
		}
		if n == 0 {
			n = 1
			if c.multi {
				fault = c.prepareQueue()
			} else {
				fault = c.prepare(lookup(commands[0][0]), commands[0])
			}
			defer func() { c.windows, c.listed = nil, nil }()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	c.nano, c.now = at.UnixNano(), at.UnixMilli()
	if fault != "" {
		if c.multi {
			c.endTransaction()
		}
		c.w.Error(fault)
		return n
	}
	for i, args := range commands[:n] {
		c.exec(args)
		if c.closing || c.w.Len() >= flushAt || !c.authed {
			return i + 1
		}
	}
	return n
}

// wantsWindows reports whether a command would read window keys, if it ran
// now. It need not run in the end.
func (c *client) wantsWindows(args [][]byte) bool {
	cmd := lookup(args[0])
	if cmd == nil || !c.authed {
		return false
	}
	if c.multi {
		if cmd.name != "exec" {
			return false
		}
		for _, q := range c.queue {
			if q.cmd.wants(q.args) {
				return true
			}
		}
		return false
	}
	return cmd.wants(args)
}

func (cmd *command) wants(args [][]byte) bool {
	if cmd.flags&flagList != 0 {
		return true
	}
	for i := range cmd.keys.of(args) {
		if isWindow(args[i]) && !cmd.writesTo(args, i) {
			return true
		}
	}
	return false
}

// prepare looks up what a command reads of the windows.
func (c *client) prepare(cmd *command, args [][]byte) (fault string) {
	if c.windows == nil {
		c.windows = map[string]*item{}
	}
	if cmd.flags&flagList != 0 {
		if fault := c.list(); fault != "" {
			return fault
		}
	}
	return c.resolve(cmd, args)
}

// prepareQueue is prepare of all commands of a transaction. One that cannot be
// looked up spoils it: half of one must not run.
func (c *client) prepareQueue() (fault string) {
	for _, q := range c.queue {
		if fault := c.prepare(q.cmd, q.args); fault != "" {
			return "EXECABORT Transaction discarded because of: " + fault
		}
	}
	return ""
}
