package redis

import (
	"math"
	"math/rand/v2"
	"slices"

	"weir/measures/set"
)

// Sets are exact: what a HyperLogLog is compared with.
var setCommands = []command{
	{name: "sadd", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, family: "set", about: "adds members", run: sadd},
	{name: "srem", arity: -3, flags: flagWrite, keys: firstKey, family: "set", about: "removes members", run: srem},
	{name: "scard", arity: 2, keys: firstKey, family: "set", about: "the number of members", run: scard},
	{name: "sismember", arity: 3, keys: firstKey, family: "set", about: "whether a member is there", run: sismember},
	{name: "smismember", arity: -3, keys: firstKey, family: "set", about: "whether each member is there", run: smismember},
	{name: "smembers", arity: 2, keys: firstKey, family: "set", about: "every member", run: func(c call, k *keyspace) { combine(c, k, unite) }},
	{name: "srandmember", arity: -2, keys: firstKey, family: "set", about: "a random member, or so many; a negative count may repeat them", run: srandmember},
	{name: "spop", arity: -2, flags: flagWrite, keys: firstKey, family: "set", about: "takes a random member, or so many", run: spop},
	{name: "sinter", arity: -2, keys: allKeys, family: "set", about: "the members of all sets", run: func(c call, k *keyspace) { combine(c, k, intersect) }},
	{name: "sinterstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, family: "set", about: "SINTER into a key", run: func(c call, k *keyspace) { combineStore(c, k, intersect) }},
	{name: "sintercard", arity: -3, keys: countedKeys, family: "set", about: "the number of members of all sets; LIMIT", differ: "Of window keys it takes one or two.", run: sintercard},
	{name: "sunion", arity: -2, keys: allKeys, family: "set", about: "the members of any set", run: func(c call, k *keyspace) { combine(c, k, unite) }},
	{name: "sunionstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, family: "set", about: "SUNION into a key", run: func(c call, k *keyspace) { combineStore(c, k, unite) }},
	{name: "sdiff", arity: -2, keys: allKeys, family: "set", about: "the members of the first set that are in no other", run: func(c call, k *keyspace) { combine(c, k, subtract) }},
	{name: "sdiffstore", arity: -3, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, family: "set", about: "SDIFF into a key", run: func(c call, k *keyspace) { combineStore(c, k, subtract) }},
	{name: "sscan", arity: -3, keys: firstKey, family: "set", about: "the members, some at a time; MATCH COUNT", differ: "A small set, too, comes in parts of COUNT.", run: sscan},
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
func (c call) setOrIDs(k *keyspace, key []byte) (s *hashset, ids *set.Answer, ok bool) {
	it, ok := k.typed(c, key, typeSet)
	if it != nil {
		s, ids = it.set(), answerOf[*set.Answer](it)
	}
	return s, ids, ok
}

// changedSet ends a change of a set: it drops an empty one.
func (k *keyspace) changedSet(it *item) {
	if len(it.set().members) == 0 {
		k.drop(it)
	} else {
		k.touch(it)
	}
}

func sadd(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeSet)
	if !ok {
		return
	}
	if it == nil {
		it = k.put(c.args[1], &item{typ: typeSet, value: new(hashset)})
	}
	s, added := it.set(), 0
	for _, member := range c.args[2:] {
		if !s.has(member) {
			s.add(string(member))
			added++
		}
	}
	if added > 0 {
		k.touch(it)
	}
	c.w.Int(int64(added))
}

func srem(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeSet)
	if !ok {
		return
	}
	removed := 0
	if it != nil {
		for _, member := range c.args[2:] {
			removed += btoi(it.set().remove(string(member)))
		}
	}
	if removed > 0 {
		k.changedSet(it)
	}
	c.w.Int(int64(removed))
}

func scard(c call, k *keyspace) {
	switch s, ids, ok := c.setOrIDs(k, c.args[1]); {
	case !ok:
	case ids != nil:
		c.w.Int(int64(ids.Count()))
	case s != nil:
		c.w.Int(int64(len(s.members)))
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
func isMember(s *hashset, ids *set.Answer, member []byte) bool {
	return s != nil && s.has(member) || ids != nil && ids.Has(member)
}

func srandmember(c call, k *keyspace) {
	count := int64(1)
	switch len(c.args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = c.integer(c.args[2]); !ok {
			return
		}
		if count == math.MinInt64 {
			c.w.Error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
			return
		}
	default:
		c.w.Error(errSyntax)
		return
	}
	s, ok := c.set(k, c.args[1])
	switch {
	case !ok:
	case s == nil && len(c.args) == 2:
		c.w.Null()
	case s == nil || count == 0:
		c.w.Array(0)
	case len(c.args) == 2:
		c.w.BulkString(s.members[rand.IntN(len(s.members))])
	case count < 0:
		c.w.Array(int(-count))
		for n := int64(0); n < -count && !c.w.Over(); n++ {
			c.w.BulkString(s.members[rand.IntN(len(s.members))])
		}
	default:
		left := int(min(count, int64(len(s.members))))
		c.w.Array(left)
		swapped := map[int]int{} // Fisher and Yates, as far as it is needed
		at := func(i int) int {
			if j, ok := swapped[i]; ok {
				return j
			}
			return i
		}
		for i := range left {
			j := i + rand.IntN(len(s.members)-i)
			c.w.BulkString(s.members[at(j)])
			swapped[j] = at(i)
		}
	}
}

func spop(c call, k *keyspace) {
	count := int64(1)
	switch len(c.args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = parseInt(c.args[2]); !ok || count < 0 {
			c.w.Error("ERR value is out of range, must be positive")
			return
		}
	default:
		c.w.Error(errSyntax)
		return
	}
	it, ok := k.typed(c, c.args[1], typeSet)
	switch {
	case !ok:
		return
	case it == nil && len(c.args) == 2:
		c.w.Null()
		return
	case it == nil || count == 0:
		c.w.Set(0)
		return
	}
	s := it.set()
	n := int(min(count, int64(len(s.members))))
	if len(c.args) == 3 {
		c.w.Set(n)
	}
	for range n {
		member := s.members[rand.IntN(len(s.members))]
		s.remove(member)
		c.w.BulkString(member)
	}
	k.changedSet(it)
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

// intersect returns the members of all sets, and may change the order of the sets.
func intersect(sets []*hashset) *hashset {
	if slices.Contains(sets, nil) {
		return new(hashset)
	}
	slices.SortFunc(sets, func(a, b *hashset) int { return len(a.members) - len(b.members) })
	return sets[0].sift(sets[1:], true)
}

// subtract returns the members of the first set that are in no other.
func subtract(sets []*hashset) *hashset {
	if sets[0] == nil {
		return new(hashset)
	}
	return sets[0].sift(slices.DeleteFunc(sets[1:], func(s *hashset) bool { return s == nil }), false)
}

// sift returns the members that are in all of the others, or in none.
func (s *hashset) sift(others []*hashset, all bool) *hashset {
	result := new(hashset)
members:
	for _, member := range s.members {
		for _, o := range others {
			if _, has := o.numbers[member]; has != all {
				continue members
			}
		}
		result.add(member)
	}
	return result
}

// unite returns the members of any set.
func unite(sets []*hashset) *hashset {
	result := new(hashset)
	for _, s := range sets {
		if s == nil {
			continue
		}
		for _, member := range s.members {
			result.add(member)
		}
	}
	return result
}

// combine replies with a combination of the sets of the keys.
func combine(c call, k *keyspace, of func([]*hashset) *hashset) {
	sets, ok := c.sets(k, c.args[1:])
	if !ok {
		return
	}
	members := of(sets).members
	c.w.Set(len(members))
	for _, member := range members {
		c.w.BulkString(member)
	}
}

// combineStore stores a combination of the sets whose keys follow the first one.
func combineStore(c call, k *keyspace, of func([]*hashset) *hashset) {
	sets, ok := c.sets(k, c.args[2:])
	if !ok {
		return
	}
	result := of(sets)
	if len(result.members) == 0 {
		k.remove(c.args[1], k.now)
		c.w.Int(0)
		return
	}
	before := 0
	if old := k.find(c.args[1], k.now); old != nil {
		before = old.size
	}
	it := &item{typ: typeSet, value: result}
	if k.fits(c, it.memory(), before) {
		k.put(c.args[1], it)
		c.w.Int(int64(len(result.members)))
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
	sets, windows := make([]*hashset, 0, count), []*set.Answer(nil)
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
	n := int64(len(intersect(sets).members))
	if limit > 0 {
		n = min(n, limit)
	}
	c.w.Int(n)
}

func sscan(c call, k *keyspace) {
	var q scanQuery
	var ok bool
	if q.cursor, ok = c.cursor(c.args[2]); !ok {
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
	if !c.scanOptions(&q, c.args[3:]) {
		return
	}
	var found []string
	next := scan(q.cursor, len(s.members), q.count, func(number int) {
		if match(q.pattern, s.members[number]) {
			found = append(found, s.members[number])
		}
	})
	c.sendScan(next, found)
}
