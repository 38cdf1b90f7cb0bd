package redis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"weir/serve/resp"
)

// A client is a connection and what the server knows of it. Who reads and
// writes the connection is another matter: a loop that has many of them, see
// loop_linux.go, or a goroutine of its own, see alone.go. The fields that
// other connections see (CLIENT LIST, WATCH) are guarded by the server's lock.
type client struct {
	server *Server
	ctx    context.Context
	conn   net.Conn // if it is served alone
	r      *resp.Reader
	w      *resp.Writer // of the turn that is on…
	from   int          // …and how much it held before

	id      int64
	addr    string
	since   time.Time
	name    string
	library string
	version string

	authed   bool
	protocol int           // 2 or 3
	closing  bool          // after the replies at hand
	authBy   time.Time     // the password must have come, unless authed
	wrong    int           // passwords
	pause    time.Duration // before the next command is looked at
	held     int           // see buffers
	evicted  atomic.Bool
	ousted   bool      // a stranger for whose place another came
	cut      func()    // has it cut off by the goroutine that serves it
	why      error     // the fault for which the connection ends, if there is one
	partial  time.Time // when the command in progress began to arrive

	// A transaction.
	multi      bool
	aborted    bool // a queued command was refused
	spoiled    bool // a watched key has changed
	queue      []queued
	queueBytes int
	queueWork  cost // of their arguments
	watching   []watchedKey
	watchBytes int // of the keys

	// The command that runs.
	cmd     *command
	args    [][]byte
	now     int64            // Unix milliseconds
	nano    int64            // the same in nanoseconds
	windows map[string]*item // the window keys that it reads
	listed  []listedKey      // and all there are, for KEYS and SCAN

	work      cost // of the turn so far
	workLimit cost // what it may have come to when the command ends
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

// A verdict says why a turn is over.
type verdict uint8

const (
	needsInput    verdict = iota // everything that has arrived is done
	needsOutput                  // replies should go out before more is done
	needsPatience                // the next command asks for window keys
	needsPause                   // the client is slowed down, see pause
	ends                         // the replies at hand are the last
)

// turn runs the commands that have arrived and appends the replies to w. Only a
// patient one looks up window keys that are not at hand, which may take a while.
// The reader has let go of the room when it returns. After an error nothing more
// can be said to the client.
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
				c.partial = time.Time{} // whatever is half there now began later
				continue
			}
			c.r.Unread(room, len(commands))
			return next, nil
		}
	}
}

// replied is how long the replies of the turn are so far.
func (c *client) replied() int { return c.w.Len() - c.from }

// due is when the connection must be cut off if nothing arrives until then,
// having been quiet since last; zero: never.
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

// waits notes, at the end of a turn, whether half a command has arrived.
func (c *client) waits(now time.Time) {
	switch {
	case !c.r.Partial():
		c.partial = time.Time{}
	case c.partial.IsZero():
		c.partial = now
	}
}

// run executes the first n commands; none if the first one wants window keys
// and there is no patience for that.
func (c *client) run(commands [][][]byte, patient bool) (n int) {
	s := c.server
	missing := noFault
	if s.windows == nil {
		n = len(commands)
	} else {
		// A command that reads window keys runs alone, once they have been
		// looked up: which happens here, where nobody waits. What EXEC reads
		// is known when everything in front of it has run.
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
	if patient { // one of them at a time, so that others wait for one at most
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

// prepare looks up what a command reads of the windows, which takes patience
// if it is not at hand.
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

// prepareQueue is prepare of all commands of a transaction. One that cannot be
// looked up spoils it: half of one must not run.
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
