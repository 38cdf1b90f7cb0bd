package counts

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// A Pool has many bags of keys, numbered from 0. The zero value is ready.
//
// The first keys of a bag are a list, as they came. So to add one is to write four bytes at the
// end of a list, and these ends are in the caches even of many bags, where a hash table would be
// read at random. A list that is full becomes an array of the counts of all keys of a range (range.go), if
// that is short, or takes no more memory than a table of its different keys and their counts. Else
// it becomes such a table, if the list has 256 keys, or has 64 and the table takes at most half of the
// memory of a longer list. Else it becomes longer.
//
// A key takes 4 to 32 bytes in a list; in a table or an array, each of the different keys takes 11
// to 21, or less.
type Pool struct {
	bags   []bag
	lists  pages[uint32]
	arrays pages[uint16]
	tables pages[uint64]

	words []uint64 // to use again
	order order
}

type bag struct {
	at   uint32 // of the list, the table or the array; of a single key, the key
	n    uint32 // keys in the list; different ones in the table; of an array, the first key
	form uint8  // single, a list of 1 << form keys, or tabled or ranged + the logarithm of the slots or counts
}

const (
	single     = 0
	firstList  = 3
	secondList = 6
	lastList   = 8
	tabled     = 32
	ranged     = 64

	shortArray = 7 // the logarithm of the counts of an array as large as a list of 1 << secondList keys
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
	p.arrays.reset()
	p.tables.reset()
}

// Bytes returns about how many bytes are held.
func (p *Pool) Bytes() int {
	return cap(p.bags)*int(unsafe.Sizeof(bag{})) + p.lists.bytes() + p.arrays.bytes() + p.tables.bytes() + 8*cap(p.words) + p.order.bytes()
}

// Empty reports whether bag i has no key.
func (p *Pool) Empty(i uint32) bool { return p.bags[i].form == single && p.bags[i].n == 0 }

// Add adds a key to bag i. A bag has at most 2^32 − 1 of one key.
func (p *Pool) Add(i, key uint32) {
	b := &p.bags[i]
	switch bits := b.form % tabled; {
	case b.form >= ranged:
		if at := key - b.n; at>>bits == 0 {
			if count := &p.arrays.all[b.at>>pageBits][b.at%pageLen+at]; *count < math.MaxUint16 {
				*count++
				return
			}
		}
		p.widen(b, key)
	case b.form >= tabled:
		p.count(b, key)
	case bits > 0 && b.n>>bits == 0:
		p.lists.all[b.at>>pageBits][b.at%pageLen+b.n] = key
		b.n++
	case b.n == 0:
		b.at, b.n = key, 1
	default:
		p.enlarge(b)
		p.Add(i, key)
	}
}

// AddBatch adds keys[n] to bag of[n], for each n. It is Add, with what that does most often in the loop.
func AddBatch[K ~uint32](p *Pool, of []uint32, keys []K) {
	bags, lists, arrays := p.bags, p.lists.all, p.arrays.all
	for n, i := range of {
		b, key := &bags[i], uint32(keys[n])
		bits := b.form % tabled
		if b.form >= ranged {
			if at := key - b.n; at>>bits == 0 {
				if count := &arrays[b.at>>pageBits][b.at%pageLen+at]; *count < math.MaxUint16 {
					*count++
					continue
				}
			}
		} else if bits > 0 && b.form < tabled && b.n>>bits == 0 {
			lists[b.at>>pageBits][b.at%pageLen+b.n] = key
			b.n++
			continue
		}
		p.Add(i, key)
		lists, arrays = p.lists.all, p.arrays.all
	}
}

// AppendState appends all bags, for Load.
func (p *Pool) AppendState(dst []byte) []byte {
	var words []uint64
	for i := range p.bags {
		words = p.Append(words[:0], uint32(i))
		dst = binary.AppendUvarint(dst, uint64(len(words)))
		for _, w := range words {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	return dst
}

// Load reads what AppendState has appended into as many bags, which are empty, and returns what is behind it.
func (p *Pool) Load(state []byte) (rest []byte) {
	for i := range p.bags {
		n, k := binary.Uvarint(state)
		words := make([]uint64, n)
		state = state[k:]
		for w := range words {
			words[w], state = binary.LittleEndian.Uint64(state), state[8:]
		}
		if n > 0 {
			p.settle(&p.bags[i], words, 0)
		}
	}
	return state
}

// enlarge gives a bag that is full another form.
func (p *Pool) enlarge(b *bag) {
	old := *b
	if b.form == single {
		b.form, b.at = firstList, p.lists.take(firstList)
		p.lists.run(b.at, firstList)[0] = old.at
		return
	}
	keys := p.lists.run(old.at, old.form)
	if least, most := keyEnds(keys); old.form == firstList && (most-least)>>shortArray > 0 {
		p.lengthen(b, secondList) // as it would be below
		p.lists.give(old.at, old.form)
		return
	}
	p.words = p.order.list(p.words[:0], keys)
	table := tableBits(len(p.words))
	array, ok := arrayFor(p.words, 0, table)
	switch {
	case ok:
		p.toArray(b, p.words, array)
	case old.form == lastList || old.form > firstList && table < old.form:
		p.toTable(b, p.words, table)
	default:
		p.lengthen(b, max(old.form+1, secondList))
	}
	p.lists.give(old.at, old.form)
}

// lengthen gives a bag a list of 1 << form keys.
func (p *Pool) lengthen(b *bag, form uint8) {
	at := p.lists.take(form)
	copy(p.lists.run(at, form), p.lists.run(b.at, b.form))
	b.at, b.form = at, form
}

// Append appends a word for each of the different keys of bag i, ascending: the key in the upper
// half, and how many of it there are in the lower one.
func (p *Pool) Append(words []uint64, i uint32) []uint64 {
	b := &p.bags[i]
	if b.form >= ranged {
		return appendRange(words, b.n, p.arrays.run(b.at, b.form-ranged))
	}
	switch {
	case b.form >= tabled:
		p.words = appendTable(p.words[:0], p.tables.run(b.at, b.form-tabled))
		return p.order.append(words, p.words)
	case b.form == single:
		return p.order.list(words, unsafe.Slice(&b.at, 1)[:b.n])
	}
	return p.order.list(words, p.lists.run(b.at, b.form)[:b.n])
}
