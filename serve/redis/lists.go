package redis

import "slices"

// Lists are not sketches. These few commands make keys of another type, which Redis's own
// tests need.
var listCommands = []command{
	{name: "lpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, family: "list", about: "puts elements in front of a list", run: func(c call, k *keyspace) { push(c, k, true) }},
	{name: "rpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, family: "list", about: "puts elements behind a list", run: func(c call, k *keyspace) { push(c, k, false) }},
	{name: "rpop", arity: 2, flags: flagWrite, keys: firstKey, family: "list", about: "takes the last element of a list", differ: "Without a count.", run: rpop},
}

// A list is the value of a list key.
type list struct {
	elements [][]byte
	bytes    int
}

func push(c call, k *keyspace, front bool) {
	it, ok := k.typed(c, c.args[1], typeList)
	if !ok {
		return
	}
	if it == nil {
		it = k.put(c.args[1], &item{typ: typeList, value: new(list)})
	}
	l := valueOf[list](it)
	var pushed [][]byte
	for _, a := range c.args[2:] {
		pushed = append(pushed, append([]byte{}, a...))
		l.bytes += 24 + 16 + len(a)
	}
	if front { // the last one comes first
		slices.Reverse(pushed)
		l.elements = append(pushed, l.elements...)
	} else {
		l.elements = append(l.elements, pushed...)
	}
	k.touch(it)
	c.w.Int(int64(len(l.elements)))
}

func rpop(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeList)
	if !ok {
		return
	}
	if it == nil {
		c.w.Null()
		return
	}
	l := valueOf[list](it)
	last := l.elements[len(l.elements)-1]
	l.elements = l.elements[:len(l.elements)-1]
	l.bytes -= 24 + 16 + len(last)
	c.w.Bulk(last)
	if len(l.elements) == 0 {
		k.drop(it)
	} else {
		k.touch(it)
	}
}
