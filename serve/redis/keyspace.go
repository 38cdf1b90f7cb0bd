package redis

import "weir/serve/key"

// A keyspace is the keys as one command, or one batch, sees them: the scratch keys
// of the server, the window keys that were looked up for it, and the time, which is
// the same for a whole batch. Every command about keys gets it, under the server's
// lock; only its methods and those of store change a key.
type keyspace struct {
	*store
	set       *settings
	shows     bool             // the server shows window keys; otherwise keys with their prefix are scratch keys
	windows   map[string]*item // the window keys that the command reads, see resolve
	listed    []listedKey      // all window keys, for KEYS and SCAN
	now, nano int64            // Unix time in milliseconds, and in nanoseconds
}

// settings are what CONFIG SET may change, within the bounds of Config, and what the
// operator has fixed for values.
type settings struct {
	memory    int  // bytes of scratch keys, beyond which writes are refused
	bulk      int  // bytes of a string
	sparseMax int  // bytes of a sparse HyperLogLog
	readOnly  bool // no command writes
}

// isWindow reports whether a key is a window key.
func (k *keyspace) isWindow(name []byte) bool { return k.shows && key.Is(name) }

// read returns the item of a key, or nil: of a scratch key, or of a window
// key, which resolve has looked up.
func (k *keyspace) read(name []byte) *item {
	if k.windows != nil && key.Is(name) {
		return k.windows[string(name)]
	}
	return k.find(name, k.now)
}

// typed is read for commands that need a value of one kind, or the text of a window key. If
// the value has another kind, or if there is no time to make the text, typed sends the error
// and ok is false.
func (k *keyspace) typed(c call, name []byte, want kind) (it *item, ok bool) {
	it = k.read(name)
	if it != nil && it.kind != want {
		c.w.Error(errType)
		return nil, false
	}
	if it != nil && it.window != nil && it.str == nil && it.window.cost > 0 && !c.afford(1, it.window.cost) {
		return nil, false
	}
	return it, true
}

// fits reports whether there is memory for a value of n bytes that replaces one
// of before bytes; if not, it sends the error. It is for commands whose result
// may be much larger than their arguments. It always allows small results: the
// next command notices when they exceed the limit.
func (k *keyspace) fits(c call, n, before int) bool {
	const little = 64 << 10
	if more := n - before; more > little && k.used+more > k.set.memory {
		c.w.Error(errMemory)
		return false
	}
	return true
}
