package counts

import (
	"slices"
	"unsafe"
)

// A Pool has many bags of keys, numbered from 0. The zero value is ready.
//
// The first keys of a bag are a list, as they came. So to add one is to write four bytes at the
// end of a list, and these ends are in the caches even of many bags, where a hash table would be
// read at random. A bag with more than listMost keys is such a table, of its different keys and
// their counts: few bags have most of the keys, and these are in the caches, too.
//
// A key takes 4 to 32 bytes in a list; in a table, each of the different keys takes 11 to 21.
type Pool struct {
	bags   []bag
	lists  pages[uint32]
	tables pages[uint64]

	keys []uint32 // to use again
}

type bag struct {
	at   uint32 // of the list or the table; of a single key, the key
	n    uint32 // keys in the list; different ones in the table
	form uint8  // single, a list of 1 << form keys, or tabled + the logarithm of the table's slots
}

const (
	single    = 0
	firstList = 3
	lastList  = 6
	listMost  = 1 << lastList
	tabled    = 32
)

// Key returns the key of a word.
func Key(word uint64) uint32 { return uint32(word >> 32) }

// Count returns how many of its key a word says there are.
func Count(word uint64) uint32 { return uint32(word) }

// Grow makes the bags [0, n) exist.
func (p *Pool) Grow(n int) {
	for len(p.bags) < n {
		p.bags = append(p.bags, bag{})
	}
}

// Reset removes all bags and keeps the memory.
func (p *Pool) Reset() {
	p.bags = p.bags[:0]
	p.lists.reset()
	p.tables.reset()
}

// Bytes returns about how many bytes are held.
func (p *Pool) Bytes() int {
	return cap(p.bags)*int(unsafe.Sizeof(bag{})) + p.lists.bytes() + p.tables.bytes() + 4*cap(p.keys)
}

// Empty reports whether bag i has no key.
func (p *Pool) Empty(i uint32) bool { return p.bags[i].n == 0 }

// Add adds a key to bag i. A bag has at most 2^32 − 1 of one key.
func (p *Pool) Add(i, key uint32) {
	b := &p.bags[i]
	switch {
	case b.form >= tabled:
		p.count(b, key)
	case b.form == single && b.n == 0:
		b.at, b.n = key, 1
	case b.form == single || int(b.n)>>b.form > 0:
		p.enlarge(b)
		p.Add(i, key)
	default:
		p.lists.run(b.at, b.form)[b.n] = key
		b.n++
	}
}

// AddBatch adds keys[n] to bag of[n], for each n.
func AddBatch[K ~uint32](p *Pool, of []uint32, keys []K) {
	for n, i := range of {
		// Add, where that is mostly one step.
		b, key := &p.bags[i], uint32(keys[n])
		if b.form >= tabled {
			slots := p.tables.run(b.at, b.form-tabled)
			if w := &slots[key&uint32(len(slots)-1)]; Key(*w) == key && *w != 0 {
				*w++
				continue
			}
		} else if b.form != single && int(b.n)>>b.form == 0 {
			p.lists.run(b.at, b.form)[b.n] = key
			b.n++
			continue
		}
		p.Add(i, key)
	}
}

// enlarge gives a bag that is full another form.
func (p *Pool) enlarge(b *bag) {
	old := *b
	switch b.form {
	case single:
		b.form, b.at = firstList, p.lists.take(firstList)
		p.lists.run(b.at, firstList)[0] = old.at
		return
	case lastList:
		keys := p.lists.run(old.at, lastList)
		b.form, b.at, b.n = tabled+leastBits, p.tables.take(leastBits), 0
		for _, key := range keys {
			p.count(b, key)
		}
	default:
		b.form = lastList
		b.at = p.lists.take(lastList)
		copy(p.lists.run(b.at, lastList), p.lists.run(old.at, old.form))
	}
	p.lists.give(old.at, old.form)
}

// Append appends a word for each of the different keys of bag i, ascending: the key in the upper
// half, and how many of it there are in the lower one.
func (p *Pool) Append(words []uint64, i uint32) []uint64 {
	b := &p.bags[i]
	begin := len(words)
	switch {
	case b.form >= tabled:
		for _, w := range p.tables.run(b.at, b.form-tabled) {
			if w != 0 {
				words = append(words, w)
			}
		}
		slices.Sort(words[begin:])
		return words
	case b.form == single:
		p.keys = append(p.keys[:0], unsafe.Slice(&b.at, 1)[:b.n]...)
	default:
		p.keys = append(p.keys[:0], p.lists.run(b.at, b.form)[:b.n]...)
		slices.Sort(p.keys)
	}
	for k, key := range p.keys {
		if k > 0 && p.keys[k-1] == key {
			words[len(words)-1]++
			continue
		}
		words = append(words, uint64(key)<<32|1)
	}
	return words
}
