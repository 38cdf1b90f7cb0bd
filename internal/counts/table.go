package counts

import "slices"

// A table has a power of two of slots, of which at most three quarters are in use. A slot is a
// word, or 0 if it is free. A key is sought from the slot on that its last bits choose: keys are
// neighbours mostly, which lie beside each other then, and the search ends where it begins.
const leastBits = 4

// count adds one to the count of a key in a bag with a table.
func (p *Pool) count(b *bag, key uint32) {
	bits := b.form - tabled
	slots := p.tables.run(b.at, bits)
	mask := uint32(len(slots) - 1)
	for at := key; ; at++ {
		w := &slots[at&mask]
		if Key(*w) == key && *w != 0 {
			*w++
			return
		}
		if *w != 0 {
			continue
		}
		if b.n++; 4*b.n > 3<<bits {
			p.widen(b, key)
			return
		}
		*w = uint64(key)<<32 | 1
		return
	}
}

// tableBits returns the logarithm of the slots that a table of n keys has.
func tableBits(n int) (bits uint8) {
	for bits = leastBits; 4*n > 3<<bits; bits++ {
	}
	return bits
}

// toTable gives a bag a table of 1 << bits slots with some words, of different keys.
func (p *Pool) toTable(b *bag, words []uint64, bits uint8) {
	b.form, b.at, b.n = tabled+bits, p.tables.take(bits), uint32(len(words))
	slots := p.tables.run(b.at, bits)
	for _, w := range words {
		*place(slots, Key(w)) = w
	}
}

// place returns the free slot for a key that is not in a table.
func place(slots []uint64, key uint32) *uint64 {
	mask := uint32(len(slots) - 1)
	for slots[key&mask] != 0 {
		key++
	}
	return &slots[key&mask]
}

// appendTable appends the words of a table, as they lie. Whether the next slot is free cannot be
// foreseen, so there is no branch for it.
func appendTable(words, slots []uint64) []uint64 {
	n := len(words)
	words = slices.Grow(words, len(slots))[:n+len(slots)]
	for _, w := range slots {
		words[n] = w
		if w != 0 {
			n++
		}
	}
	return words[:n]
}
