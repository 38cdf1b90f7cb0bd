package counts

import "unsafe"

// A Pool has many bags of keys, numbered from 0. The zero value is ready.
//
// The first keys of a bag are a list, as they came. So to add one is to write four bytes at the
// end of a list, and these ends are in the caches even of many bags, where a hash table would be
// read at random. A bag with more than listMost keys is such a table, of its different keys and
// their counts, or an array of the counts of all keys of a range (range.go), if that takes no more
// memory.
//
// A key takes 4 to 32 bytes in a list; in a table or an array, each of the different keys takes 11
// to 21, or less.
type Pool struct {
	bags   []bag
	lists  pages[uint32] // and arrays
	tables pages[uint64]

	words []uint64 // to use again
	order order
}

type bag struct {
	at   uint32 // of the list, the table or the array; of a single key, the key
	n    uint32 // keys in the list; different ones in the table; of an array, the first key
	form uint8  // single, a list of 1 << form keys, or tabled or ranged + the logarithm of the slots
}

const (
	single    = 0
	firstList = 3
	lastList  = 6
	listMost  = 1 << lastList
	tabled    = 32
	ranged    = 64
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
	return cap(p.bags)*int(unsafe.Sizeof(bag{})) + p.lists.bytes() + p.tables.bytes() + 8*cap(p.words) + p.order.bytes()
}

// Empty reports whether bag i has no key.
func (p *Pool) Empty(i uint32) bool { return p.bags[i].form == single && p.bags[i].n == 0 }

// Add adds a key to bag i. A bag has at most 2^32 − 1 of one key.
func (p *Pool) Add(i, key uint32) {
	b := &p.bags[i]
	switch {
	case b.form >= ranged:
		p.countInRange(b, key)
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
		if b.form >= ranged {
			counts := p.lists.run(b.at, b.form-ranged)
			if at := key - b.n; int(at) < len(counts) {
				counts[at]++
				continue
			}
		} else if b.form >= tabled {
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
		p.spread(b, p.lists.run(old.at, lastList))
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
	if b.form >= ranged {
		return appendRange(words, b.n, p.lists.run(b.at, b.form-ranged))
	}
	p.words = p.words[:0]
	switch {
	case b.form >= tabled:
		p.words = appendTable(p.words, p.tables.run(b.at, b.form-tabled))
	case b.form == single:
		p.words = appendList(p.words, unsafe.Slice(&b.at, 1)[:b.n])
	default:
		p.words = appendList(p.words, p.lists.run(b.at, b.form)[:b.n])
	}
	return p.order.append(words, p.words)
}

// appendList appends a word for each key of a list, as they lie.
func appendList(words []uint64, keys []uint32) []uint64 {
	for _, key := range keys {
		words = append(words, uint64(key)<<32|1)
	}
	return words
}
