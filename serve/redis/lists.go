package redis

import "slices"

// Lists are not sketches. These few commands make keys of another type, which Redis's own
// tests need.
var listCommands = []command{
	{name: "lpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, since: "1.0.0", family: "list", about: "puts elements in front of a list", run: func(c call, k *keyspace) { push(c, k, true) }},
	{name: "rpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, since: "1.0.0", family: "list", about: "puts elements behind a list", run: func(c call, k *keyspace) { push(c, k, false) }},
	{name: "rpop", arity: 2, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "list", about: "takes the last element of a list", differ: "Without a count.", run: rpop},
}

// A list is the value of a list key, in two stacks: elements are pushed in front of the
// first one and behind the second one.
type list struct {
	front, back [][]byte
	bytes       int
}

func push(c call, k *keyspace, front bool) {
	it, ok := k.typed(c, c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		it = k.put(c.args[1], &item{kind: kindList, value: new(list)})
	}
	l := valueOf[list](it)
	for _, a := range c.args[2:] {
		stack := &l.back
		if front {
			stack = &l.front
		}
		*stack = append(*stack, append([]byte{}, a...))
		l.bytes += 24 + 16 + len(a)
	}
	k.touch(it)
	c.w.Int(int64(len(l.front) + len(l.back)))
}

func rpop(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		c.w.Null()
		return
	}
	l := valueOf[list](it)
	if len(l.back) == 0 { // the last element is the first that was pushed in front
		slices.Reverse(l.front)
		l.front, l.back = nil, l.front
	}
	last := l.back[len(l.back)-1]
	l.back = l.back[:len(l.back)-1]
	l.bytes -= 24 + 16 + len(last)
	c.w.Bulk(last)
	if len(l.front)+len(l.back) == 0 {
		k.drop(it)
	} else {
		k.touch(it)
	}
}
