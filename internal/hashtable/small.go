package hashtable

import (
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// A Small holds many small tables of keys of 32 bits, numbered from 0: one for each of a
// hundred thousand groups, say. An entry has its key in its upper 32 bits. With E = uint64 the
// lower 32 are the caller's, a count mostly. With E = uint32 an entry is its key, and the
// tables are sets.
//
// An entry that is 0 is free. So with uint32 the key 0 cannot be added, and with uint64 only
// if the caller makes its value other than 0.
//
// A table has a power of two of slots, 4 at least, of which at most three quarters are in
// use, so an entry takes 1.33 to 2.67 times its size, or four slots where there are few. All
// tables are in one slice, without pointers: the garbage collector has nothing to follow.
//
// The zero value has no tables.
type Small[E uint32 | uint64] struct {
	tables  []small
	slots   []E // the first four are free: they are what an empty table has
	touched E
	spare   [32][]uint32 // by the logarithm of the size: where tables that were given up begin
}

type small struct {
	at   uint32 // in slots
	n    uint32 // entries
	bits uint8  // logarithm of the number of slots
}

const (
	leastBits  = 2
	leastSlots = 1 << leastBits
)

// multiplier spreads keys. It is another one in each process, so that a sender of events cannot
// choose keys which all come to lie in one place. No stored value depends on it.
var multiplier = uint32(maphash.Comparable(maphash.MakeSeed(), 0)) | 1

// home returns where the search for a key begins. Keys of sets are hashes, and their number has no
// bound. Keys with values are buckets or numbers of texts: neighbours mostly, which lie beside each
// other without a collision.
func home[E uint32 | uint64](key uint32, bits uint8) uint32 {
	if unsafe.Sizeof(E(0)) == 4 {
		return key * multiplier >> ((32 - bits) & 31)
	}
	return key
}

// upper returns how far the key is shifted in an entry.
func upper[E uint32 | uint64]() int { return 8*int(unsafe.Sizeof(E(0))) - 32 }

// Grow makes the tables [0, n) exist.
func (s *Small[E]) Grow(n int) {
	if s.slots == nil {
		s.slots = make([]E, leastSlots, 1024)
	}
	for len(s.tables) < n {
		s.tables = append(s.tables, small{bits: leastBits})
	}
}

// Reset removes all tables and keeps the memory.
func (s *Small[E]) Reset() {
	s.tables, s.slots = s.tables[:0], s.slots[:min(leastSlots, len(s.slots))]
	for i := range s.spare {
		s.spare[i] = s.spare[i][:0]
	}
}

// Tables returns how many tables there are.
func (s *Small[E]) Tables() int { return len(s.tables) }

// Len returns the number of entries of table i.
func (s *Small[E]) Len(i uint32) int { return int(s.tables[i].n) }

// Slots returns the slots of table i, those that are free among them. The caller must not
// change them. They are valid until an entry is added.
func (s *Small[E]) Slots(i uint32) []E {
	t := &s.tables[i]
	return s.slots[t.at:][:1<<t.bits]
}

// Bytes returns about how many bytes are held.
func (s *Small[E]) Bytes() int {
	n := cap(s.tables)*int(unsafe.Sizeof(small{})) + cap(s.slots)*int(unsafe.Sizeof(E(0)))
	for i := range s.spare {
		n += 4 * cap(s.spare[i])
	}
	return n
}

// Find returns the entry of a key in table i, 0 if there is none.
func (s *Small[E]) Find(i, key uint32) E {
	t := &s.tables[i]
	slots := s.slots[t.at:][:1<<(t.bits&31)]
	mask := uint32(len(slots) - 1)
	for at := home[E](key, t.bits); ; at++ {
		e := slots[at&mask]
		if uint32(e>>upper[E]()) == key || e == 0 {
			return e
		}
	}
}

// Add finds or makes the entry of a key in table i. It is valid until the next call.
func (s *Small[E]) Add(i, key uint32) *E {
	t := &s.tables[i]
	slots := s.slots[t.at:][:1<<(t.bits&31)]
	mask := uint32(len(slots) - 1)
	for at := home[E](key, t.bits); ; at++ {
		e := &slots[at&mask]
		if *e == 0 {
			return s.insert(t, e, key)
		}
		if uint32(*e>>upper[E]()) == key {
			return e
		}
	}
}

// ahead is how many additions Count reads the memory for at once.
const ahead = 64

// Count adds one to the value of keys[n] in table of[n], for each n. Before it adds some, it
// reads where their searches begin: so the cache misses overlap, which a search that may take
// any number of steps prevents.
func Count[K ~uint32](s *Small[uint64], of []uint32, keys []K) {
	for len(of) > 0 {
		n := min(ahead, len(of))
		touch(s, of[:n], keys[:n])
		count(s, of[:n], keys[:n])
		of, keys = of[n:], keys[n:]
	}
}

func touch[K ~uint32](s *Small[uint64], of []uint32, keys []K) {
	keys = keys[:len(of)]
	for n, i := range of {
		t := &s.tables[i]
		s.touched += s.slots[t.at+uint32(keys[n])&(1<<(t.bits&31)-1)] // so that the compiler does not leave the read out
	}
}

func count[K ~uint32](s *Small[uint64], of []uint32, keys []K) {
	keys = keys[:len(of)]
	for n, i := range of {
		key := uint32(keys[n])
		t := &s.tables[i]
		slots := s.slots[t.at:][:1<<(t.bits&31)]
		mask := uint32(len(slots) - 1)
		for at := home[uint64](key, t.bits); ; at++ {
			e := &slots[at&mask]
			if uint32(*e>>32) == key && *e != 0 {
				*e++
				break
			}
			if *e == 0 {
				*s.insert(t, e, key)++
				break
			}
		}
	}
}

// Insert adds keys[n] to table of[n], for each n, as Count does.
func Insert(s *Small[uint32], of, keys []uint32) {
	for len(of) > 0 {
		n := min(ahead, len(of))
		for k, i := range of[:n] {
			t := &s.tables[i]
			s.touched += s.slots[t.at+home[uint32](keys[k], t.bits)&(1<<(t.bits&31)-1)]
		}
		for k, i := range of[:n] {
			if keys[k] != 0 {
				s.Add(i, keys[k])
			}
		}
		of, keys = of[n:], keys[n:]
	}
}

// insert puts a key into its free slot, or into a larger table.
func (s *Small[E]) insert(t *small, free *E, key uint32) *E {
	entry := E(key) << upper[E]()
	if t.n++; 4*t.n <= 3<<t.bits && t.at != 0 {
		*free = entry
		return free
	}
	old := *t
	if t.at != 0 {
		t.bits += 1
	}
	t.at = s.take(t.bits)
	slots := s.slots[t.at:][:1<<t.bits]
	if old.at != 0 {
		for _, e := range s.slots[old.at:][:1<<old.bits] {
			if e != 0 {
				*place(slots, t.bits, uint32(e>>upper[E]())) = e
			}
		}
		s.spare[old.bits] = append(s.spare[old.bits], old.at)
	}
	e := place(slots, t.bits, key)
	*e = entry
	return e
}

// place returns the free slot for a key that is not in a table.
func place[E uint32 | uint64](slots []E, bits uint8, key uint32) *E {
	mask := uint32(len(slots) - 1)
	at := home[E](key, bits)
	for slots[at&mask] != 0 {
		at++
	}
	return &slots[at&mask]
}

// take returns where 1 << bits free slots begin.
func (s *Small[E]) take(bits uint8) uint32 {
	if spare := s.spare[bits]; len(spare) > 0 {
		at := spare[len(spare)-1]
		s.spare[bits] = spare[:len(spare)-1]
		clear(s.slots[at:][:1<<bits])
		return at
	}
	at, n := len(s.slots), 1<<bits
	if at+n > cap(s.slots) {
		grown := make([]E, at, max(2*cap(s.slots), at+n))
		copy(grown, s.slots)
		s.slots = grown
	}
	s.slots = s.slots[:at+n]
	clear(s.slots[at:])
	return uint32(at)
}

// Reserve makes room for n entries in table i.
func (s *Small[E]) Reserve(i uint32, n int) {
	t := &s.tables[i]
	want := uint8(max(leastBits, bits.Len(uint(n*4/3))))
	if want <= t.bits && t.at != 0 {
		return
	}
	old := *t
	t.bits = max(want, old.bits)
	t.at = s.take(t.bits)
	if old.at != 0 {
		slots := s.slots[t.at:][:1<<t.bits]
		for _, e := range s.slots[old.at:][:1<<old.bits] {
			if e != 0 {
				*place(slots, t.bits, uint32(e>>upper[E]())) = e
			}
		}
		s.spare[old.bits] = append(s.spare[old.bits], old.at)
	}
}
