package redis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"weir/serve/resp"

	"weir/serve/key"
)

// A client is a connection and what the server knows of it. Either a loop with
// many clients reads and writes the connection (loop_linux.go), or a goroutine
// of its own (alone.go). The server's lock guards the fields that other
// connections see (CLIENT LIST, WATCH).
type client struct {
	server *Server
	ctx    context.Context
	conn   net.Conn // if a goroutine of its own serves it
	r      *resp.Reader
	w      *resp.Writer // the replies of this turn
	from   int          // the length of w when the turn began

	id      int64
	addr    string
	since   time.Time
	name    string
	library string
	version string

	authed    bool
	protocol  int           // 2 or 3
	closing   bool          // the connection ends after the replies made so far
	authBy    time.Time     // when the password must have arrived, unless authed
	wrong     int           // wrong passwords so far
	pause     time.Duration // how long to wait before the next command
	held      int           // bytes held for it: see buffers
	evicted   atomic.Bool
	displaced bool      // cut off without a password, to make room for a new connection
	cut       func()    // makes the goroutine that serves the client cut it off
	why       error     // why the connection ends, if that is an error
	partial   time.Time // when the command in progress began to arrive

	// A transaction.
	multi      bool
	aborted    bool // a queued command was refused
	spoiled    bool // a watched key has changed
	queue      []queued
	queueBytes int
	queueWork  cost // the cost of their arguments
	watching   []watchedKey
	watchBytes int // bytes of the watched keys

	// The command that runs.
	cmd     *command
	args    [][]byte
	now     int64            // Unix milliseconds
	nano    int64            // the same in nanoseconds
	windows map[string]*item // the window keys that the command reads
	listed  []listedKey      // all window keys, for KEYS and SCAN

	work      cost // of the turn so far
	workLimit cost // the most that work may be when the command ends
}

const (
	// batchMost is how many commands of a pipeline run each time the lock is taken:
	// enough to make the lock cheap, and few enough that other clients wait for
	// some microseconds only.
	batchMost = 64
	// flushAt is how many bytes of replies make a turn stop and send them.
	flushAt = 64 << 10
)

// Before AUTH only small requests are accepted, as in Redis.
var unauthenticatedLimits = resp.Limits{Args: 10, Bulk: 16 << 10, Request: 64 << 10}

var errOutput = errors.New("more output than allowed waits for the client")

// A verdict says why a turn ended.
type verdict uint8

const (
	needsInput    verdict = iota // all commands that have arrived are done
	needsOutput                  // the replies should be sent before more commands run
	needsPatience                // the next command needs window keys that must be looked up
	needsPause                   // the client must wait: see pause
	ends                         // the connection ends after these replies
)

// turn runs the commands that have arrived and appends the replies to w. Only if
// patient is true does it look up window keys that are not in memory, which may
// take a while. When it returns, the client's reader no longer uses room. After
// an error the client can be sent nothing more.
func (c *client) turn(room *resp.Room, w *resp.Writer, patient bool) (verdict, error) {
	c.w, c.from, c.work = w, w.Len(), 0
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
			n := c.run(commands, patient)
			commands = commands[n:]
			var next verdict
			switch {
			case c.replied() > c.server.config.Buffers:
				return ends, errOutput
			case c.closing:
				return ends, nil
			case n == 0:
				next = needsPatience
			case c.pause > 0:
				next = needsPause
			case c.replied() >= flushAt || c.work >= turnMost:
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

// run executes the first commands and returns how many. It executes none if the
// first one needs window keys that must be looked up and patient is false.
func (c *client) run(commands [][][]byte, patient bool) (n int) {
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
			defer func() { c.windows, c.listed = nil, nil }()
			if c.multi {
				missing = c.prepareQueue(patient)
			} else {
				missing = c.prepare(lookup(commands[0][0]), commands[0], patient)
			}
			if missing == impatience {
				return 0
			}
			n = 1
		}
	}
	if patient { // one patient client at a time, so that the others wait for one batch at most
		s.patient.Lock()
		defer s.patient.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	c.nano, c.now = at.UnixNano(), at.UnixMilli()
	if missing != noFault {
		if c.multi {
			c.endTransaction()
		}
		c.w.Error(string(missing))
		return n
	}
	s.store.foresee(commands[:n])
	for i, args := range commands[:n] {
		c.exec(args)
		if c.closing || c.replied() >= flushAt || c.work >= turnMost || !c.authed {
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
		if key.Is(args[i]) && !cmd.writesTo(args, i) {
			return true
		}
	}
	return false
}

// prepare looks up the window keys that a command reads. If one is not in memory
// and patient is false, it returns impatience.
func (c *client) prepare(cmd *command, args [][]byte, patient bool) fault {
	if c.windows == nil {
		c.windows = map[string]*item{}
	}
	if cmd.flags&flagList != 0 {
		if !patient {
			return impatience
		}
		if fault := c.list(); fault != noFault {
			return fault
		}
	}
	return c.resolve(cmd, args, patient)
}

// prepareQueue calls prepare for all commands of a transaction. If one fails the
// transaction does not run, because it must not run in part.
func (c *client) prepareQueue(patient bool) fault {
	for _, q := range c.queue {
		switch fault := c.prepare(q.cmd, q.args, patient); fault {
		case noFault:
		case impatience:
			return fault
		default:
			return "EXECABORT Transaction discarded because of: " + fault
		}
	}
	return noFault
}
