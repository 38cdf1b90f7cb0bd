package redis

import (
	"bytes"
	"hash/maphash"
)

// An index finds items by their keys. It is a hash table with open addressing:
// finding a key costs one cache miss for the slot and one for the item, which
// contains the key if that is short. Go's map would cost two more, for the
// string and for the group of slots; with more than about ten thousand keys,
// cache misses are most of the cost of a command.
//
// The first bits of the hash choose one of several parts, each a table of its
// own, so that a command waits at most for one part to grow.
type index struct {
	seed  maphash.Seed
	parts [indexParts]part
	count int
}

const (
	indexParts = 256
	partMin    = 8 // slots of the smallest part
)

// A part is a table with a power of two of slots. An item is in the slot that
// the last bits of its hash choose, or in the first free one after it.
type part struct {
	slots []slot
	count int // of the items; at most three quarters of the slots
}

type slot struct {
	hash uint64
	it   *item
}

func newIndex() index { return index{seed: maphash.MakeSeed()} }

func (x *index) hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) }

func (x *index) part(hash uint64) *part { return &x.parts[hash>>56] }

// find returns the item of a key, or nil.
func (x *index) find(key []byte) *item {
	hash := x.hash(key)
	p := x.part(hash)
	if p.count == 0 {
		return nil
	}
	return p.slots[p.place(hash, key)].it
}

// place returns the slot of a key, or the free slot where it belongs. There is
// always a free slot.
func (p *part) place(hash uint64, key []byte) int {
	mask := len(p.slots) - 1
	i := int(hash) & mask
	for ; ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.it == nil || s.hash == hash && bytes.Equal(s.it.key, key) {
			return i
		}
	}
}

// put stores an item under its key; it replaces the former one.
func (x *index) put(it *item) {
	hash := x.hash(it.key)
	p := x.part(hash)
	if 4*p.count >= 3*len(p.slots) {
		p.grow()
	}
	s := &p.slots[p.place(hash, it.key)]
	if s.it == nil {
		p.count++
		x.count++
	}
	*s = slot{hash, it}
}

func (p *part) grow() {
	old := p.slots
	p.slots = make([]slot, max(2*len(old), partMin))
	mask := len(p.slots) - 1
	for _, s := range old {
		if s.it == nil {
			continue
		}
		i := int(s.hash) & mask
		for p.slots[i].it != nil {
			i = (i + 1) & mask
		}
		p.slots[i] = s
	}
}

// remove removes an item, which must be there. Then it moves the items that
// searches would no longer reach behind the free slot.
func (x *index) remove(it *item) {
	hash := x.hash(it.key)
	p := x.part(hash)
	mask := len(p.slots) - 1
	free := p.place(hash, it.key)
	for i := (free + 1) & mask; p.slots[i].it != nil; i = (i + 1) & mask {
		home := int(p.slots[i].hash) & mask
		if (i-home)&mask >= (i-free)&mask {
			p.slots[free] = p.slots[i]
			free = i
		}
	}
	p.slots[free] = slot{}
	p.count--
	x.count--
}

// prefetch loads the slots and items of the first keys of commands into the CPU
// caches. A command has three or four cache misses; here those of all commands
// overlap, instead of each command waiting for its own. prefetch changes
// nothing; it returns a value so that the compiler does not remove the loads.
func (x *index) prefetch(commands [][][]byte) (seen int) {
	var found [batchMost]*item
	var values [batchMost][]byte
	for i, args := range commands {
		if len(args) < 2 || len(args[1]) > cap(item{}.room) {
			continue
		}
		hash := x.hash(args[1])
		if p := x.part(hash); p.count > 0 {
			if s := &p.slots[int(hash)&(len(p.slots)-1)]; s.hash == hash {
				found[i] = s.it
			}
		}
	}
	for i, it := range found[:len(commands)] {
		if it != nil {
			values[i] = it.str
			seen += it.size
		}
	}
	for _, v := range values[:len(commands)] {
		if len(v) > 0 {
			seen += int(v[0]) + int(v[len(v)-1])
		}
	}
	return seen
}
