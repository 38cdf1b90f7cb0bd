package redis

import (
	"weir/serve/key"
	"weir/sketches/bloom"
	"weir/sketches/geo"
)

type valueType uint8

const (
	typeString valueType = iota
	typeZset
	typeBloom
	typeList
	typeSet
	typeTopK
	typeDigest
)

// typeName returns the reply of TYPE.
func (k valueType) typeName() string {
	return [...]string{"string", "zset", "MBbloom--", "list", "set", "TopK-TYPE", "TDIS-TYPE"}[k]
}

// An item is a key and its value. Its type says which fields are set.
type item struct {
	key     string
	typ     valueType
	str     []byte // typeString; never nil unless window is set
	value   any    // of the other types, see below; nil of a window key that shows something else
	window  *windowValue
	expires int64 // Unix milliseconds; 0: never
	place   int   // in store.order
	size    int   // as last counted in store.used
}

func (it *item) zset() *zset            { return valueOf[zset](it) }
func (it *item) bloom() *bloom.Scalable { return valueOf[bloom.Scalable](it) }
func (it *item) set() *hashset          { return valueOf[hashset](it) }

// valueOf returns the value of an item if it is a T, and else nil.
func valueOf[T any](it *item) *T {
	v, _ := it.value.(*T)
	return v
}

// memory estimates how many bytes the item takes.
func (it *item) memory() int {
	const entry = 128 + 48 // the item, and its places in the index and in the order
	n := entry + cap(it.str) + len(it.key)
	switch it.typ {
	case typeZset:
		n += it.zset().bytes + it.zset().Len()*96 // an entry of the order, one of the hash table
	case typeBloom:
		if it.bloom() != nil { // else it is of a window key
			n += it.bloom().Bytes()
		}
	case typeSet:
		if it.set() != nil {
			n += it.set().memory()
		}
	case typeList:
		n += valueOf[list](it).bytes
	}
	return n
}

// A zset counts the bytes of its members, for memory.
type zset struct {
	geo.Set
	bytes int
}

// put gives a member a score. Minus zero becomes zero, as it does in the small
// sets of Redis, which hold whole scores as integers.
func (z *zset) put(member []byte, score float64) (added, moved bool) {
	if score == 0 {
		score = 0
	}
	added, moved = z.Put(member, score)
	if added {
		z.bytes += len(member)
	}
	return added, moved
}

func (z *zset) remove(member []byte) bool {
	if !z.Remove(member) {
		return false
	}
	z.bytes -= len(member)
	return true
}

func (z *zset) removeRanks(from, to int) int {
	for member := range z.Slice(from, to) {
		z.bytes -= len(member)
	}
	return z.RemoveRanks(from, to)
}

// zsetOf wraps a set that a search has made.
func zsetOf(s *geo.Set) *zset {
	z := &zset{Set: *s}
	for member := range s.Slice(0, s.Len()) {
		z.bytes += len(member)
	}
	return z
}

// A hashset is the value of a set key. It numbers its members without gaps, so that a
// random one costs the same in any set. A removed member gives its number to the last one.
type hashset struct {
	members []string
	numbers map[string]int
	text    int // bytes of the members
}

func (s *hashset) has(member []byte) bool {
	_, ok := s.numbers[string(member)]
	return ok
}

// add adds a member and reports whether it is new.
func (s *hashset) add(member string) bool {
	if _, ok := s.numbers[member]; ok {
		return false
	}
	if s.numbers == nil {
		s.numbers = map[string]int{}
	}
	s.numbers[member] = len(s.members)
	s.members = append(s.members, member)
	s.text += len(member)
	return true
}

// remove removes a member and reports whether it was there.
func (s *hashset) remove(member string) bool {
	i, ok := s.numbers[member]
	if ok {
		last := len(s.members) - 1
		s.members[i] = s.members[last]
		s.numbers[s.members[i]] = i
		s.members[last] = ""
		s.members = s.members[:last]
		delete(s.numbers, member)
		s.text -= len(member)
	}
	return ok
}

// memory estimates how many bytes the set takes.
func (s *hashset) memory() int { return 64 + 64*len(s.members) + s.text }

// A store is the scratch keys. Its owner calls it under one lock.
type store struct {
	index    map[string]*item
	order    []*item // every item once; see scan
	volatile map[*item]struct{}
	used     int    // sum of the items' memory
	dirty    uint64 // changes since the start
	expired  uint64
}

func newStore() *store { return &store{index: map[string]*item{}, volatile: map[*item]struct{}{}} }

// find returns the item of a key, or nil; an item that has expired is dropped.
func (s *store) find(key []byte, now int64) *item {
	it := s.index[string(key)]
	if it != nil && it.expires != 0 && it.expires <= now {
		s.drop(it)
		s.expired++
		return nil
	}
	return it
}

// put stores an item under a key, in place of the item that was there. The key gets
// the expiry of the new item.
func (s *store) put(key []byte, it *item) *item {
	if old := s.index[string(key)]; old != nil {
		it.key, it.place = old.key, old.place
		s.used -= old.size
		delete(s.volatile, old)
		s.order[it.place] = it
	} else {
		it.key, it.place = string(key), len(s.order)
		s.order = append(s.order, it)
	}
	s.index[it.key] = it
	if it.expires != 0 {
		s.volatile[it] = struct{}{}
	}
	s.touch(it)
	return it
}

// touch must follow every change of an item.
func (s *store) touch(it *item) {
	size := it.memory()
	s.used += size - it.size
	it.size = size
	s.dirty++
}

// expire sets when an item ends; 0 means never.
func (s *store) expire(it *item, at int64) {
	if it.expires = at; at != 0 {
		s.volatile[it] = struct{}{}
	} else {
		delete(s.volatile, it)
	}
	s.dirty++
}

// remove drops the item of a key and reports whether there was one.
func (s *store) remove(key []byte, now int64) bool {
	it := s.find(key, now)
	if it != nil {
		s.drop(it)
	}
	return it != nil
}

func (s *store) drop(it *item) {
	delete(s.index, it.key)
	delete(s.volatile, it)
	n := len(s.order) - 1
	last := s.order[n]
	s.order[it.place], last.place = last, it.place
	s.order[n] = nil
	s.order = s.order[:n]
	s.used -= it.size
	s.dirty++
}

func (s *store) flush() {
	fresh := newStore()
	s.index, s.order, s.volatile, s.used = fresh.index, fresh.order, fresh.volatile, 0
	s.dirty++
}

// scan visits up to n of count things by their numbers, from a cursor on, 0 being the
// start, and returns the next cursor, 0 at the end. It walks from the last number to the
// first: a removed thing is replaced by the last one, and a new one comes last, so none
// that is there all the time can move from the part still to be visited into the other.
func scan(cursor uint64, count, n int, visit func(number int)) (next uint64) {
	at := count
	if cursor != 0 && cursor < uint64(at) {
		at = int(cursor)
	}
	for ; at > 0 && n > 0; n-- {
		at--
		visit(at)
	}
	return uint64(at)
}

// sweep looks at a few items that expire, chosen by the map's random start, and drops
// those that have expired. Like Redis, it reports whether these were so many that there
// are likely more.
func (s *store) sweep(now int64) (more bool) {
	const sample = 64
	looked, over := 0, 0
	for it := range s.volatile {
		if looked++; looked > sample {
			break
		}
		if it.expires <= now {
			s.drop(it)
			s.expired++
			over++
		}
	}
	return over > sample/4
}

// A keyspace is the keys as one command, or one batch, sees them: the scratch keys
// of the server, the window keys that were looked up for it, and the time, which is
// the same for a whole batch.
type keyspace struct {
	*store
	server    *Server
	windows   map[string]*item // the window keys that the command reads, see resolve
	listed    []string         // all window keys, for KEYS and SCAN
	now, nano int64            // Unix time in milliseconds, and in nanoseconds
}

// isWindow reports whether a key is a window key.
func (k *keyspace) isWindow(name []byte) bool { return k.server.windows != nil && key.Is(name) }

// read returns the item of a key, or nil: of a scratch key, or of a window
// key, which resolve has looked up.
func (k *keyspace) read(name []byte) *item {
	if k.windows != nil && key.Is(name) {
		return k.windows[string(name)]
	}
	return k.find(name, k.now)
}

// typed is read for commands that need a value of one type. If the value has another
// type, it sends the error and ok is false.
func (k *keyspace) typed(c call, name []byte, want valueType) (it *item, ok bool) {
	it = k.read(name)
	if it != nil && it.typ != want {
		c.w.Error(errType)
		return nil, false
	}
	return it, true
}

// fits reports whether there is memory for a value of n bytes that replaces one
// of before bytes; if not, it sends the error. It is for commands whose result
// may be much larger than their arguments. It always allows small results: the
// next command notices when they exceed the limit.
func (k *keyspace) fits(c call, n, before int) bool {
	const little = 64 << 10
	if more := n - before; more > little && k.used+more > k.server.config.Memory {
		c.w.Error(errMemory)
		return false
	}
	return true
}
