package redis

import (
	"bytes"
	"hash/maphash"

	"weir/internal/hashtable"
)

// An index finds items by their keys. Finding a key costs one cache miss for the
// slot and one for the item, which contains the key if that is short. With more
// than about ten thousand keys, cache misses are most of the cost of a command,
// and prefetch makes those of several commands overlap: Go's map finds one key as
// fast, but cannot do that.
//
// The first bits of the hash choose one of several parts, each a table of its
// own, so that a command waits at most for one part to grow.
type index struct {
	seed  maphash.Seed
	parts [indexParts]part
	count int
}

const indexParts = 256

type part = hashtable.Table[*item]

func newIndex() index { return index{seed: maphash.MakeSeed()} }

func (x *index) hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) }

func (x *index) part(hash uint64) *part { return &x.parts[hash>>56] }

// find returns the item of a key, or nil.
func (x *index) find(key []byte) *item {
	hash := x.hash(key)
	p := x.part(hash)
	if at := place(p, hash, key); at >= 0 {
		return *p.At(at)
	}
	return nil
}

// place returns the slot of a key, or a negative number for Insert.
func place(p *part, hash uint64, key []byte) (at int) {
	for at = p.First(uint32(hash)); at >= 0; at = p.Next(at) {
		if bytes.Equal((*p.At(at)).key, key) {
			break
		}
	}
	return at
}

// put stores an item under its key; it replaces the former one.
func (x *index) put(it *item) {
	hash := x.hash(it.key)
	p := x.part(hash)
	if at := place(p, hash, it.key); at >= 0 {
		*p.At(at) = it
	} else {
		p.Insert(at, uint32(hash), it)
		x.count++
	}
}

// remove removes an item, which must be there.
func (x *index) remove(it *item) {
	hash := x.hash(it.key)
	p := x.part(hash)
	p.Remove(place(p, hash, it.key))
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
		if it, ok := x.part(hash).Likely(uint32(hash)); ok {
			found[i] = it
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
