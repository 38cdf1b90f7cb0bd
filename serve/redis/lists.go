package redis

import "bytes"

// Lists are no sketch; there are just enough commands for a key to be of
// another type.
var listCommands = []command{
	{name: "lpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, since: "1.0.0", family: "list", about: "puts elements in front of a list", run: func(c *client) { push(c, true) }},
	{name: "rpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, since: "1.0.0", family: "list", about: "puts elements behind a list", run: func(c *client) { push(c, false) }},
	{name: "rpop", arity: -2, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "list", about: "takes the last element of a list", differ: "Without a count.", run: rpop},
	{name: "llen", arity: 2, keys: firstKey, since: "1.0.0", family: "list", about: "the length of a list", run: llen},
	{name: "lrange", arity: 4, keys: firstKey, since: "1.0.0", family: "list", about: "the elements from start to end", run: lrange},
}

// A list is the value of one.
type list struct{ items [][]byte }

func push(c *client, front bool) {
	it, ok := c.typed(c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		it = c.server.store.put(c.args[1], &item{kind: kindList, list: new(list)})
	}
	for _, a := range c.args[2:] {
		e := append([]byte{}, a...)
		if front {
			it.list.items = append([][]byte{e}, it.list.items...)
		} else {
			it.list.items = append(it.list.items, e)
		}
	}
	c.touch(it)
	c.w.Int(int64(len(it.list.items)))
}

func rpop(c *client) {
	if len(c.args) > 2 {
		c.w.Error(errSyntax)
		return
	}
	it, ok := c.typed(c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		c.w.Null()
		return
	}
	n := len(it.list.items) - 1
	c.w.Bulk(bytes.Clone(it.list.items[n]))
	if it.list.items = it.list.items[:n]; n == 0 {
		c.server.store.drop(it)
	} else {
		c.touch(it)
	}
}

func llen(c *client) {
	if it, ok := c.typed(c.args[1], kindList); ok {
		n := 0
		if it != nil {
			n = len(it.list.items)
		}
		c.w.Int(int64(n))
	}
}

func lrange(c *client) {
	start, end, ok := c.bounds()
	if !ok {
		return
	}
	it, ok := c.typed(c.args[1], kindList)
	if !ok {
		return
	}
	var items [][]byte
	if it != nil {
		items = it.list.items
	}
	from, to := rankRange(start, end, len(items))
	c.w.Array(to - from)
	for _, e := range items[from:to] {
		c.w.Bulk(e)
	}
}

// bounds reads the two arguments behind the key, both ends of a range.
func (c *client) bounds() (start, end int64, ok bool) {
	if start, ok = c.integer(c.args[2]); ok {
		end, ok = c.integer(c.args[3])
	}
	return start, end, ok
}

// rankRange turns a range as Redis has it, both ends included and negative
// ones counted from the end, into [from, to) within n.
func rankRange(start, end int64, n int) (from, to int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if end < 0 {
		end += size
	}
	end = min(end, size-1)
	if start > end || start >= size {
		return 0, 0
	}
	return int(start), int(end) + 1
}
