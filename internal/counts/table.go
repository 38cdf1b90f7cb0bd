package counts

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
			slots = p.move(b)
			w = place(slots, key)
		}
		*w = uint64(key)<<32 | 1
		return
	}
}

// move gives a bag a table of twice the size, and returns its slots.
func (p *Pool) move(b *bag) []uint64 {
	old := *b
	b.form++
	b.at = p.tables.take(b.form - tabled)
	slots := p.tables.run(b.at, b.form-tabled)
	for _, w := range p.tables.run(old.at, old.form-tabled) {
		if w != 0 {
			*place(slots, Key(w)) = w
		}
	}
	p.tables.give(old.at, old.form-tabled)
	return slots
}

// place returns the free slot for a key that is not in a table.
func place(slots []uint64, key uint32) *uint64 {
	mask := uint32(len(slots) - 1)
	for slots[key&mask] != 0 {
		key++
	}
	return &slots[key&mask]
}
