// Package hashtable finds values by hashes. It is behind the indexes that are asked for
// each event or command.
//
// A [Table] holds no keys. A value is the number of an entry in a slice of the caller,
// or a pointer to one, and the caller compares the key:
//
//	for at := t.First(hash); at >= 0; at = t.Next(at) {
//		if e := &entries[*t.At(at)]; e.key == key {
//			return e
//		}
//	}
//
// The compiler copies First, Next and At into the caller's loop; TestInlining holds that.
//
// Go's map would hold each key a second time.
//
// [Probe] is the same search where the slots are the keys and the caller keeps the slots.
//
// Neither is safe for concurrent use.
package hashtable

import (
	"unsafe"
)

// A Table finds values by 31 bits of their hashes, with open addressing and linear
// probing (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithms L
// and R). It has a power of two of slots, of which at most three quarters are in use: a
// search for what is not there then reads 8.5 slots on average, one for what is there
// 2.5. A number takes 8 bytes in a slot, which is 11 to 21 bytes for each number.
//
// The zero value is empty and ready.
type Table[V any] struct {
	slots []slot[V]
	n     int
}

// A slot has bits of the hash beside the value. They nearly always show that a value
// belongs to another key, without a look at that key; and the table can grow, and close
// gaps, without the keys.
type slot[V any] struct {
	hash  uint32 // with the bit inUse; 0: free
	value V
}

const (
	inUse    = 1 << 31
	slotsMin = 8
)

// Len returns the number of values.
func (t *Table[V]) Len() int { return t.n }

// First returns the slot of the first value with the hash. If there is none, it returns
// a negative number, which tells Insert where the search ended. A slot is valid until
// the table changes. The upper bit of a hash does not count.
func (t *Table[V]) First(hash uint32) (at int) {
	slots := t.slots
	mask := len(slots) - 1
	if mask < 0 {
		return -1
	}
	hash |= inUse
	for at = int(hash); ; at++ {
		switch slots[at&mask].hash {
		case hash:
			return at & mask
		case 0:
			return ^(at & mask)
		}
	}
}

// Next returns the slot of the next value with the hash of the one at a slot, or a
// negative number like First.
func (t *Table[V]) Next(at int) int {
	slots := t.slots
	hash, mask := slots[at].hash, len(slots)-1
	for {
		at = (at + 1) & mask
		switch slots[at].hash {
		case hash:
			return at
		case 0:
			return ^at
		}
	}
}

// At returns the value in a slot. The caller may replace it.
func (t *Table[V]) At(at int) *V { return &t.slots[at].value }

// Insert adds a value at the negative number that a search for its hash ended with.
func (t *Table[V]) Insert(at int, hash uint32, v V) {
	if t.Full() {
		t.Add(hash, v)
		return
	}
	t.n++
	t.slots[^at] = slot[V]{hash | inUse, v}
}

// Add adds a value without a search before. It does not look for an equal one.
func (t *Table[V]) Add(hash uint32, v V) {
	if t.Full() {
		t.Grow(1)
	}
	t.n++
	t.link(slot[V]{hash | inUse, v})
}

// link puts a slot where a search for its hash ends.
func (t *Table[V]) link(s slot[V]) {
	slots := t.slots
	mask := len(slots) - 1
	at := int(s.hash) & mask
	for slots[at].hash != 0 {
		at = (at + 1) & mask
	}
	slots[at] = s
}

// Full reports whether the next Add moves the table to twice as many slots.
func (t *Table[V]) Full() bool { return 4*(t.n+1) > 3*len(t.slots) }

// Grow makes room for n more values.
func (t *Table[V]) Grow(n int) {
	size := max(slotsMin, len(t.slots))
	for 4*(t.n+n) > 3*size {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]slot[V], size)
	for _, s := range old {
		if s.hash != 0 {
			t.link(s)
		}
	}
}

// Remove removes the value in a slot. Then it moves up the values behind it that a
// search would no longer reach.
func (t *Table[V]) Remove(at int) {
	mask := len(t.slots) - 1
	for i := (at + 1) & mask; t.slots[i].hash != 0; i = (i + 1) & mask {
		if home := int(t.slots[i].hash) & mask; (i-home)&mask >= (i-at)&mask {
			t.slots[at], at = t.slots[i], i
		}
	}
	t.slots[at] = slot[V]{}
	t.n--
}

// Reset removes every value and keeps the memory.
func (t *Table[V]) Reset() {
	clear(t.slots)
	t.n = 0
}

// All yields every hash, its upper bit set, and its value, in no order that a caller
// may rely on.
func (t *Table[V]) All(yield func(hash uint32, v V) bool) {
	for _, s := range t.slots {
		if s.hash != 0 && !yield(s.hash, s.value) {
			return
		}
	}
}

// Bytes returns the memory held.
func (t *Table[V]) Bytes() int { return cap(t.slots) * int(unsafe.Sizeof(slot[V]{})) }

// Probe finds a key in a table whose slots are the keys. The search begins at the slot
// that the last bits of home choose; 0 marks a free slot. If the key is not there, at is
// the free slot where it belongs. The number of slots is a power of two, and at least one
// is free.
func Probe[K uint16 | uint32 | uint64](slots []K, home uint32, key K) (at int, found bool) {
	mask := len(slots) - 1
	for at = int(home); ; at++ {
		switch slots[at&mask] {
		case key:
			return at & mask, true
		case 0:
			return at & mask, false
		}
	}
}
