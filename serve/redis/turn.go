package redis

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"weir/serve/key"
	"weir/serve/resp"
)

const (
	// batchMost is how many commands of a pipeline run each time the lock is taken:
	// enough to make the lock cheap, and few enough that other clients wait for
	// some microseconds only.
	batchMost = 64
	// flushAt is how many bytes of replies make a turn stop and send them.
	flushAt = 64 << 10
)

var errOutput = errors.New("more output than allowed waits for the client")

// A verdict says why a turn ended.
type verdict uint8

const (
	needsInput  verdict = iota // all commands that have arrived are done
	needsOutput                // the replies should be sent before more commands run
	needsLookup                // the next command needs window keys that must be looked up
	needsPause                 // the next command must wait: see session.pause
	ends                       // the connection ends after these replies
)

// turn runs the commands that have arrived and appends the replies to w. Window keys
// that are not at hand take a while to look up: turn does that only if mayWait is true.
// When it returns, the client's reader no longer uses room. After an error the client
// can be sent nothing more.
func (c *client) turn(room *resp.Room, w *resp.Writer, mayWait bool) (verdict, error) {
	c.w, c.from, c.work.used = w, w.Len(), 0
	w.SetVersion(c.protocol)
	for {
		most := batchMost
		if !c.authed {
			most = 1
		}
		commands, err := c.r.Batch(room, most)
		if err != nil {
			c.why = err
			w.Error("ERR " + err.Error())
			return ends, nil
		}
		if len(commands) == 0 {
			return needsInput, nil
		}
		for len(commands) > 0 {
			n := c.run(commands, mayWait)
			commands = commands[n:]
			var next verdict
			switch {
			case c.replied() > c.server.config.Buffers:
				return ends, errOutput
			case c.closing:
				return ends, nil
			case c.pause > 0:
				next = needsPause
			case n == 0:
				next = needsLookup
			case c.replied() >= flushAt || c.work.used >= turnMost:
				next = needsOutput
			default:
				c.partial = time.Time{} // a command that has now arrived in part began later
				continue
			}
			c.r.Unread(room, len(commands))
			return next, nil
		}
	}
}

// replied returns the length of the replies of this turn so far.
func (c *client) replied() int { return c.w.Len() - c.from }

// run executes the first commands and returns how many. It executes none if the
// first one needs window keys that must be looked up and mayWait is false, or if it
// has a password that must wait.
func (c *client) run(commands [][][]byte, mayWait bool) (n int) {
	s := c.server
	missing := noFault
	if s.windows == nil {
		n = len(commands)
	} else {
		// A command that reads window keys runs in a batch of its own, after they have
		// been looked up here, without the lock. Which keys EXEC reads is known only
		// after the commands in front of it have run.
		for n < len(commands) && !c.wantsWindows(commands[n]) && (n == 0 || !is(commands[n][0], "EXEC")) {
			n++
		}
		if n == 0 {
			c.keys.windows = map[string]*item{}
			defer func() { c.keys.windows, c.keys.listed = nil, nil }()
			var ready bool
			ctx := c.ctx
			if mayWait {
				var cancel func()
				ctx, cancel = context.WithTimeoutCause(ctx, s.config.Ask, errAsk)
				defer cancel()
			}
			if c.transaction.open {
				missing, ready = c.prepareQueue(ctx, mayWait)
			} else {
				missing, ready = c.prepare(ctx, lookup(commands[0][0]), commands[0], mayWait)
			}
			if !ready {
				return 0
			}
			n = 1
		}
	}
	if mayWait { // one such client at a time, so that those of a loop wait for one batch at most
		s.waiting.Lock()
		defer s.waiting.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	c.keys.nano, c.keys.now = at.UnixNano(), at.UnixMilli()
	if missing != noFault {
		if c.transaction.open {
			c.transaction.end(&c.keys)
		}
		c.w.Error(string(missing))
		return n
	}
	s.store.prefetch(commands[:n])
	for i, args := range commands[:n] {
		if c.execute(args); c.pause > 0 {
			return i
		}
		if c.closing || c.replied() >= flushAt || c.work.used >= turnMost || !c.authed {
			return i + 1
		}
	}
	return n
}

// wantsWindows reports whether a command would read window keys if it ran now.
func (c *client) wantsWindows(args [][]byte) bool {
	cmd := lookup(args[0])
	if cmd == nil || !c.authed {
		return false
	}
	if c.transaction.open {
		if cmd.name != "exec" {
			return false
		}
		for _, q := range c.transaction.queue {
			if q.cmd.wantsWindows(q.args) {
				return true
			}
		}
		return false
	}
	return cmd.wantsWindows(args)
}

func (cmd *command) wantsWindows(args [][]byte) bool {
	if cmd.flags&flagList != 0 {
		return true
	}
	for i := range cmd.keys.of(args) {
		if key.Is(args[i]) && !cmd.writesTo(args, i) {
			return true
		}
	}
	return false
}

// prepare looks up the window keys that a command reads. If one is not at hand and
// mayWait is false, ready is false.
func (c *client) prepare(ctx context.Context, cmd *command, args [][]byte, mayWait bool) (f fault, ready bool) {
	if cmd.flags&flagList != 0 {
		if !mayWait {
			return noFault, false
		}
		if f := c.list(ctx); f != noFault {
			return f, true
		}
	}
	return c.resolve(ctx, cmd, args, mayWait)
}

// prepareQueue calls prepare for all commands of a transaction. If one fails the
// transaction does not run, because it must not run in part.
func (c *client) prepareQueue(ctx context.Context, mayWait bool) (f fault, ready bool) {
	for _, q := range c.transaction.queue {
		switch f, ready := c.prepare(ctx, q.cmd, q.args, mayWait); {
		case !ready:
			return noFault, false
		case f != noFault:
			return "EXECABORT Transaction discarded because of: " + f, true
		}
	}
	return noFault, true
}

// execute runs one command, or queues it, or sets pause: then the command must come again
// after that. The lock is held.
func (c *client) execute(args [][]byte) {
	cmd := lookup(args[0])
	if cmd == nil && isHTTP(args[0]) {
		c.server.config.Log.Warn("a connection that speaks HTTP was cut off: a web page may be making a browser send commands", "client", c.addr)
		c.closing = true
		return
	}
	t := &c.transaction
	if fault := c.refuse(cmd, args); fault != "" {
		if cmd != nil && cmd.name == "exec" { // as Redis does, also without MULTI
			t.end(&c.keys)
			c.w.Error("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(fault, "ERR "))
			return
		}
		t.aborted = t.aborted || t.open
		c.w.Error(fault)
		return
	}
	if !c.authed && (cmd.name == "auth" || cmd.name == "hello") && c.mustWait() {
		c.pause = c.server.config.pause
		return
	}
	if t.open && cmd.flags&flagNoQueue == 0 {
		if t.enqueue(cmd, args, c.server.config.Request) {
			c.w.Status("QUEUED")
		} else {
			c.w.Error("ERR the transaction is too long")
		}
		return
	}
	c.work.begin()
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
	one := call{cmd, args, c.w, &c.work}
	switch {
	case !one.afford(1, cmd.base(args)):
	case cmd.help != nil && len(args) == 2 && is(args[1], "HELP"):
		one.help(cmd.help...)
	case cmd.run.keys != nil:
		cmd.run.keys(one, &c.keys)
	default:
		cmd.run.other(one, c)
	}
}

// refuse checks a command before it runs, in the order in which Redis checks,
// and returns the error to reply, or "".
func (c *client) refuse(cmd *command, args [][]byte) string {
	switch {
	case cmd == nil:
		return unknownCommand(args)
	case cmd.arity > 0 && len(args) != cmd.arity || len(args) < -cmd.arity:
		return arityError(cmd.name)
	case cmd.subcommandError(args) != "":
		return cmd.subcommandError(args)
	case !c.authed && cmd.flags&flagNoAuth == 0:
		return "NOAUTH Authentication required."
	case cmd.flags&flagWrite != 0 && c.server.settings.readOnly:
		return errReadOnly
	case cmd.flags&flagGrow != 0 && c.server.store.used > c.server.settings.memory:
		return errMemory
	case cmd.flags&flagGrow != 0 && len(args) > max(cmd.dest, 1) && len(args[max(cmd.dest, 1)]) > keyMost:
		return errLongKey
	case c.keys.shows && cmd.flags&flagWrite != 0:
		for i := range cmd.keys.of(args) {
			if key.Is(args[i]) && cmd.writesTo(args, i) {
				return errReadOnlyWindow
			}
		}
	}
	return ""
}
