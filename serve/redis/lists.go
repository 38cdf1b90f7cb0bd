package redis

// Lists are no sketch; there are just enough commands for a key to be of
// another type.
var listCommands = []command{
	{name: "lpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, each: 120 * nanosecond, since: "1.0.0", family: "list", about: "puts elements in front of a list", run: func(c *client) { push(c, true) }},
	{name: "rpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, each: 120 * nanosecond, since: "1.0.0", family: "list", about: "puts elements behind a list", run: func(c *client) { push(c, false) }},
	{name: "rpop", arity: -2, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "list", about: "takes the last element of a list", differ: "Without a count.", run: rpop},
	{name: "llen", arity: 2, keys: firstKey, since: "1.0.0", family: "list", about: "the length of a list", run: llen},
	{name: "lrange", arity: 4, keys: firstKey, since: "1.0.0", family: "list", about: "the elements from start to end", run: lrange},
}

// A list is the value of one: a deque in blocks, so that a push at either end
// moves nothing but, now and then, the list of blocks.
type list struct {
	blocks []*listBlock // those in use are between nil ones at the front and the end of the slice
	first  int          // the place of the first element, counted over the blocks
	n      int
	bytes  int // of the elements, as they are allocated
}

type listBlock [listBlockLen][]byte

// listBlockLen makes a list of one element cost 3 KiB, and one of ten million
// have 80,000 blocks.
const listBlockLen = 128

// at is the place of an element, 0 ≤ i < n.
func (l *list) at(i int) *[]byte {
	i += l.first
	return &l.blocks[i/listBlockLen][i%listBlockLen]
}

func (l *list) push(e []byte, front bool) {
	if front {
		if l.first == 0 {
			// As many free blocks in front as there are: the next ones cost nothing.
			free := max(len(l.blocks), 1)
			l.blocks = append(make([]*listBlock, free, 2*free+1), l.blocks...)
			l.first = free * listBlockLen
		}
		l.first--
	} else if l.first+l.n == len(l.blocks)*listBlockLen {
		l.blocks = append(l.blocks, nil)
	}
	l.n++
	i := l.first
	if !front {
		i += l.n - 1
	}
	if l.blocks[i/listBlockLen] == nil {
		l.blocks[i/listBlockLen] = new(listBlock)
	}
	l.blocks[i/listBlockLen][i%listBlockLen] = e
	l.bytes += allocated(len(e))
}

// pop takes the last element of a list that has one.
func (l *list) pop() []byte {
	last := l.at(l.n - 1)
	e := *last
	*last = nil
	l.n--
	l.bytes -= allocated(len(e))
	if end := l.first + l.n; end%listBlockLen == 0 { // it was the first of its block
		l.blocks[end/listBlockLen] = nil
		l.blocks = l.blocks[:end/listBlockLen]
	}
	return e
}

// memory is what the list takes.
func (l *list) memory() int {
	const block = listBlockLen*24 + 8
	return l.bytes + 8*cap(l.blocks) + (l.n/listBlockLen+1)*block
}

// allocated is about what the allocator takes for n bytes.
func allocated(n int) int { return (n + 15) &^ 15 }

func push(c *client, front bool) {
	it, ok := c.typed(c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		it = c.server.store.put(c.args[1], &item{kind: kindList, list: new(list)})
	}
	for _, a := range c.args[2:] {
		it.list.push(append([]byte{}, a...), front)
	}
	c.touch(it)
	c.w.Int(int64(it.list.n))
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
	c.w.Bulk(it.list.pop())
	if it.list.n == 0 {
		c.server.store.drop(it)
	} else {
		c.touch(it)
	}
}

func llen(c *client) {
	if it, ok := c.typed(c.args[1], kindList); ok {
		n := 0
		if it != nil {
			n = it.list.n
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
	n := 0
	if it != nil {
		n = it.list.n
	}
	from, to := rankRange(start, end, n)
	if !c.afford(to-from, perElement) {
		return
	}
	size := 0
	for i := from; i < to; i++ {
		size += len(*it.list.at(i))
	}
	if !c.affordReply(to-from, size) {
		return
	}
	c.w.Array(to - from)
	for i := from; i < to; i++ {
		c.w.Bulk(*it.list.at(i))
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
