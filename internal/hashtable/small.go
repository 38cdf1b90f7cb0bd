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
// use, so an entry takes 1.33 to 2.67 times its size, or four slots where there are few. The
// tables lie in pages without pointers: the garbage collector has next to nothing to follow.
//
// The zero value has no tables.
type Small[E uint32 | uint64] struct {
	tables  []small
	pages   [][]E
	shared  []uint32     // the pages of several tables, of pageSlots at most; a larger table has one of its own
	filling int          // how many of these are in use; the last one has room from…
	free    int          // …this slot on
	spare   [32][]uint32 // by the logarithm of the size: where tables that were given up begin
	touched E
}

type small struct {
	at   uint32 // the page, and in the last pageBits bits the first slot; 0: it has none yet
	n    uint32 // entries
	bits uint8  // logarithm of the number of slots
}

const (
	leastBits = 2
	pageBits  = 13
	pageSlots = 1 << pageBits
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
	if len(s.shared) == 0 {
		s.page(leastBits)
		s.free = 1 << leastBits // what an empty table has
	}
	for len(s.tables) < n {
		s.tables = append(s.tables, small{bits: leastBits})
	}
}

// Reset removes all tables and keeps the memory.
func (s *Small[E]) Reset() {
	for i := range s.spare {
		s.spare[i] = s.spare[i][:0]
	}
	for i := range s.tables {
		if t := &s.tables[i]; t.bits > pageBits {
			s.spare[t.bits] = append(s.spare[t.bits], t.at)
		}
	}
	s.tables = s.tables[:0]
	s.filling, s.free = min(1, len(s.shared)), 1<<leastBits
}

// Tables returns how many tables there are.
func (s *Small[E]) Tables() int { return len(s.tables) }

// Len returns the number of entries of table i.
func (s *Small[E]) Len(i uint32) int { return int(s.tables[i].n) }

// Slots returns the slots of table i, those that are free among them. The caller must not
// change them. They are valid until an entry is added to the table.
func (s *Small[E]) Slots(i uint32) []E { return s.of(&s.tables[i]) }

func (s *Small[E]) of(t *small) []E {
	return s.pages[t.at>>pageBits][t.at&(pageSlots-1):][:1<<(t.bits&31)]
}

// Bytes returns about how many bytes are held.
func (s *Small[E]) Bytes() int {
	n := cap(s.tables)*int(unsafe.Sizeof(small{})) + cap(s.pages)*int(unsafe.Sizeof([]E(nil)))
	for _, p := range s.pages {
		n += len(p) * int(unsafe.Sizeof(E(0)))
	}
	for i := range s.spare {
		n += 4 * cap(s.spare[i])
	}
	return n
}

// Find returns the entry of a key in table i, 0 if there is none.
func (s *Small[E]) Find(i, key uint32) E {
	t := &s.tables[i]
	slots := s.of(t)
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
	slots := s.of(t)
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

// ahead is how many additions Count and Insert read the memory for at once.
const ahead = 64

// Count adds one to the value of keys[n] in table of[n], for each n. Before it adds some, it
// reads where their searches begin: so the cache misses overlap, which a search that may take
// any number of steps prevents.
func Count[K ~uint32](s *Small[uint64], of []uint32, keys []K) {
	for len(of) > 0 {
		n := min(ahead, len(of))
		touch(s, of[:n], keys[:n])
		for k, i := range of[:n] {
			// Add, but not as a call.
			key, t := uint32(keys[k]), &s.tables[i]
			slots := s.of(t)
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
		of, keys = of[n:], keys[n:]
	}
}

// Insert adds keys[n] to table of[n], for each n, as Count does. It leaves out a key that is 0.
func Insert(s *Small[uint32], of, keys []uint32) {
	for len(of) > 0 {
		n := min(ahead, len(of))
		touch(s, of[:n], keys[:n])
		for k, i := range of[:n] {
			if keys[k] != 0 {
				s.Add(i, keys[k])
			}
		}
		of, keys = of[n:], keys[n:]
	}
}

func touch[E uint32 | uint64, K ~uint32](s *Small[E], of []uint32, keys []K) {
	if len(s.tables) < ahead { // in the caches, or large: then additions are rare
		return
	}
	keys = keys[:len(of)]
	for k, i := range of {
		t := &s.tables[i]
		slots := s.of(t)
		s.touched += slots[home[E](uint32(keys[k]), t.bits)&uint32(len(slots)-1)] // so that the compiler does not leave the read out
	}
}

// insert puts a key into its free slot, or into a larger table.
func (s *Small[E]) insert(t *small, free *E, key uint32) *E {
	entry := E(key) << upper[E]()
	if t.n++; 4*t.n <= 3<<t.bits && t.at != 0 {
		*free = entry
		return free
	}
	if t.at != 0 {
		s.move(t, t.bits+1)
	} else {
		t.at = s.take(t.bits)
	}
	e := place(s.of(t), t.bits, key)
	*e = entry
	return e
}

// Reserve makes room for n entries in table i.
func (s *Small[E]) Reserve(i uint32, n int) {
	t := &s.tables[i]
	if want := uint8(bits.Len(uint(n * 4 / 3))); want > t.bits {
		s.move(t, want)
	}
}

// move gives a table another size.
func (s *Small[E]) move(t *small, bits uint8) {
	old := *t
	t.bits, t.at = bits, s.take(bits)
	if old.at == 0 {
		return
	}
	slots := s.of(t)
	for _, e := range s.of(&old) {
		if e != 0 {
			*place(slots, bits, uint32(e>>upper[E]())) = e
		}
	}
	s.spare[old.bits] = append(s.spare[old.bits], old.at)
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
func (s *Small[E]) take(bits uint8) (at uint32) {
	if n := len(s.spare[bits]); n > 0 {
		at = s.spare[bits][n-1]
		s.spare[bits] = s.spare[bits][:n-1]
		clear(s.of(&small{at: at, bits: bits}))
		return at
	}
	if bits > pageBits {
		s.pages = append(s.pages, make([]E, 1<<bits))
		return uint32(len(s.pages)-1) << pageBits
	}
	if s.free+1<<bits > len(s.pages[s.shared[s.filling-1]]) {
		s.page(bits)
	}
	at = s.shared[s.filling-1]<<pageBits | uint32(s.free)
	s.free += 1 << bits
	clear(s.of(&small{at: at, bits: bits}))
	return at
}

// page begins to fill another page, which has room for a table of 1 << bits slots. The first
// pages are small, because many have few entries.
func (s *Small[E]) page(bits uint8) {
	s.free = 0
	for s.filling++; s.filling <= len(s.shared); s.filling++ {
		if len(s.pages[s.shared[s.filling-1]]) >= 1<<bits {
			return
		}
	}
	s.pages = append(s.pages, make([]E, min(pageSlots, 16<<max(int(bits), min(len(s.shared), pageBits)))))
	s.shared = append(s.shared, uint32(len(s.pages)-1))
}
