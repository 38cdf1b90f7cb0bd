package redis

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"weir/serve/live"
)

// Sets are exact: what a HyperLogLog is compared with.
var setCommands = []command{
	{name: "sadd", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, each: 700 * nanosecond, since: "1.0.0", family: "set", about: "adds members", run: onKeys(sadd)},
	{name: "srem", arity: -3, flags: flagWrite, keys: firstKey, each: 1200 * nanosecond, since: "1.0.0", family: "set", about: "removes members", run: onKeys(srem)},
	{name: "smove", arity: 4, flags: flagWrite | flagGrow, keys: keySpec{1, 2, 1}, since: "1.0.0", family: "set", about: "moves a member from one set to another", differ: "Refused while the memory is full.", run: onKeys(smove)},
	{name: "scard", arity: 2, keys: firstKey, since: "1.0.0", family: "set", about: "the number of members", run: onKeys(scard)},
	{name: "sismember", arity: 3, keys: firstKey, since: "1.0.0", family: "set", about: "whether a member is there", run: onKeys(sismember)},
	{name: "smismember", arity: -3, keys: firstKey, each: 400 * nanosecond, since: "6.2.0", family: "set", about: "whether each member is there", run: onKeys(smismember)},
	{name: "smembers", arity: 2, keys: firstKey, since: "1.0.0", family: "set", about: "every member", run: onKeys(smembers)},
	{name: "srandmember", arity: -2, keys: firstKey, since: "1.0.0", family: "set", about: "a random member, or so many; a negative count may repeat them", run: onKeys(srandmember)},
	{name: "spop", arity: -2, flags: flagWrite, keys: firstKey, since: "1.0.0", family: "set", about: "takes a random member, or so many", run: onKeys(spop)},
	{name: "sinter", arity: -2, keys: allKeys, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "the members of all sets", run: onKeys(func(c call, k *keyspace) { combine(c, k, call.intersect) })},
	{name: "sinterstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "SINTER into a key", run: onKeys(func(c call, k *keyspace) { combineStore(c, k, call.intersect) })},
	{name: "sintercard", arity: -3, keys: countedKeys, each: 400 * nanosecond, since: "7.0.0", family: "set", about: "the number of members of all sets; LIMIT", differ: "Of window keys it takes one or two.", run: onKeys(sintercard)},
	{name: "sunion", arity: -2, keys: allKeys, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "the members of any set", run: onKeys(func(c call, k *keyspace) { combine(c, k, call.unite) })},
	{name: "sunionstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "SUNION into a key", run: onKeys(func(c call, k *keyspace) { combineStore(c, k, call.unite) })},
	{name: "sdiff", arity: -2, keys: allKeys, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "the members of the first set that are in no other", run: onKeys(func(c call, k *keyspace) { combine(c, k, call.subtract) })},
	{name: "sdiffstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, each: 400 * nanosecond, since: "1.0.0", family: "set", about: "SDIFF into a key", run: onKeys(func(c call, k *keyspace) { combineStore(c, k, call.subtract) })},
	{name: "sscan", arity: -3, keys: firstKey, since: "2.8.0", family: "set", about: "the members, some at a time; MATCH COUNT", differ: "A small set, too, comes in parts of COUNT.", run: onKeys(sscan)},
}

// set returns the set of a key for reading; nil if there is none. The set of a window key
// cannot list its members, so it is refused.
func (c call) set(k *keyspace, key []byte) (s *hashset, ok bool) {
	s, ids, ok := c.setOrIDs(k, key)
	if ids != nil {
		c.w.Error(errHashes)
		return nil, false
	}
	return s, ok
}

// setOrIDs returns the set of a key, or the ids of a window key; both are nil if there is
// no key.
func (c call) setOrIDs(k *keyspace, key []byte) (s *hashset, ids *live.Set, ok bool) {
	it, ok := k.typed(c, key, kindSet)
	if it != nil {
		s, ids = it.set(), answerOf[*live.Set](it)
	}
	return s, ids, ok
}

// changedSet ends a change of a set: it drops an empty one.
func (k *keyspace) changedSet(it *item) {
	if it.set().n == 0 {
		k.drop(it)
	} else {
		k.touch(it)
	}
}

func sadd(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], kindSet)
	if !ok {
		return
	}
	if it == nil {
		it = k.put(c.args[1], &item{kind: kindSet, value: new(hashset)})
	}
	s, added := it.set(), int64(0)
	for _, member := range c.args[2:] {
		if s.add(member) {
			added++
		}
	}
	if added > 0 {
		k.touch(it)
	}
	c.w.Int(added)
}

func srem(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], kindSet)
	if !ok {
		return
	}
	removed := int64(0)
	if it != nil {
		for _, member := range c.args[2:] {
			if it.set().remove(member) {
				removed++
			}
		}
	}
	if removed > 0 {
		k.changedSet(it)
	}
	c.w.Int(removed)
}

func smove(c call, k *keyspace) {
	from := k.read(c.args[1])
	if from == nil {
		c.w.Int(0)
		return
	}
	to := k.read(c.args[2])
	switch {
	case from.kind != kindSet || to != nil && to.kind != kindSet:
		c.w.Error(errType)
		return
	case len(c.args[2]) > keyMost:
		c.w.Error(errLongKey)
		return
	case from == to:
		c.w.Int(int64(btoi(from.set().has(hashMember(c.args[3]), c.args[3]))))
		return
	case !from.set().remove(c.args[3]):
		c.w.Int(0)
		return
	}
	k.changedSet(from)
	if to == nil {
		to = k.put(c.args[2], &item{kind: kindSet, value: new(hashset)})
	}
	if to.set().add(c.args[3]) {
		k.touch(to)
	}
	c.w.Int(1)
}

func scard(c call, k *keyspace) {
	switch s, ids, ok := c.setOrIDs(k, c.args[1]); {
	case !ok:
	case ids != nil:
		c.w.Int(int64(ids.Count()))
	case s != nil:
		c.w.Int(int64(s.n))
	default:
		c.w.Int(0)
	}
}

func sismember(c call, k *keyspace) {
	if s, ids, ok := c.setOrIDs(k, c.args[1]); ok {
		c.w.Int(int64(btoi(isMember(s, ids, c.args[2]))))
	}
}

func smismember(c call, k *keyspace) {
	s, ids, ok := c.setOrIDs(k, c.args[1])
	if !ok {
		return
	}
	c.w.Array(len(c.args) - 2)
	for _, member := range c.args[2:] {
		c.w.Int(int64(btoi(isMember(s, ids, member))))
	}
}

// isMember reports whether a member is in what setOrIDs has returned.
func isMember(s *hashset, ids *live.Set, member []byte) bool {
	return s != nil && s.has(hashMember(member), member) || ids != nil && ids.Has(member)
}

func smembers(c call, k *keyspace) {
	s, ok := c.set(k, c.args[1])
	switch {
	case !ok:
	case s == nil:
		c.w.Set(0)
	case !c.work.spend(s.n, perElement) || !c.work.spend(s.text, perByte):
		c.w.Error(errWork + "; SSCAN goes through any number of members")
	default:
		c.sendMembers(s.n, s.text, s.all)
	}
}

// sendMembers sends members in no order, after their cost has been spent: n of them, with
// so many bytes.
func (c call) sendMembers(n, bytes int, members iter.Seq[[]byte]) {
	c.w.Grow(room(n, bytes))
	c.w.Set(n)
	for member := range members {
		c.w.Bulk(member)
	}
}

// draw returns count different numbers of [0, n), each choice equally likely, by Floyd's
// algorithm (Bentley and Floyd, A sample of brilliance, 1987).
func draw(n, count int) []int {
	drawn := make([]int, 0, count)
	known := make(map[int]struct{}, count)
	for last := n - count; last < n; last++ {
		number := rand.IntN(last + 1)
		if _, again := known[number]; again {
			number = last
		}
		known[number] = struct{}{}
		drawn = append(drawn, number)
	}
	return drawn
}

// affordDrawn is afford for a reply of the members with these numbers.
func (c call) affordDrawn(s *hashset, numbers []int) bool {
	size := 0
	for _, number := range numbers {
		size += len(s.member(number))
	}
	return c.affordReply(len(numbers), size)
}

func srandmember(c call, k *keyspace) {
	if len(c.args) > 3 {
		c.w.Error(errSyntax)
		return
	}
	many, count := len(c.args) == 3, int64(1)
	if many {
		var ok bool
		if count, ok = c.integer(c.args[2]); !ok {
			return
		}
		if count == math.MinInt64 {
			c.w.Error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
			return
		}
	}
	s, ok := c.set(k, c.args[1])
	switch {
	case !ok:
	case s == nil && !many:
		c.w.Null()
	case s == nil || count == 0:
		c.w.Array(0)
	case !many:
		c.sendOne(s.member(rand.IntN(s.n)))
	case count < 0:
		most := int64(workMost / perElement) // as many as there is time for, and one more
		n := int(min(-count, most+1))
		if !c.afford(n, perElement+perDrawn) {
			return
		}
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = rand.IntN(s.n)
		}
		c.sendDrawn(s, numbers)
	default:
		n := int(min(count, int64(s.n)))
		if !c.afford(n, perElement+perDrawn) {
			return
		}
		c.sendDrawn(s, draw(s.n, n))
	}
}

// sendOne sends a member or an element, and reports whether there was time for that.
func (c call) sendOne(member []byte) bool {
	if !c.afford(len(member), perByte) {
		return false
	}
	c.w.Bulk(member)
	return true
}

func (c call) sendDrawn(s *hashset, numbers []int) {
	if !c.affordDrawn(s, numbers) {
		return
	}
	c.w.Array(len(numbers))
	for _, number := range numbers {
		c.w.Bulk(s.member(number))
	}
}

func spop(c call, k *keyspace) {
	if len(c.args) > 3 {
		c.w.Error(errSyntax)
		return
	}
	many, count := len(c.args) == 3, int64(1)
	if many {
		var ok bool
		if count, ok = parseInt(c.args[2]); !ok || count < 0 {
			c.w.Error("ERR value is out of range, must be positive")
			return
		}
	}
	it, ok := k.typed(c, c.args[1], kindSet)
	if !ok {
		return
	}
	switch {
	case it == nil && !many:
		c.w.Null()
		return
	case it == nil || count == 0:
		c.w.Set(0)
		return
	}
	s := it.set()
	switch {
	case !many:
		number := rand.IntN(s.n)
		if c.sendOne(s.member(number)) {
			s.removeNumber(number)
			k.changedSet(it)
		}
	case count >= int64(s.n):
		if c.afford(s.n, perElement) && c.afford(s.text, perByte) {
			c.sendMembers(s.n, s.text, s.all)
			k.drop(it)
		}
	default:
		if !c.afford(int(count), perElement+perDrawn+perTaken) {
			return
		}
		numbers := draw(s.n, int(count))
		if !c.affordDrawn(s, numbers) {
			return
		}
		c.w.Set(len(numbers))
		for _, number := range numbers {
			c.w.Bulk(s.member(number))
		}
		slices.Sort(numbers)
		for _, number := range slices.Backward(numbers) { // so that none of those left gets another number
			s.removeNumber(number)
		}
		k.changedSet(it)
	}
}

// sets returns the sets of keys; nil in place of one that does not exist.
func (c call) sets(k *keyspace, keys [][]byte) ([]*hashset, bool) {
	list := make([]*hashset, len(keys))
	for i, key := range keys {
		var ok bool
		if list[i], ok = c.set(k, key); !ok {
			return nil, false
		}
	}
	return list, true
}

// A setWalk visits the members of a combination of sets until visit returns false. It
// returns false if the command has not the time for all of them.
type setWalk func(c call, sets []*hashset, visit func(member []byte) (more bool)) (inTime bool)

// intersect visits each member once.
func (c call) intersect(sets []*hashset, visit func(member []byte) (more bool)) (inTime bool) {
	if slices.Contains(sets, nil) {
		return true
	}
	slices.SortFunc(sets, func(a, b *hashset) int { return a.n - b.n })
	return c.walk(sets[0], sets[1:], true, visit)
}

// subtract visits each member once.
func (c call) subtract(sets []*hashset, visit func(member []byte) (more bool)) (inTime bool) {
	if sets[0] == nil {
		return true
	}
	others := slices.DeleteFunc(sets[1:], func(s *hashset) bool { return s == nil })
	slices.SortFunc(others, func(a, b *hashset) int { return b.n - a.n }) // the largest most likely has it
	return c.walk(sets[0], others, false, visit)
}

// walk visits the members of a set that are in all of the others, or in none.
func (c call) walk(first *hashset, others []*hashset, all bool, visit func(member []byte) (more bool)) (inTime bool) {
members:
	for member := range first.all {
		if !c.work.spend(1, perWalked) || !c.work.spend(len(member), perRead) {
			return false
		}
		hash := hashMember(member)
		for _, s := range others {
			if !c.work.spend(1, perSought) || !c.work.spend(len(member), perRead) {
				return false
			}
			if (s == first || s.has(hash, member)) != all {
				continue members
			}
		}
		if !visit(member) {
			break
		}
	}
	return true
}

// unite visits a member once for each set that has it.
func (c call) unite(sets []*hashset, visit func(member []byte) (more bool)) (inTime bool) {
	for _, s := range sets {
		if s == nil {
			continue
		}
		for member := range s.all {
			if !c.work.spend(1, perWalked) {
				return false
			}
			if !visit(member) {
				return true
			}
		}
	}
	return true
}

// gather makes a set of what a walk visits; if there is not enough time, it sends the
// error.
func (c call) gather(sets []*hashset, walk setWalk) (*hashset, bool) {
	result, inTime := new(hashset), true
	ok := walk(c, sets, func(member []byte) bool {
		inTime = c.work.spend(1, perJoined) && c.work.spend(len(member), perByte)
		if inTime {
			result.add(member)
		}
		return inTime
	})
	if !ok || !inTime {
		c.w.Error(errWork)
		return nil, false
	}
	return result, true
}

// combine replies with a combination of the sets of the keys.
func combine(c call, k *keyspace, walk setWalk) {
	sets, ok := c.sets(k, c.args[1:])
	if !ok {
		return
	}
	result, ok := c.gather(sets, walk)
	if ok && c.afford(result.n, perElement) && c.afford(result.text, perByte) {
		c.sendMembers(result.n, result.text, result.all)
	}
}

// combineStore stores a combination of the sets whose keys follow the first one.
func combineStore(c call, k *keyspace, walk setWalk) {
	sets, ok := c.sets(k, c.args[2:])
	if !ok {
		return
	}
	result, ok := c.gather(sets, walk)
	if !ok {
		return
	}
	old := k.find(c.args[1], k.now)
	if result.n == 0 {
		if old != nil {
			k.drop(old)
		}
		c.w.Int(0)
		return
	}
	before := 0
	if old != nil {
		before = old.size
	}
	it := &item{kind: kindSet, value: result}
	if k.fits(c, it.memory(), before) {
		k.put(c.args[1], it)
		c.w.Int(int64(result.n))
	}
}

func sintercard(c call, k *keyspace) {
	count, ok := parseInt(c.args[1])
	switch {
	case !ok || count < 1:
		c.w.Error("ERR numkeys should be greater than 0")
		return
	case count > int64(len(c.args)-2):
		c.w.Error("ERR Number of keys can't be greater than number of args")
		return
	}
	limit := int64(0)
	for options := c.args[2+count:]; len(options) > 0; options = options[2:] {
		if !is(options[0], "LIMIT") || len(options) == 1 {
			c.w.Error(errSyntax)
			return
		}
		if limit, ok = parseInt(options[1]); !ok || limit < 0 {
			c.w.Error("ERR LIMIT can't be negative")
			return
		}
	}
	sets, windows := make([]*hashset, 0, count), []*live.Set(nil)
	for _, key := range c.args[2 : 2+count] {
		s, ids, ok := c.setOrIDs(k, key)
		if !ok {
			return
		}
		if ids != nil {
			windows = append(windows, ids)
		} else {
			sets = append(sets, s)
		}
	}
	if windows != nil {
		c.sharedIDs(sets, windows, uint64(limit))
		return
	}
	n := int64(0)
	if !c.intersect(sets, func([]byte) bool { n++; return n != limit }) {
		c.w.Error(errWork)
		return
	}
	c.w.Int(n)
}

func sscan(c call, k *keyspace) {
	cursor, ok := c.cursor(c.args[2])
	if !ok {
		return
	}
	s, ok := c.set(k, c.args[1])
	if !ok {
		return
	}
	if s == nil { // as in Redis, whatever the options say
		c.sendScan(0, nil)
		return
	}
	q, ok := c.scanOptions(c.args[3:], false)
	if !ok {
		return
	}
	var found []string
	looked := false
	next := s.scan(cursor, q.count, func(member []byte) bool {
		name := string(member)
		if !c.spendKey(q.pattern, name) || !c.work.spend(len(name), perByte) {
			return false
		}
		looked = true
		if match(q.pattern, name) {
			found = append(found, name)
		}
		return true
	})
	if !looked { // and would not get further next time
		c.w.Error(errWork + "; this member is too long to be compared with a pattern")
		return
	}
	c.sendScan(next, found)
}
