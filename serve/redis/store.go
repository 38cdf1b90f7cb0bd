package redis

import (
	"weir/sketches/bloom"
	"weir/sketches/geo"
)

type kind uint8

const (
	kindString kind = iota
	kindZset
	kindBloom
	kindList
	kindSet
	kindTopK
	kindDigest
)

// typeName returns the reply of TYPE.
func (k kind) typeName() string {
	return [...]string{"string", "zset", "MBbloom--", "list", "set", "TopK-TYPE", "TDIS-TYPE"}[k]
}

// An item is a key and its value. Its kind says which fields are set. It takes 128
// bytes, and what every command looks at is in the first 64: two cache lines that are
// fetched together.
type item struct {
	key     []byte // in room, if it fits
	str     []byte // kindString; never nil unless window is set
	kind    kind
	place   uint32 // in store.order
	expires int64  // Unix milliseconds; 0: never

	size   int // as last counted in store.used
	room   [32]byte
	value  any          // of the other kinds, see below; nil of a window key that shows something else
	window *windowValue // of a window key
}

func (it *item) zset() *zset            { return valueOf[zset](it) }
func (it *item) bloom() *bloom.Scalable { return valueOf[bloom.Scalable](it) }
func (it *item) list() *list            { return valueOf[list](it) }
func (it *item) set() *hashset          { return valueOf[hashset](it) }

// valueOf returns the value of an item if it is a T, and else nil.
func valueOf[T any](it *item) *T {
	v, _ := it.value.(*T)
	return v
}

// name sets the key of the item.
func (it *item) name(key []byte) { it.key = append(it.room[:0], key...) }

// text returns the bytes of a string; those of a window key are made when they are
// first read.
func (it *item) text() []byte {
	if it.str == nil && it.window != nil && it.window.text != nil {
		it.str = it.window.text([]byte{})
	}
	return it.str
}

// memory estimates how many bytes the item takes.
func (it *item) memory() int {
	const entry = 128 + 32 + 8 // the item, its place in the index and in the order
	n := entry + cap(it.str)
	if len(it.key) > len(it.room) {
		n += len(it.key)
	}
	switch it.kind {
	case kindZset:
		n += it.zset().bytes + it.zset().Len()*96 // an entry of the order, one of the hash table
	case kindBloom:
		if it.bloom() != nil {
			n += it.bloom().Bytes()
		}
	case kindList:
		n += it.list().memory()
	case kindSet:
		if it.set() != nil {
			n += it.set().memory()
		}
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

// A store is the scratch keys. Its owner calls it under one lock.
type store struct {
	index      index
	order      order // every item once; see scan
	volatile   map[*item]struct{}
	watched    map[string]map[*transaction]struct{}
	used       int    // sum of the items' memory
	dirty      uint64 // changes since the start
	expired    uint64
	flushes    uint64
	prefetched int // nothing reads it
}

func newStore() *store {
	return &store{index: newIndex(), volatile: map[*item]struct{}{}, watched: map[string]map[*transaction]struct{}{}}
}

// find returns the item of a key, or nil; an item that has expired is dropped.
func (s *store) find(key []byte, now int64) *item {
	it := s.index.find(key)
	if it != nil && it.expires != 0 && it.expires <= now {
		s.drop(it)
		s.expired++
		return nil
	}
	return it
}

// prefetch prepares for commands that will run next.
func (s *store) prefetch(commands [][][]byte) {
	if len(commands) > 1 {
		s.prefetched = s.index.prefetch(commands)
	}
}

// put stores an item under a key, in place of the item that was there. The expiry is
// that of the new item.
func (s *store) put(key []byte, it *item) *item {
	if old := s.index.find(key); old != nil {
		it.place = old.place
		s.used -= old.size
		delete(s.volatile, old)
		*s.order.at(int(it.place)) = it
	} else {
		it.place = uint32(s.order.len())
		s.order.push(it)
	}
	it.name(key)
	s.index.put(it)
	if it.expires != 0 {
		s.volatile[it] = struct{}{}
	}
	it.size = 0
	s.touch(it)
	return it
}

// touch must follow every change of an item.
func (s *store) touch(it *item) {
	size := it.memory()
	s.used += size - it.size
	it.size = size
	s.dirty++
	s.changed(it.key)
}

// changed marks the transactions that watch a key, so that EXEC does nothing. Each is marked
// once: the next change of the key need not look at thousands of them again.
func (s *store) changed(key []byte) {
	if len(s.watched) > 0 {
		for t := range s.watched[string(key)] {
			t.spoiled = true
		}
		delete(s.watched, string(key))
	}
}

// expire sets when an item ends; 0 means never.
func (s *store) expire(it *item, at int64) {
	if it.expires = at; at != 0 {
		s.volatile[it] = struct{}{}
	} else {
		delete(s.volatile, it)
	}
	s.dirty++
	s.changed(it.key)
}

// remove drops the item of a key and reports whether there was one.
func (s *store) remove(key []byte, now int64) bool {
	it := s.find(key, now)
	if it == nil {
		return false
	}
	s.drop(it)
	return true
}

func (s *store) drop(it *item) {
	s.index.remove(it)
	if it.expires != 0 {
		delete(s.volatile, it)
	}
	last := s.order.pop()
	if last != it {
		*s.order.at(int(it.place)), last.place = last, it.place
	}
	s.used -= it.size
	s.dirty++
	s.changed(it.key)
}

// flush drops every item. Transactions that watch one see that by the number of flushes:
// there may be a million watched keys.
func (s *store) flush() {
	s.flushes++
	fresh := newStore()
	s.index, s.order, s.volatile, s.used = fresh.index, fresh.order, fresh.volatile, 0
	s.dirty++
}

// An order is a list in blocks: a slice of millions of items would be copied as a whole
// when it grows, while all clients wait.
type order struct {
	blocks []*[orderBlock]*item
	n      int
}

const orderBlock = 1 << 10

func (o *order) len() int { return o.n }

func (o *order) at(i int) **item { return &o.blocks[i/orderBlock][i%orderBlock] }

func (o *order) push(it *item) {
	if o.n == len(o.blocks)*orderBlock {
		o.blocks = append(o.blocks, new([orderBlock]*item))
	}
	*o.at(o.n) = it
	o.n++
}

func (o *order) pop() *item {
	o.n--
	last := o.at(o.n)
	it := *last
	*last = nil
	if o.n%orderBlock == 0 {
		o.blocks[o.n/orderBlock] = nil
		o.blocks = o.blocks[:o.n/orderBlock]
	}
	return it
}

// scan visits up to n items from a cursor on, 0 being the start, and returns the next
// cursor, 0 at the end. It ends before an item for which visit returns false.
//
// It walks the order from its end to its beginning. A removed item is replaced
// by the last one, and a new one comes last: so no item that is there all the
// time can move from the part still to be visited into the other.
func (s *store) scan(cursor uint64, n int, now int64, visit func(*item) (more bool)) (next uint64) {
	at := s.order.len()
	if cursor != 0 && cursor < uint64(at) {
		at = int(cursor)
	}
	for ; at > 0 && n > 0; n-- {
		if it := *s.order.at(at - 1); (it.expires == 0 || it.expires > now) && !visit(it) {
			break
		}
		at--
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
