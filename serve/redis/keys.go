package redis

import (
	"math"
	"strconv"
)

var keyCommands = []command{
	{name: "del", arity: -2, flags: flagWrite, keys: allKeys, family: "generic", about: "deletes keys", run: del},
	{name: "unlink", arity: -2, flags: flagWrite, keys: allKeys, family: "generic", about: "deletes keys", run: del},
	{name: "exists", arity: -2, keys: allKeys, family: "generic", about: "how many of the keys exist", run: exists},
	{name: "expire", arity: -3, flags: flagWrite, keys: firstKey, family: "generic", about: "ends a key after so many seconds; NX XX GT LT", run: func(c call, k *keyspace) { expire(c, k, true, false) }},
	{name: "pexpire", arity: -3, flags: flagWrite, keys: firstKey, family: "generic", about: "ends a key after so many milliseconds; NX XX GT LT", run: func(c call, k *keyspace) { expire(c, k, false, false) }},
	{name: "expireat", arity: -3, flags: flagWrite, keys: firstKey, family: "generic", about: "ends a key at a Unix time in seconds; NX XX GT LT", run: func(c call, k *keyspace) { expire(c, k, true, true) }},
	{name: "pexpireat", arity: -3, flags: flagWrite, keys: firstKey, family: "generic", about: "ends a key at a Unix time in milliseconds; NX XX GT LT", run: func(c call, k *keyspace) { expire(c, k, false, true) }},
	{name: "ttl", arity: 2, keys: firstKey, family: "generic", about: "seconds left; −1: no end; −2: no key", run: func(c call, k *keyspace) { ttl(c, k, 1000) }},
	{name: "pttl", arity: 2, keys: firstKey, family: "generic", about: "milliseconds left; −1: no end; −2: no key", run: func(c call, k *keyspace) { ttl(c, k, 1) }},
	{name: "persist", arity: 2, flags: flagWrite, keys: firstKey, family: "generic", about: "takes the end from a key", run: persist},
	{name: "type", arity: 2, keys: firstKey, family: "generic", about: "string, set, zset, list, MBbloom--, TopK-TYPE, TDIS-TYPE or none", run: typeOf},
	{name: "keys", arity: 2, flags: flagList, family: "generic", about: "every key that matches a pattern, window keys included", run: keys},
	{name: "scan", arity: -2, flags: flagList, family: "generic", about: "the keys, some at a time, all window keys with the last; MATCH COUNT", differ: "Without TYPE.", run: scanKeys},
	{name: "dbsize", arity: 1, family: "server", about: "the number of scratch keys", run: func(c call, k *keyspace) { c.w.Int(int64(len(k.index))) }},
	{name: "flushdb", arity: -1, flags: flagWrite, family: "server", about: "deletes every scratch key", run: flush},
	{name: "flushall", arity: -1, flags: flagWrite, family: "server", about: "deletes every scratch key", run: flush},
}

func del(c call, k *keyspace) {
	n := int64(0)
	for _, key := range c.args[1:] {
		n += int64(btoi(k.remove(key, k.now)))
	}
	c.w.Int(n)
}

func exists(c call, k *keyspace) {
	n := int64(0)
	for _, key := range c.args[1:] {
		n += int64(btoi(k.read(key) != nil))
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
	n, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	at, ok := c.deadline(k, n, seconds, absolute)
	if !ok {
		return
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
		c.w.Status(it.typ.typeName())
	} else {
		c.w.Status("none")
	}
}

func keys(c call, k *keyspace) {
	pattern := string(c.args[1])
	var found []string
	scan(0, len(k.order), math.MaxInt, k.matching(pattern, &found))
	k.matchingWindows(pattern, &found)
	c.strings(found)
}

// matchingWindows gathers the window keys that match a pattern.
func (k *keyspace) matchingWindows(pattern string, found *[]string) {
	for _, key := range k.listed {
		if match(pattern, key) {
			*found = append(*found, key)
		}
	}
}

// matching returns a function for scan that gathers the keys that match a pattern.
func (k *keyspace) matching(pattern string, found *[]string) func(number int) {
	return func(number int) {
		if it := k.order[number]; (it.expires == 0 || it.expires > k.now) && match(pattern, it.key) {
			*found = append(*found, it.key)
		}
	}
}

func (c call) strings(list []string) {
	c.w.Array(len(list))
	for _, s := range list {
		c.w.BulkString(s)
	}
}

// A scanQuery is the cursor and the options of SCAN and SSCAN.
type scanQuery struct {
	cursor  uint64
	pattern string
	count   int
}

// cursor reads the cursor of SCAN or SSCAN; if it is none, it sends the error.
func (c call) cursor(arg []byte) (cursor uint64, ok bool) {
	cursor, err := strconv.ParseUint(string(arg), 10, 64)
	if err != nil {
		c.w.Error("ERR invalid cursor")
	}
	return cursor, err == nil
}

// scanOptions reads the options of a scan.
func (c call) scanOptions(q *scanQuery, args [][]byte) (ok bool) {
	q.pattern, q.count = "*", 10
	for ; len(args) > 0; args = args[2:] {
		switch {
		case len(args) == 1:
			c.w.Error(errSyntax)
			return false
		case is(args[0], "COUNT"):
			count, ok := c.integer(args[1])
			if !ok {
				return false
			}
			if count < 1 {
				c.w.Error(errSyntax)
				return false
			}
			q.count = int(count)
		case is(args[0], "MATCH"):
			q.pattern = string(args[1])
		default:
			c.w.Error(errSyntax)
			return false
		}
	}
	return true
}

// sendScan sends what a scan has found, and where the next one begins.
func (c call) sendScan(next uint64, found []string) {
	c.w.Array(2)
	c.w.BulkString(strconv.FormatUint(next, 10))
	c.strings(found)
}

func scanKeys(c call, k *keyspace) {
	var q scanQuery
	var ok bool
	if q.cursor, ok = c.cursor(c.args[1]); !ok || !c.scanOptions(&q, c.args[2:]) {
		return
	}
	var found []string
	next := scan(q.cursor, len(k.order), q.count, k.matching(q.pattern, &found))
	if next == 0 {
		k.matchingWindows(q.pattern, &found)
	}
	c.sendScan(next, found)
}

func flush(c call, k *keyspace) {
	if !flushOption(c.args[1:]) {
		c.w.Error(errSyntax)
		return
	}
	k.flush()
	c.w.Status("OK")
}

// flushOption reports whether a command that deletes everything may have these options.
func flushOption(args [][]byte) bool {
	return len(args) == 0 || len(args) == 1 && (is(args[0], "ASYNC") || is(args[0], "SYNC"))
}
