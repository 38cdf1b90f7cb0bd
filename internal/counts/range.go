package counts

import (
	"math"
	"math/bits"
	"slices"
)

// An array has a count for each key of a range. To count a key there is to add one to a number:
// so the processor can do that for several keys at a time, where it would wait for the slot of a table.
// Buckets of a histogram are neighbours, and so are the numbers of frequent keys, which come first.
//
// A count has 16 bits, so that the arrays of many bags stay in the caches. A bag with more of a key
// than that gets a table.

// appendRange appends the words of an array, whose first key is given. Like appendTable, it has no
// branch for a count of zero.
func appendRange(words []uint64, first uint32, counts []uint16) []uint64 {
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

// arrayFor returns the logarithm of the counts that an array of some words, of different keys, has:
// least or more. It reports whether a bag gets the array, and no table of 1 << table slots. A slot takes
// as much as four counts. A short array takes no more than the list that a bag of a few keys has else.
func arrayFor(words []uint64, least, table uint8) (array uint8, ok bool) {
	first, last := ends(words)
	array = max(least, uint8(bits.Len32(last-first)))
	return array, array <= max(table+2, shortArray) && !slices.ContainsFunc(words, beyondArray)
}

// beyondArray reports whether a word has more of a key than an array can count.
func beyondArray(word uint64) bool { return Count(word) > math.MaxUint16 }

// widen counts a key for which a bag with a table or an array has no room. An array gets at least
// twice the size, so that keys beyond one end and the other in turns do not move it each time.
func (p *Pool) widen(b *bag, key uint32) {
	least := uint8(0)
	if b.form >= ranged {
		bits := b.form - ranged
		p.words = appendRange(p.words[:0], b.n, p.arrays.run(b.at, bits))
		p.arrays.give(b.at, bits)
		least = bits + 1
	} else {
		p.words = appendTable(p.words[:0], p.tables.run(b.at, b.form-tabled))
		p.tables.give(b.at, b.form-tabled)
	}
	if at := slices.IndexFunc(p.words, func(w uint64) bool { return Key(w) == key }); at >= 0 {
		p.words[at]++ // beyond what an array can count
	} else {
		p.words = append(p.words, uint64(key)<<32|1)
	}
	p.settle(b, p.words, least)
}

// settle gives a bag an array or a table with some words, of different keys.
func (p *Pool) settle(b *bag, words []uint64, least uint8) {
	table := tableBits(len(words))
	if array, ok := arrayFor(words, least, table); ok {
		p.toArray(b, words, array)
	} else {
		p.toTable(b, words, table)
	}
}

// toArray gives a bag an array of 1 << bits counts with some words, of different keys.
func (p *Pool) toArray(b *bag, words []uint64, bits uint8) {
	least, most := ends(words)
	b.form, b.at, b.n = ranged+bits, p.arrays.take(bits), first(least, most, 1<<bits-1)
	counts := p.arrays.run(b.at, bits)
	for _, w := range words {
		counts[Key(w)-b.n] = uint16(Count(w))
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

// first returns the first key of an array that goes so many keys beyond it, least and most among
// them: half of the room that they leave is below them, where there are keys.
func first(least, most, beyond uint32) uint32 {
	below := (beyond - (most - least)) / 2
	return min(least-min(least, below), ^beyond)
}
