package redis

import (
	"bytes"
	"math"
	"strconv"
)

var stringCommands = []command{
	{name: "get", arity: 2, keys: firstKey, family: "strings", about: "the value of a key; of a window key: the count of its events, its number, or the sketch as the string Redis would hold", run: get},
	{name: "set", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "sets a key; NX XX GET EX PX EXAT PXAT KEEPTTL", run: setString},
	{name: "setnx", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "sets a key if it does not exist", run: setnx},
	{name: "setex", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "sets a key for so many seconds", run: func(c call, k *keyspace) { setex(c, k, "EX") }},
	{name: "psetex", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "sets a key for so many milliseconds", run: func(c call, k *keyspace) { setex(c, k, "PX") }},
	{name: "getdel", arity: 2, flags: flagWrite, keys: firstKey, family: "strings", about: "the value of a key, which is deleted", run: getdel},
	{name: "getrange", arity: 4, keys: firstKey, family: "strings", about: "the bytes from start to end of a string", run: getrange},
	{name: "setrange", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "writes bytes into a string at an offset", run: setrange},
	{name: "append", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "appends to a string", run: appendTo},
	{name: "strlen", arity: 2, keys: firstKey, family: "strings", about: "the length of a string in bytes", run: strlen},
	{name: "incr", arity: 2, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "adds 1 to a number", run: func(c call, k *keyspace) { add(c, k, 1) }},
	{name: "decr", arity: 2, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "takes 1 from a number", run: func(c call, k *keyspace) { add(c, k, -1) }},
	{name: "incrby", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "adds to a number", run: incrby},
	{name: "decrby", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, family: "strings", about: "takes from a number", run: decrby},
}

// newString returns an item with a copy of a text.
func newString(b []byte) *item {
	return &item{str: append(make([]byte, 0, max(len(b), 1)), b...)}
}

// text returns the bytes of a string, nil if there is none. Those of a window key are made
// when they are first read; if there are too many, it sends the error.
func (c call) text(k *keyspace, it *item) ([]byte, bool) {
	if it == nil {
		return nil, true
	}
	if it.bits() != nil && it.bits().Len() > uint64(k.server.config.Bulk) {
		c.w.Error(errTooLong)
		return nil, false
	}
	if it.str == nil && it.window != nil && it.window.text != nil {
		it.str = it.window.text([]byte{})
	}
	return it.str, true
}

// textOf is typed and text together; it is nil if there is no key.
func (c call) textOf(k *keyspace, key []byte) (it *item, text []byte, ok bool) {
	if it, ok = k.typed(c, key, typeString); ok {
		text, ok = c.text(k, it)
	}
	return it, text, ok
}

// sendText sends the bytes of a string, or null if there is none.
func (c call) sendText(it *item, text []byte) {
	if it == nil {
		c.w.Null()
	} else {
		c.w.Bulk(text)
	}
}

func get(c call, k *keyspace) {
	if it, text, ok := c.textOf(k, c.args[1]); ok {
		c.sendText(it, text)
	}
}

func strlen(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeString)
	switch {
	case !ok:
	case it != nil && it.bits() != nil: // the bytes need not be made
		c.w.Int(int64(it.bits().Len()))
	default:
		text, _ := c.text(k, it)
		c.w.Int(int64(len(text)))
	}
}

// setString reads its options as parseExtendedStringArgumentsOrReply of t_string.c does.
func setString(c call, k *keyspace) {
	var nx, xx, wantOld, keep bool
	var expiry string
	var amount []byte
	for i := 3; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case is(a, "NX") && !xx:
			nx = true
		case is(a, "XX") && !nx:
			xx = true
		case is(a, "GET"):
			wantOld = true
		case is(a, "KEEPTTL") && expiry == "":
			keep = true
		case i+1 < len(c.args) && !keep && (expiry == "" || is(a, expiry)) && (is(a, "EX") || is(a, "PX") || is(a, "EXAT") || is(a, "PXAT")):
			expiry = string(bytes.ToUpper(a))
			i++
			amount = c.args[i]
		default:
			c.w.Error(errSyntax)
			return
		}
	}
	var expires int64
	if expiry != "" {
		n, ok := c.integer(amount)
		if !ok {
			return
		}
		if n <= 0 {
			c.badExpiry()
			return
		}
		if expires, ok = c.deadline(k, n, expiry[0] == 'E', len(expiry) == 4); !ok {
			return
		}
	}
	old := k.read(c.args[1])
	if wantOld {
		if old != nil && old.typ != typeString {
			c.w.Error(errType)
			return
		}
		if old == nil {
			c.w.Null()
		} else {
			c.w.Bulk(old.str)
		}
	}
	if nx && old != nil || xx && old == nil {
		if !wantOld {
			c.w.Null()
		}
		return
	}
	it := newString(c.args[2])
	if it.expires = expires; keep && old != nil {
		it.expires = old.expires
	}
	k.put(c.args[1], it)
	if !wantOld {
		c.w.Status("OK")
	}
}

// deadline returns an expiry in Unix milliseconds; if that is out of range, it sends the
// error.
func (c call) deadline(k *keyspace, n int64, seconds, absolute bool) (at int64, ok bool) {
	at, ok = n, true
	if seconds {
		at, ok = n*1000, n <= math.MaxInt64/1000 && n >= math.MinInt64/1000
	}
	if !absolute {
		ok = ok && at <= math.MaxInt64-k.now
		at += k.now
	}
	if !ok {
		c.badExpiry()
	}
	return at, ok
}

func (c call) badExpiry() { c.w.Error("ERR invalid expire time in '" + c.cmd.name + "' command") }

func setnx(c call, k *keyspace) {
	if k.read(c.args[1]) != nil {
		c.w.Int(0)
		return
	}
	k.put(c.args[1], newString(c.args[2]))
	c.w.Int(1)
}

// setex is SET with an expiry, and its arguments in another order.
func setex(c call, k *keyspace, unit string) {
	c.args = [][]byte{c.args[0], c.args[1], c.args[3], []byte(unit), c.args[2]}
	setString(c, k)
}

func getdel(c call, k *keyspace) {
	if it, text, ok := c.textOf(k, c.args[1]); ok {
		if c.sendText(it, text); it != nil {
			k.drop(it)
		}
	}
}

func getrange(c call, k *keyspace) {
	start, end, ok := c.bounds()
	if !ok {
		return
	}
	_, b, ok := c.textOf(k, c.args[1])
	if !ok {
		return
	}
	n := int64(len(b))
	if start < 0 && end < 0 && start > end {
		c.w.Bulk(nil)
		return
	}
	start, end = fromEnd(start, n), min(fromEnd(end, n), n-1)
	if start > end || n == 0 {
		c.w.Bulk(nil)
		return
	}
	c.w.Bulk(b[start : end+1])
}

// bounds reads the two arguments after the key: the ends of a range.
func (c call) bounds() (start, end int64, ok bool) {
	if start, ok = c.integer(c.args[2]); ok {
		end, ok = c.integer(c.args[3])
	}
	return start, end, ok
}

// fromEnd returns the index from the start for an index that is negative if it counts
// from the end.
func fromEnd(i, n int64) int64 {
	if i < 0 {
		return max(i+n, 0)
	}
	return i
}

func setrange(c call, k *keyspace) {
	at, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	if at < 0 {
		c.w.Error("ERR offset is out of range")
		return
	}
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	value := c.args[3]
	if len(value) == 0 {
		n := 0
		if it != nil {
			n = len(it.str)
		}
		c.w.Int(int64(n))
		return
	}
	if at > int64(k.server.config.Bulk) || at+int64(len(value)) > int64(k.server.config.Bulk) {
		c.w.Error(errTooLong)
		return
	}
	end := int(at) + len(value)
	if !c.lengthens(k, it, end) {
		return
	}
	if it == nil {
		it = k.put(c.args[1], newString(nil))
	}
	it.str = grow(it.str, end)
	copy(it.str[at:], value)
	k.touch(it)
	c.w.Int(int64(len(it.str)))
}

// lengthens reports whether the string of an item, or of a new one if it is nil, may be
// made n bytes long; if not, it sends the error.
func (c call) lengthens(k *keyspace, it *item, n int) bool {
	room := 0
	if it != nil {
		room = cap(it.str)
	}
	return n <= room || k.fits(c, n, room)
}

// grow lengthens b to at least n bytes, with zeros.
func grow(b []byte, n int) []byte {
	if len(b) >= n {
		return b
	}
	return append(b, make([]byte, n-len(b))...)
}

func appendTo(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	switch {
	case it == nil:
		it = k.put(c.args[1], newString(c.args[2]))
	case len(it.str)+len(c.args[2]) > k.server.config.Bulk:
		c.w.Error(errTooLong)
		return
	case !c.lengthens(k, it, len(it.str)+len(c.args[2])):
		return
	default:
		it.str = append(it.str, c.args[2]...)
		k.touch(it)
	}
	c.w.Int(int64(len(it.str)))
}

func incrby(c call, k *keyspace) {
	if n, ok := c.integer(c.args[2]); ok {
		add(c, k, n)
	}
}

func decrby(c call, k *keyspace) {
	n, ok := c.integer(c.args[2])
	switch {
	case !ok:
	case n == math.MinInt64: // −n does not fit into 64 bits
		c.w.Error("ERR decrement would overflow")
	default:
		add(c, k, -n)
	}
}

// add follows incrDecrCommand of t_string.c in Redis 7.0. The key keeps its expiry.
func add(c call, k *keyspace, n int64) {
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	var old int64
	if it != nil {
		if old, ok = c.integer(it.str); !ok {
			return
		}
	}
	if n > 0 && old > math.MaxInt64-n || n < 0 && old < math.MinInt64-n {
		c.w.Error("ERR increment or decrement would overflow")
		return
	}
	if it == nil {
		it = k.put(c.args[1], newString(nil))
	}
	it.str = strconv.AppendInt(it.str[:0], old+n, 10)
	k.touch(it)
	c.w.Int(old + n)
}
