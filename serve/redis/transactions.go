package redis

var transactionCommands = []command{
	{name: "multi", arity: 1, flags: flagNoQueue, family: "transactions", about: "begins a transaction: commands are queued until EXEC", run: multi},
	{name: "exec", arity: 1, flags: flagNoQueue, family: "transactions", about: "runs the queued commands, with nothing in between", run: exec},
	{name: "discard", arity: 1, flags: flagNoQueue, family: "transactions", about: "drops the queued commands", run: discard},
}

// A transaction is what a client has queued since MULTI.
type transaction struct {
	open    bool // since MULTI
	aborted bool // a queued command was refused
	queue   []queued
	bytes   int // of the queue
}

// queued is a command that waits for EXEC, with a copy of its arguments.
type queued struct {
	cmd  *command
	args [][]byte
}

// enqueue keeps a command for EXEC. All of a transaction together have as many bytes as
// one command may have.
func (c *client) enqueue(cmd *command, args [][]byte) {
	t := &c.transaction
	if t.aborted { // the transaction will not run
		c.w.Status("QUEUED")
		return
	}
	t.bytes += 64
	own := make([][]byte, len(args))
	for i, a := range args {
		t.bytes += 24 + len(a)
		own[i] = append([]byte{}, a...)
	}
	if t.bytes > c.server.config.Request {
		*t = transaction{open: true, aborted: true}
		c.w.Error("ERR the transaction is too long")
		return
	}
	t.queue = append(t.queue, queued{cmd, own})
	c.w.Status("QUEUED")
}

func multi(c call, _ *keyspace) {
	t := &c.client.transaction
	if t.open {
		c.w.Error("ERR MULTI calls can not be nested")
		return
	}
	t.open = true
	c.w.Status("OK")
}

func exec(c call, _ *keyspace) {
	t := c.client.transaction
	c.client.transaction = transaction{}
	switch {
	case !t.open:
		c.w.Error("ERR EXEC without MULTI")
	case t.aborted:
		c.w.Error("EXECABORT Transaction discarded because of previous errors.")
	default:
		c.w.Array(len(t.queue))
		for _, q := range t.queue {
			// Check again: the commands before this one may have filled the memory.
			if fault := c.client.refuse(q.cmd, q.args); fault != "" {
				c.w.Error(fault)
			} else {
				c.client.call(q.cmd, q.args)
			}
		}
	}
}

func discard(c call, _ *keyspace) {
	if !c.client.transaction.open {
		c.w.Error("ERR DISCARD without MULTI")
		return
	}
	c.client.transaction = transaction{}
	c.w.Status("OK")
}
