package redis

import (
	"math"
	"strconv"
)

var keyCommands = []command{
	{name: "del", arity: -2, flags: flagWrite, keys: allKeys, each: 300 * nanosecond, since: "1.0.0", family: "generic", about: "deletes keys", run: onKeys(del)},
	{name: "unlink", arity: -2, flags: flagWrite, keys: allKeys, each: 300 * nanosecond, since: "4.0.0", family: "generic", about: "deletes keys", run: onKeys(del)},
	{name: "exists", arity: -2, keys: allKeys, since: "1.0.0", family: "generic", about: "how many of the keys exist", run: onKeys(exists)},
	{name: "expire", arity: -3, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "generic", about: "ends a key after so many seconds; NX XX GT LT", run: onKeys(func(c call, k *keyspace) { expire(c, k, true, false) })},
	{name: "pexpire", arity: -3, flags: flagWrite, keys: firstKey, since: "2.6.0", family: "generic", about: "ends a key after so many milliseconds; NX XX GT LT", run: onKeys(func(c call, k *keyspace) { expire(c, k, false, false) })},
	{name: "expireat", arity: -3, flags: flagWrite, keys: firstKey, since: "1.2.0", family: "generic", about: "ends a key at a Unix time in seconds; NX XX GT LT", run: onKeys(func(c call, k *keyspace) { expire(c, k, true, true) })},
	{name: "pexpireat", arity: -3, flags: flagWrite, keys: firstKey, since: "2.6.0", family: "generic", about: "ends a key at a Unix time in milliseconds; NX XX GT LT", run: onKeys(func(c call, k *keyspace) { expire(c, k, false, true) })},
	{name: "ttl", arity: 2, keys: firstKey, since: "1.0.0", family: "generic", about: "seconds left; −1: no end; −2: no key", run: onKeys(func(c call, k *keyspace) { ttl(c, k, 1000) })},
	{name: "pttl", arity: 2, keys: firstKey, since: "2.6.0", family: "generic", about: "milliseconds left; −1: no end; −2: no key", run: onKeys(func(c call, k *keyspace) { ttl(c, k, 1) })},
	{name: "persist", arity: 2, flags: flagWrite, keys: firstKey, since: "2.2.0", family: "generic", about: "takes the end from a key", run: onKeys(persist)},
	{name: "type", arity: 2, keys: firstKey, since: "1.0.0", family: "generic", about: "string, zset, list, MBbloom-- or none", run: onKeys(typeOf)},
	{name: "keys", arity: 2, flags: flagList, since: "1.0.0", family: "generic", about: "every key that matches a pattern, window keys included", run: onKeys(keys)},
	{name: "scan", arity: -2, flags: flagList, since: "2.8.0", family: "generic", about: "the keys, some at a time, window keys last; MATCH COUNT TYPE",
		differ: "TYPE leaves window keys out, unless it is left out.", run: onKeys(scan)},
	{name: "rename", arity: 3, flags: flagWrite, keys: keySpec{1, 2, 1}, since: "1.0.0", family: "generic", about: "gives a key another name", run: onKeys(func(c call, k *keyspace) { rename(c, k, false) })},
	{name: "renamenx", arity: 3, flags: flagWrite, keys: keySpec{1, 2, 1}, since: "1.0.0", family: "generic", about: "gives a key another name, unless that is taken", run: onKeys(func(c call, k *keyspace) { rename(c, k, true) })},
	{name: "dbsize", arity: 1, since: "1.0.0", family: "server", about: "the number of scratch keys", run: onKeys(func(c call, k *keyspace) { c.w.Int(int64(k.index.count)) })},
	{name: "flushdb", arity: -1, flags: flagWrite, since: "1.0.0", family: "server", about: "deletes every scratch key", run: onKeys(flush)},
	{name: "flushall", arity: -1, flags: flagWrite, since: "1.0.0", family: "server", about: "deletes every scratch key", run: onKeys(flush)},
}

func del(c call, k *keyspace) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if k.remove(key, k.now) {
			n++
		}
	}
	c.w.Int(n)
}

func exists(c call, k *keyspace) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if k.read(key) != nil {
			n++
		}
	}
	c.w.Int(n)
}

// expire follows expireGenericCommand of expire.c in Redis 7.0.
func expire(c call, k *keyspace, seconds, absolute bool) {
	var nx, xx, gt, lt bool
	for _, a := range c.args[3:] {
		switch {
		case is(a, "NX"):
			nx = true
		case is(a, "XX"):
			xx = true
		case is(a, "GT"):
			gt = true
		case is(a, "LT"):
			lt = true
		default:
			c.w.Error("ERR Unsupported option " + string(a))
			return
		}
	}
	if nx && (xx || gt || lt) {
		c.w.Error("ERR NX and XX, GT or LT options at the same time are not compatible")
		return
	}
	if gt && lt {
		c.w.Error("ERR GT and LT options at the same time are not compatible")
		return
	}
	at, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	if seconds {
		if at > math.MaxInt64/1000 || at < math.MinInt64/1000 {
			c.w.Error("ERR invalid expire time in '" + c.cmd.name + "' command")
			return
		}
		at *= 1000
	}
	if !absolute {
		if at > math.MaxInt64-k.now {
			c.w.Error("ERR invalid expire time in '" + c.cmd.name + "' command")
			return
		}
		at += k.now
	}
	it := k.read(c.args[1])
	switch {
	case it == nil,
		nx && it.expires != 0,
		xx && it.expires == 0,
		gt && (it.expires == 0 || at <= it.expires), // a key that never expires counts as expiring last
		lt && it.expires != 0 && at >= it.expires:
		c.w.Int(0)
		return
	}
	if at <= k.now {
		k.drop(it)
	} else {
		k.expire(it, at)
	}
	c.w.Int(1)
}

func ttl(c call, k *keyspace, unit int64) {
	it := k.read(c.args[1])
	switch {
	case it == nil:
		c.w.Int(-2)
	case it.expires == 0:
		c.w.Int(-1)
	default:
		left := max(it.expires-k.now, 0)
		c.w.Int((left + unit/2) / unit)
	}
}

func persist(c call, k *keyspace) {
	it := k.read(c.args[1])
	if it == nil || it.expires == 0 {
		c.w.Int(0)
		return
	}
	k.expire(it, 0)
	c.w.Int(1)
}

func typeOf(c call, k *keyspace) {
	if it := k.read(c.args[1]); it != nil {
		c.w.Status(it.kind.typeName())
	} else {
		c.w.Status("none")
	}
}

func keys(c call, k *keyspace) {
	pattern, ok := c.pattern(c.args[1])
	if !ok {
		return
	}
	var found []string
	look := func(key string) (more bool) {
		ok = c.spendKey(pattern, key)
		if ok && match(pattern, key) {
			found = append(found, key)
		}
		return ok
	}
	k.scan(0, math.MaxInt, k.now, func(it *item) bool { return look(string(it.key)) })
	for _, l := range k.listed {
		if !ok || !look(l.key) {
			break
		}
	}
	if !ok {
		c.w.Error(errWork + "; SCAN goes through any number of keys")
		return
	}
	c.strings(found)
}

// pattern reads the pattern argument of KEYS and SCAN.
func (c call) pattern(arg []byte) (string, bool) {
	if len(arg) > patternMost {
		c.w.Error("ERR the pattern is too long: at most 128 bytes")
		return "", false
	}
	return string(arg), true
}

// spendKey spends the time to compare a key with a pattern; false: the command has not
// that much time left.
func (c call) spendKey(pattern, key string) bool {
	const short = 512 // how many steps of perMatch perKey includes
	return c.work.spend(1, perKey) && c.work.spend(max(len(pattern)*len(key)-short, 0), perMatch)
}

func (c call) strings(list []string) {
	c.w.Array(len(list))
	for _, s := range list {
		c.w.BulkString(s)
	}
}

func scan(c call, k *keyspace) {
	cursor, err := strconv.ParseUint(string(c.args[1]), 10, 64)
	if err != nil {
		c.w.Error("ERR invalid cursor")
		return
	}
	pattern, kind, count := "*", "", int64(10)
	for i := 2; i < len(c.args); i += 2 {
		if i+1 == len(c.args) {
			c.w.Error(errSyntax)
			return
		}
		value := c.args[i+1]
		switch {
		case is(c.args[i], "COUNT"):
			var ok bool
			if count, ok = c.integer(value); !ok {
				return
			}
			if count < 1 {
				c.w.Error(errSyntax)
				return
			}
		case is(c.args[i], "MATCH"):
			var ok bool
			if pattern, ok = c.pattern(value); !ok {
				return
			}
		case is(c.args[i], "TYPE"):
			kind = string(value)
		default:
			c.w.Error(errSyntax)
			return
		}
	}
	// SCAN ends before its COUNT when its time is used up.
	n := int(min(count, 1<<20))
	var found []string
	var next uint64
	if cursor < windowCursor {
		next = k.scan(cursor, n, k.now, func(it *item) bool {
			key := string(it.key)
			if !c.spendKey(pattern, key) {
				return false
			}
			if match(pattern, key) && (kind == "" || kind == it.kind.typeName()) {
				found = append(found, key)
			}
			return true
		})
		if next == 0 && len(k.listed) > 0 && kind == "" {
			next = windowCursor
		}
	} else {
		next = k.scanWindows(cursor, min(n, scanWindowsMost), func(key string) {
			if match(pattern, key) {
				found = append(found, key)
			}
		})
	}
	c.w.Array(2)
	c.w.BulkString(strconv.FormatUint(next, 10))
	c.strings(found)
}

// scanWindowsMost is how many window keys one SCAN looks at. They are short.
const scanWindowsMost = 10_000

func rename(c call, k *keyspace, unlessTaken bool) {
	from, to := c.args[1], c.args[2]
	it := k.find(from, k.now)
	if it == nil {
		c.w.Error(errNoKey)
		return
	}
	if len(to) > keyMost {
		c.w.Error(errLongKey)
		return
	}
	taken := k.find(to, k.now) != nil
	if taken && unlessTaken {
		c.w.Int(0)
		return
	}
	if string(from) != string(to) {
		k.drop(it)
		k.put(to, it)
	}
	if unlessTaken {
		c.w.Int(1)
	} else {
		c.w.Status("OK")
	}
}

func flush(c call, k *keyspace) {
	if len(c.args) > 2 || len(c.args) == 2 && !is(c.args[1], "ASYNC") && !is(c.args[1], "SYNC") {
		c.w.Error(errSyntax)
		return
	}
	k.flush()
	c.w.Status("OK")
}
