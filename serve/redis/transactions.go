package redis

import "bytes"

var transactionCommands = []command{
	{name: "multi", arity: 1, flags: flagNoQueue, since: "1.2.0", family: "transactions", about: "begins a transaction: commands are queued until EXEC", run: onTransaction(multi)},
	{name: "exec", arity: 1, flags: flagNoQueue, since: "1.2.0", family: "transactions", about: "runs the queued commands, with nothing in between", run: onClient(exec)},
	{name: "discard", arity: 1, flags: flagNoQueue, since: "2.0.0", family: "transactions", about: "drops the queued commands", run: onTransaction(discard)},
	{name: "watch", arity: -2, flags: flagNoQueue, keys: allKeys, each: 400 * nanosecond, since: "2.2.0", family: "transactions", about: "makes EXEC do nothing if one of the keys has changed by then",
		differ: "A window key may be watched, but its changes are not noticed.", run: onTransaction(watch)},
	{name: "unwatch", arity: 1, since: "2.2.0", family: "transactions", about: "forgets the watched keys", run: onTransaction(func(c call, t *transaction, k *keyspace) {
		t.unwatch(k)
		c.w.Status("OK")
	})},
}

// A transaction is what a client has queued since MULTI, and which keys it watches.
type transaction struct {
	open       bool // since MULTI
	aborted    bool // a queued command was refused
	spoiled    bool // a watched key has changed
	queue      []queued
	queueBytes int
	queueWork  cost // the cost of their arguments
	watching   []watchedKey
	watchBytes int // bytes of the watched keys
}

// queued is a command that waits for EXEC, with a copy of its arguments.
type queued struct {
	cmd  *command
	args [][]byte
}

type watchedKey struct {
	key     string
	existed bool
	expires bool   // it existed and had an expiry
	flushes uint64 // store.flushes at that time
}

// watchMost is how many keys a client may watch.
const watchMost = 1_000

// enqueue keeps a command for EXEC, and reports whether it may be one of the
// transaction. A transaction may take as much time as one command, and as many bytes.
// If the arguments of its commands alone would take more, enqueue refuses it before
// any command has run; EXEC checks the rest for each command.
func (t *transaction) enqueue(cmd *command, args [][]byte, bytesMost int) bool {
	if t.aborted || t.spoiled { // the transaction will not run
		return true
	}
	size := 64 + 24*len(args)
	for _, a := range args {
		size += len(a)
	}
	t.queueBytes += size
	t.queueWork += cmd.base(args)
	if t.queueBytes > bytesMost || t.queueWork > workMost {
		t.aborted, t.queue, t.queueBytes, t.queueWork = true, nil, 0, 0
		return false
	}
	own := make([][]byte, len(args))
	for i, a := range args {
		own[i] = bytes.Clone(a)
		if own[i] == nil {
			own[i] = []byte{}
		}
	}
	t.queue = append(t.queue, queued{cmd, own})
	return true
}

// end makes the transaction as if there had been none.
func (t *transaction) end(k *keyspace) {
	t.unwatch(k)
	t.open, t.aborted, t.queue, t.queueBytes, t.queueWork = false, false, nil, 0, 0
}

func (t *transaction) unwatch(k *keyspace) {
	for _, w := range t.watching {
		set := k.watched[w.key]
		if delete(set, t); len(set) == 0 {
			delete(k.watched, w.key)
		}
	}
	t.watching, t.watchBytes, t.spoiled = nil, 0, false
}

// watchedEnded reports whether a watched key has expired since WATCH, or was there when all
// keys were deleted.
func (t *transaction) watchedEnded(k *keyspace) bool {
	for _, w := range t.watching {
		if w.existed && w.flushes != k.flushes {
			return true
		}
		if it := k.index.find([]byte(w.key)); w.expires && it != nil && it.expires != 0 && it.expires <= k.now {
			return true
		}
	}
	return false
}

// held returns about how many bytes the server holds for the transaction.
func (t *transaction) held() int {
	const watched = 200 // an estimate of the bytes for a watched key, without the key's own
	return t.queueBytes + watched*len(t.watching) + t.watchBytes
}

func multi(c call, t *transaction, _ *keyspace) {
	if t.open {
		c.w.Error("ERR MULTI calls can not be nested")
		return
	}
	t.open = true
	c.w.Status("OK")
}

func exec(c call, cl *client) {
	t := &cl.transaction
	if !t.open {
		c.w.Error("ERR EXEC without MULTI")
		return
	}
	queue, queueWork, aborted, spoiled := t.queue, t.queueWork, t.aborted, t.spoiled || t.watchedEnded(&cl.keys)
	t.end(&cl.keys)
	switch {
	case aborted:
		c.w.Error("EXECABORT Transaction discarded because of previous errors.")
	case spoiled:
		c.w.NullArray()
	default:
		c.w.Array(len(queue))
		c.work.limit = max(c.work.limit-queueWork, c.work.used) // the time of their arguments is kept for each
		for _, q := range queue {
			// Check again: the commands before this one may have filled the memory.
			if fault := cl.refuse(q.cmd, q.args); fault != "" {
				c.w.Error(fault)
				continue
			}
			c.work.limit += q.cmd.base(q.args)
			cl.call(q.cmd, q.args)
			// All commands run. But if the replies exceed the limit, the turn will cut
			// the client off, so further replies are dropped.
			if over := cl.server.config.Buffers + 1; cl.replied() > over {
				c.w.Truncate(cl.from + over)
			}
		}
	}
}

func discard(c call, t *transaction, k *keyspace) {
	if !t.open {
		c.w.Error("ERR DISCARD without MULTI")
		return
	}
	t.end(k)
	c.w.Status("OK")
}

func watch(c call, t *transaction, k *keyspace) {
	if t.open {
		c.w.Error("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range c.args[1:] {
		it := k.read(key)
		set := k.watched[string(key)]
		if set == nil {
			set = map[*transaction]struct{}{}
			k.watched[string(key)] = set
		}
		if _, done := set[t]; done {
			continue
		}
		if len(t.watching) == watchMost {
			if len(set) == 0 {
				delete(k.watched, string(key))
			}
			c.w.Error("ERR too many watched keys: at most 1000")
			return
		}
		set[t] = struct{}{}
		t.watchBytes += len(key)
		t.watching = append(t.watching, watchedKey{string(key), it != nil, it != nil && it.expires != 0, k.flushes})
	}
	c.w.Status("OK")
}
