package redis

import (
	"bytes"
	"math"
	"strconv"
	"strings"
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
	{name: "type", arity: 2, keys: firstKey, since: "1.0.0", family: "generic", about: "string, set, zset, list, MBbloom--, TopK-TYPE, TDIS-TYPE or none", run: onKeys(typeOf)},
	{name: "keys", arity: 2, flags: flagList, since: "1.0.0", family: "generic", about: "every key that matches a pattern, window keys included", run: onKeys(keys)},
	{name: "scan", arity: -2, flags: flagList, since: "2.8.0", family: "generic", about: "the keys, some at a time, window keys last; MATCH COUNT TYPE",
		differ: "TYPE leaves window keys out, unless it is left out.", run: onKeys(scan)},
	{name: "rename", arity: 3, flags: flagWrite, keys: keySpec{1, 2, 1}, since: "1.0.0", family: "generic", about: "gives a key another name", run: onKeys(func(c call, k *keyspace) { rename(c, k, false) })},
	{name: "renamenx", arity: 3, flags: flagWrite, keys: keySpec{1, 2, 1}, since: "1.0.0", family: "generic", about: "gives a key another name, unless that is taken", run: onKeys(func(c call, k *keyspace) { rename(c, k, true) })},
	{name: "dbsize", arity: 1, since: "1.0.0", family: "server", about: "the number of scratch keys", run: onKeys(func(c call, k *keyspace) { c.w.Int(int64(k.index.count)) })},
	{name: "flushdb", arity: -1, each: 600 * nanosecond, flags: flagWrite, since: "1.0.0", family: "server", about: "deletes every scratch key", run: onKeys(flush)},
	{name: "flushall", arity: -1, each: 600 * nanosecond, flags: flagWrite, since: "1.0.0", family: "server", about: "deletes every scratch key", run: onKeys(flush)},
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

// A scanQuery is the options of SCAN and SSCAN.
type scanQuery struct {
	pattern string
	typed   bool // only keys of this kind
	kind    string
	count   int
}

// cursor reads the cursor of SCAN or SSCAN as strtoul of C does; if it is none, it sends
// the error. To C a text ends at its first byte 0.
func (c call) cursor(arg []byte) (cursor uint64, ok bool) {
	arg, _, _ = bytes.Cut(arg, []byte{0})
	if len(arg) == 0 {
		return 0, true
	}
	digits, minus := arg, arg[0] == '-'
	if minus || arg[0] == '+' {
		digits = arg[1:]
	}
	cursor, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		c.w.Error("ERR invalid cursor")
		return 0, false
	}
	if minus {
		cursor = -cursor
	}
	return cursor, true
}

// scanOptions reads the options of SCAN, or those without TYPE of SSCAN.
func (c call) scanOptions(args [][]byte, types bool) (q scanQuery, ok bool) {
	q = scanQuery{pattern: "*", count: 10}
	for ; len(args) > 0; args = args[2:] {
		switch {
		case len(args) == 1:
			c.w.Error(errSyntax)
			return q, false
		case is(args[0], "COUNT"):
			count, ok := c.integer(args[1])
			if !ok {
				return q, false
			}
			if count < 1 {
				c.w.Error(errSyntax)
				return q, false
			}
			q.count = int(min(count, 1<<20)) // a scan ends before its COUNT when its time is used up
		case is(args[0], "MATCH"):
			if q.pattern, ok = c.pattern(args[1]); !ok {
				return q, false
			}
		case is(args[0], "TYPE") && types:
			q.typed, q.kind = true, string(args[1])
		default:
			c.w.Error(errSyntax)
			return q, false
		}
	}
	return q, true
}

// sendScan sends what a scan has found, and where the next one begins.
func (c call) sendScan(next uint64, found []string) {
	c.w.Array(2)
	c.w.BulkString(strconv.FormatUint(next, 10))
	c.strings(found)
}

func scan(c call, k *keyspace) {
	cursor, ok := c.cursor(c.args[1])
	if !ok {
		return
	}
	q, ok := c.scanOptions(c.args[2:], true)
	if !ok {
		return
	}
	var found []string
	var next uint64
	if cursor < windowCursor {
		next = k.scan(cursor, q.count, k.now, func(it *item) bool {
			key := string(it.key)
			if !c.spendKey(q.pattern, key) {
				return false
			}
			if match(q.pattern, key) && (!q.typed || strings.EqualFold(q.kind, it.kind.typeName())) {
				found = append(found, key)
			}
			return true
		})
		if next == 0 && len(k.listed) > 0 && !q.typed {
			next = windowCursor
		}
	} else {
		looked := false
		next = k.scanWindows(cursor, q.count, func(key string) bool {
			if !c.spendKey(q.pattern, key) {
				return false
			}
			looked = true
			if match(q.pattern, key) {
				found = append(found, key)
			}
			return true
		})
		if !looked && next != 0 { // and would not get further next time
			c.w.Error(errWork + "; this key is too long to be compared with a pattern")
			return
		}
	}
	c.sendScan(next, found)
}

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
