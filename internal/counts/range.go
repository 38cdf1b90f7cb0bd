package counts

import (
	"math/bits"
	"slices"
)

// An array has a count for each key of a range. To count a key there is to add one to a number,
// which no branch depends on: so the processor can do that for several keys at a time, where it
// would wait for the slot of a table. Buckets of a histogram are neighbours, and so are the
// numbers of frequent keys, which come first.

// countInRange counts a key in a bag with an array.
func (p *Pool) countInRange(b *bag, key uint32) {
	counts := p.lists.run(b.at, b.form-ranged)
	if at := key - b.n; int(at) < len(counts) {
		counts[at]++
		return
	}
	p.widen(b, key)
}

// appendRange appends the words of an array, whose first key is given. Like appendTable, it has no
// branch for a count of zero.
func appendRange(words []uint64, first uint32, counts []uint32) []uint64 {
	n := len(words)
	words = slices.Grow(words, len(counts))[:n+len(counts)]
	for at, count := range counts {
		words[n] = uint64(first+uint32(at))<<32 | uint64(count)
		if count != 0 {
			n++
		}
	}
	return words[:n]
}

// fits reports whether a bag gets an array of 1 << array counts, and no table of 1 << table slots. A slot
// has two numbers. A short array takes no more than the list that a bag of a few keys has else.
func fits(array, table uint8) bool { return array <= max(table+1, secondList) }

// widen counts a key for which a bag with a table or an array has no room. An array gets at least
// twice the size, so that keys beyond one end and the other in turns do not move it each time.
func (p *Pool) widen(b *bag, key uint32) {
	least := uint8(0)
	if b.form >= ranged {
		least = b.form - ranged + 1
		p.words = appendRange(p.words[:0], b.n, p.lists.run(b.at, b.form-ranged))
		p.lists.give(b.at, b.form-ranged)
	} else {
		p.words = appendTable(p.words[:0], p.tables.run(b.at, b.form-tabled))
		p.tables.give(b.at, b.form-tabled)
	}
	p.words = append(p.words, uint64(key)<<32|1)
	table, array := tableBits(len(p.words)), max(least, arrayBits(p.words))
	if fits(array, table) {
		p.toArray(b, p.words, array)
	} else {
		p.toTable(b, p.words, table)
	}
}

// toArray gives a bag an array of 1 << bits counts with some words, of different keys.
func (p *Pool) toArray(b *bag, words []uint64, bits uint8) {
	least, most := ends(words)
	b.form, b.at, b.n = ranged+bits, p.lists.take(bits), first(least, most, 1<<bits-1)
	counts := p.lists.run(b.at, bits)
	for _, w := range words {
		counts[Key(w)-b.n] = Count(w)
	}
}

// ends returns the least and the greatest key of some words.
func ends(words []uint64) (least, most uint32) {
	least, most = Key(words[0]), Key(words[0])
	for _, w := range words {
		least, most = min(least, Key(w)), max(most, Key(w))
	}
	return least, most
}

// arrayBits returns the logarithm of the counts that an array of some words has at least.
func arrayBits(words []uint64) uint8 {
	least, most := ends(words)
	return uint8(bits.Len32(most - least))
}

// first returns the first key of an array that goes so many keys beyond it, least and most among
// them: half of the room that they leave is below them, where there are keys.
func first(least, most, beyond uint32) uint32 {
	below := (beyond - (most - least)) / 2
	return min(least-min(least, below), ^beyond)
}
