package redis

import (
	"bytes"
	"hash/maphash"
)

// An index finds items by their keys. It is a hash table with open addressing:
// finding a key costs one cache miss for the slot and one for the item, which
// has the key inside if it is short. Go's map would cost two more, for the
// strings and the groups of its slots; beyond some ten thousand keys there is
// little else that a command costs.
//
// It is cut into parts by the first bits of the hash, so that no command waits
// for more than one of them to grow.
type index struct {
	seed  maphash.Seed
	parts [indexParts]part
	count int
}

const (
	indexParts = 256
	partMin    = 8 // slots of the smallest part
)

// A part is a power of two of slots; an item is in the slot that the last bits
// of its hash name, or in the next free one, with no free one in between.
type part struct {
	slots []slot
	count int // at most three quarters
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

// place returns the slot of a key, or the free one where it belongs. There is
// a free one.
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

// put enters an item under its key, which has none, or one that is replaced.
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

// remove drops the key of an item that is there. What could have been in the
// slot that is free now moves there, so that searches need not pass it.
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

// foresee fetches what commands will need of their first keys into the caches,
// all keys at once: the misses, of which a command has three or four, overlap
// where one command after the other would wait for each. It changes nothing;
// what it returns only keeps it from being thought useless.
func (x *index) foresee(commands [][][]byte) (seen int) {
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
