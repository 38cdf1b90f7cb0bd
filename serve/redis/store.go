package redis

import (
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

type kind uint8

const (
	kindString kind = iota
	kindZset
	kindBloom
	kindList
)

// typeName is what TYPE answers.
func (k kind) typeName() string {
	return [...]string{"string", "zset", "MBbloom--", "list"}[k]
}

// An item is the value of a key. Which fields count depends on its kind; those
// of window keys carry a sketch instead, see windowItem.
type item struct {
	key     string
	kind    kind
	str     []byte // kindString; never nil unless bits or sketch is set
	zset    *zset
	bloom   *bloom.Scalable
	list    [][]byte
	expires int64 // Unix milliseconds; 0: never

	sketch *hll.Sketch
	bits   *bitmap.Activity
	filter *bloom.Filter

	place int // in store.order
	size  int // as last counted in store.used
}

// text is the bytes of a string, made from the sketch of a window if need be.
func (it *item) text() []byte {
	if it.str == nil {
		switch {
		case it.sketch != nil:
			it.str = it.sketch.AppendRedis([]byte{}, hll.DefaultSparseMax)
		case it.bits != nil:
			it.str = it.bits.AppendBytes([]byte{})
		}
	}
	return it.str
}

// memory is what the item takes, by a reckoning that costs nothing.
func (it *item) memory() int {
	const entry = 160 // the item, its place in the map and in the order
	n := entry + len(it.key) + cap(it.str)
	switch it.kind {
	case kindZset:
		n += it.zset.bytes + it.zset.Len()*96 // an entry of the order, one of the hash table
	case kindBloom:
		if it.bloom != nil {
			n += it.bloom.Bytes()
		}
	case kindList:
		for _, e := range it.list {
			n += len(e) + 24
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
	items    map[string]*item
	order    []*item // every item once; see scan
	volatile map[string]*item
	watched  map[string]map[*client]struct{}
	used     int    // sum of the items' memory
	dirty    uint64 // changes since the start
	expired  uint64
}

func newStore() *store {
	return &store{items: map[string]*item{}, volatile: map[string]*item{}, watched: map[string]map[*client]struct{}{}}
}

// find returns the item of a key, or nil; one whose time is over is dropped.
func (s *store) find(key []byte, now int64) *item {
	it := s.items[string(key)]
	if it != nil && it.expires != 0 && it.expires <= now {
		s.drop(it)
		s.expired++
		return nil
	}
	return it
}

// put gives a key a new item, in place of the one it has. An expiry is the
// item's own.
func (s *store) put(key []byte, it *item) *item {
	if old := s.items[string(key)]; old != nil {
		it.key, it.place = old.key, old.place
		s.used -= old.size
		delete(s.volatile, old.key)
		s.order[it.place] = it
	} else {
		it.key, it.place = string(key), len(s.order)
		s.order = append(s.order, it)
	}
	s.items[it.key] = it
	if it.expires != 0 {
		s.volatile[it.key] = it
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

// changed spoils the transactions that watch a key.
func (s *store) changed(key string) {
	if len(s.watched) > 0 {
		for c := range s.watched[key] {
			c.spoiled = true
		}
	}
}

// expire sets when an item ends; 0 means never.
func (s *store) expire(it *item, at int64) {
	if it.expires = at; at != 0 {
		s.volatile[it.key] = it
	} else {
		delete(s.volatile, it.key)
	}
	s.dirty++
	s.changed(it.key)
}

// remove drops the item of a key and says whether there was one.
func (s *store) remove(key []byte, now int64) bool {
	it := s.find(key, now)
	if it == nil {
		return false
	}
	s.drop(it)
	return true
}

func (s *store) drop(it *item) {
	delete(s.items, it.key)
	delete(s.volatile, it.key)
	last := s.order[len(s.order)-1]
	s.order[it.place], last.place = last, it.place
	s.order[len(s.order)-1] = nil
	s.order = s.order[:len(s.order)-1]
	s.used -= it.size
	s.dirty++
	s.changed(it.key)
}

func (s *store) flush() {
	for key := range s.watched {
		if s.items[key] != nil {
			s.changed(key)
		}
	}
	fresh := newStore()
	s.items, s.order, s.volatile, s.used = fresh.items, nil, fresh.volatile, 0
	s.dirty++
}

// scan visits up to n items from a cursor on, 0 being the start, and returns
// the next one, 0 at the end.
//
// It walks the order from its end to its beginning. A removed item is replaced
// by the last one, and a new one comes last: so no item that is there all the
// time can move from the part still to be visited into the other.
func (s *store) scan(cursor uint64, n int, now int64, visit func(*item)) (next uint64) {
	at := len(s.order)
	if cursor != 0 && cursor < uint64(at) {
		at = int(cursor)
	}
	for ; at > 0 && n > 0; n-- {
		at--
		if it := s.order[at]; it.expires == 0 || it.expires > now {
			visit(it)
		}
	}
	return uint64(at)
}

// sweep drops items whose time is over, some of them, and says whether it was
// worth it: then there are likely more. It looks at few, chosen by the map's
// random start, as Redis does.
func (s *store) sweep(now int64) (more bool) {
	const sample = 64
	looked, over := 0, 0
	for _, it := range s.volatile {
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
