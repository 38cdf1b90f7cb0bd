package redis

import "bytes"

var transactionCommands = []command{
	{name: "multi", arity: 1, flags: flagNoQueue, since: "1.2.0", family: "transactions", about: "begins a transaction: commands are queued until EXEC", run: multi},
	{name: "exec", arity: 1, flags: flagNoQueue, since: "1.2.0", family: "transactions", about: "runs the queued commands, with nothing in between", run: exec},
	{name: "discard", arity: 1, flags: flagNoQueue, since: "2.0.0", family: "transactions", about: "drops the queued commands", run: discard},
	{name: "watch", arity: -2, flags: flagNoQueue, keys: allKeys, each: 400 * nanosecond, since: "2.2.0", family: "transactions", about: "makes EXEC do nothing if one of the keys has changed by then",
		differ: "A window key may be watched, but its changes are not noticed.", run: watch},
	{name: "unwatch", arity: 1, since: "2.2.0", family: "transactions", about: "forgets the watched keys", run: func(c *client) {
		c.unwatch()
		c.w.Status("OK")
	}},
}

// queued is a command that waits for EXEC, with a copy of its arguments.
type queued struct {
	cmd  *command
	args [][]byte
}

type watchedKey struct {
	key     string
	expires bool // the key existed and had an expiry
}

func multi(c *client) {
	if c.multi {
		c.w.Error("ERR MULTI calls can not be nested")
		return
	}
	c.multi = true
	c.w.Status("OK")
}

// watchMost is how many keys a client may watch.
const watchMost = 1_000

// enqueue keeps a command for EXEC. A transaction may take as much time as one
// command. If the arguments of its commands alone would take more, enqueue
// refuses it before any command has run; EXEC checks the rest for each command.
func (c *client) enqueue(cmd *command, args [][]byte) {
	if c.aborted || c.spoiled { // the transaction will not run
		c.w.Status("QUEUED")
		return
	}
	size := 64 + 24*len(args)
	for _, a := range args {
		size += len(a)
	}
	c.queueBytes += size
	c.queueWork += cmd.base(args)
	if c.queueBytes > c.server.config.Request || c.queueWork > workMost {
		c.aborted, c.queue, c.queueBytes, c.queueWork = true, nil, 0, 0
		c.w.Error("ERR the transaction is too long")
		return
	}
	own := make([][]byte, len(args))
	for i, a := range args {
		own[i] = bytes.Clone(a)
		if own[i] == nil {
			own[i] = []byte{}
		}
	}
	c.queue = append(c.queue, queued{cmd, own})
	c.w.Status("QUEUED")
}

func exec(c *client) {
	if !c.multi {
		c.w.Error("ERR EXEC without MULTI")
		return
	}
	queue, aborted, spoiled := c.queue, c.aborted, c.spoiled || c.watchedEnded()
	c.endTransaction()
	switch {
	case aborted:
		c.w.Error("EXECABORT Transaction discarded because of previous errors.")
	case spoiled:
		c.w.NullArray()
	default:
		c.w.Array(len(queue))
		for _, q := range queue {
			// Check again: the commands before this one may have filled the memory.
			if fault := c.refuse(q.cmd, q.args); fault != "" {
				c.w.Error(fault)
				continue
			}
			c.workLimit += q.cmd.base(q.args) // enqueue has allowed this
			c.call(q.cmd, q.args)
			// All commands run. But if the replies exceed the limit, the turn will cut
			// the client off, so further replies are dropped.
			if over := c.server.config.Buffers + 1; c.replied() > over {
				c.w.Truncate(c.from + over)
			}
		}
	}
}

func discard(c *client) {
	if !c.multi {
		c.w.Error("ERR DISCARD without MULTI")
		return
	}
	c.endTransaction()
	c.w.Status("OK")
}

func watch(c *client) {
	if c.multi {
		c.w.Error("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range c.args[1:] {
		it := c.read(key)
		set := c.server.store.watched[string(key)]
		if set == nil {
			set = map[*client]struct{}{}
			c.server.store.watched[string(key)] = set
		}
		if _, done := set[c]; done {
			continue
		}
		if len(c.watching) == watchMost {
			if len(set) == 0 {
				delete(c.server.store.watched, string(key))
			}
			c.w.Error("ERR too many watched keys: at most 1000")
			return
		}
		set[c] = struct{}{}
		c.watchBytes += len(key)
		c.watching = append(c.watching, watchedKey{string(key), it != nil && it.expires != 0})
	}
	c.w.Status("OK")
}

// watchedEnded reports whether a watched key has expired since WATCH.
func (c *client) watchedEnded() bool {
	for _, w := range c.watching {
		if it := c.server.store.index.find([]byte(w.key)); w.expires && it != nil && it.expires != 0 && it.expires <= c.now {
			return true
		}
	}
	return false
}

func (c *client) unwatch() {
	watched := c.server.store.watched
	for _, w := range c.watching {
		set := watched[w.key]
		if delete(set, c); len(set) == 0 {
			delete(watched, w.key)
		}
	}
	c.watching, c.watchBytes, c.spoiled = nil, 0, false
}

func (c *client) endTransaction() {
	c.unwatch()
	c.multi, c.aborted, c.queue, c.queueBytes, c.queueWork = false, false, nil, 0, 0
}
