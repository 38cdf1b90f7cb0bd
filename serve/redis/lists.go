package redis

// Lists are not sketches. These few commands make keys of another type, which tests of
// clients need.
var listCommands = []command{
	{name: "lpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, each: 120 * nanosecond, since: "1.0.0", family: "list", about: "puts elements in front of a list", run: onKeys(func(c call, k *keyspace) { push(c, k, true) })},
	{name: "rpush", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, each: 120 * nanosecond, since: "1.0.0", family: "list", about: "puts elements behind a list", run: onKeys(func(c call, k *keyspace) { push(c, k, false) })},
	{name: "rpop", arity: -2, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "list", about: "takes the last element of a list", differ: "Without a count.", run: onKeys(rpop)},
	{name: "llen", arity: 2, keys: firstKey, since: "1.0.0", family: "list", about: "the length of a list", run: onKeys(llen)},
	{name: "lrange", arity: 4, keys: firstKey, since: "1.0.0", family: "list", about: "the elements from start to end", run: onKeys(lrange)},
}

// A list is the value of a list key: a deque of blocks. A push at either end
// moves no element; now and then it moves the slice of blocks.
type list struct {
	blocks []*listBlock // those in use, with nil entries before and after them
	first  int          // the position of the first element, counted over all blocks
	n      int
	bytes  int // allocated for the elements
}

type listBlock [listBlockLen][]byte

// listBlockLen is the number of elements of a block: a list of one element
// takes 3 KiB, and one of ten million has 80,000 blocks.
const listBlockLen = 128

// at returns a pointer to element i, 0 ≤ i < n.
func (l *list) at(i int) *[]byte {
	i += l.first
	return &l.blocks[i/listBlockLen][i%listBlockLen]
}

func (l *list) push(e []byte, front bool) {
	if front {
		if l.first == 0 {
			// Make as many free blocks in front as there are blocks, so that the next
			// pushes need not do it again.
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

// pop removes the last element of a list that is not empty.
func (l *list) pop() {
	last := l.at(l.n - 1)
	l.bytes -= allocated(len(*last))
	*last = nil
	l.n--
	if end := l.first + l.n; end%listBlockLen == 0 { // it was the first of its block
		l.blocks[end/listBlockLen] = nil
		l.blocks = l.blocks[:end/listBlockLen]
	}
}

// memory returns how many bytes the list takes.
func (l *list) memory() int {
	const block = listBlockLen*24 + 8
	return l.bytes + 8*cap(l.blocks) + (l.n/listBlockLen+1)*block
}

// allocated returns about how many bytes the allocator takes for n bytes.
func allocated(n int) int { return (n + 15) &^ 15 }

func push(c call, k *keyspace, front bool) {
	it, ok := k.typed(c, c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		it = k.put(c.args[1], &item{kind: kindList, value: new(list)})
	}
	for _, a := range c.args[2:] {
		it.list().push(append([]byte{}, a...), front)
	}
	k.touch(it)
	c.w.Int(int64(it.list().n))
}

func rpop(c call, k *keyspace) {
	switch {
	case len(c.args) > 3:
		c.w.Error(arityError(c.cmd.name))
		return
	case len(c.args) == 3: // a count
		c.w.Error(errSyntax)
		return
	}
	it, ok := k.typed(c, c.args[1], kindList)
	if !ok {
		return
	}
	if it == nil {
		c.w.Null()
		return
	}
	if !c.sendOne(*it.list().at(it.list().n - 1)) {
		return
	}
	it.list().pop()
	if it.list().n == 0 {
		k.drop(it)
	} else {
		k.touch(it)
	}
}

func llen(c call, k *keyspace) {
	if it, ok := k.typed(c, c.args[1], kindList); ok {
		n := 0
		if it != nil {
			n = it.list().n
		}
		c.w.Int(int64(n))
	}
}

func lrange(c call, k *keyspace) {
	start, end, ok := c.bounds()
	if !ok {
		return
	}
	it, ok := k.typed(c, c.args[1], kindList)
	if !ok {
		return
	}
	n := 0
	if it != nil {
		n = it.list().n
	}
	from, to := rankRange(start, end, n)
	if !c.afford(to-from, perElement) {
		return
	}
	size := 0
	for i := from; i < to; i++ {
		size += len(*it.list().at(i))
	}
	if !c.affordReply(to-from, size) {
		return
	}
	c.w.Array(to - from)
	for i := from; i < to; i++ {
		c.w.Bulk(*it.list().at(i))
	}
}

// bounds reads the two arguments after the key: the ends of a range.
func (c call) bounds() (start, end int64, ok bool) {
	if start, ok = c.integer(c.args[2]); ok {
		end, ok = c.integer(c.args[3])
	}
	return start, end, ok
}

// rankRange turns a range of Redis, which includes both ends and counts
// negative numbers from the end, into [from, to) within [0, n).
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
