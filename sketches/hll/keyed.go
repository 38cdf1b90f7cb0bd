package hll

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Keyed is a Pool whose sketches are found by a 64-bit key hash: one sketch
// per page and minute, for a million pages. Two keys of the same hash share a
// sketch, so hash keys well (with [KeyedHash] where strangers choose them, or
// they can also make every search long). The zero value is empty and ready.
type Keyed struct {
	pool  Pool
	slots []slot // power of two; at most three quarters in use
	shift uint8  // 64 - log2(len(slots))
}

// A slot of the index. Four share a cache line.
type slot struct {
	key    uint64
	number uint32 // of the sketch, plus one; 0 for a free slot
}

const slotsMin = 64

// Len is the number of keys.
func (k *Keyed) Len() int { return k.pool.Len() }

// Add records a hashed element under key.
func (k *Keyed) Add(key, h uint64) {
	k.reserve(1)
	i := k.number(key)
	k.pool.Add(i, h)
}

// AddBatch records hashes[i] under keys[i], for each i. Both slices have the
// same length. The index slots of 64 events are fetched together, then their
// sketches, and then all are changed: see [Pool.AddBatch].
func (k *Keyed) AddBatch(keys, hashes []uint64) {
	if len(keys) != len(hashes) {
		panic(fmt.Sprintf("hll: %d keys for %d hashes", len(keys), len(hashes)))
	}
	var numbers [64]uint32
	for len(keys) > 0 {
		n := min(len(numbers), len(keys))
		k.reserve(n)
		for i, key := range keys[:n] {
			if s := k.slots[k.home(key)]; s.key == key && s.number != 0 {
				numbers[i&63] = s.number - 1 // so for most
			} else {
				numbers[i&63] = k.number(key)
			}
		}
		k.pool.AddBatch(numbers[:n], hashes[:n])
		keys, hashes = keys[n:], hashes[n:]
	}
}

// home is where the search for key starts: the high bits of a multiplicative
// hash, so that keys which differ in few bits still spread.
func (k *Keyed) home(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> k.shift }

// number is the number of key's sketch, made if need be. There must be room.
func (k *Keyed) number(key uint64) uint32 {
	mask := uint64(len(k.slots) - 1)
	for p := k.home(key); ; p = (p + 1) & mask {
		s := &k.slots[p&mask]
		if s.number == 0 {
			i := k.pool.Len()
			k.pool.Grow(i + 1)
			*s = slot{key, uint32(i) + 1}
			return uint32(i)
		}
		if s.key == key {
			return s.number - 1
		}
	}
}

func (k *Keyed) find(key uint64) (number uint32, ok bool) {
	if len(k.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(k.slots) - 1)
	for p := k.home(key); ; p = (p + 1) & mask {
		s := k.slots[p&mask]
		if s.number == 0 {
			return 0, false
		}
		if s.key == key {
			return s.number - 1, true
		}
	}
}

// reserve makes room for n more keys. Only the index moves, never a sketch.
func (k *Keyed) reserve(n int) {
	if (k.pool.Len()+n)*4 <= len(k.slots)*3 {
		return
	}
	old := k.slots
	size := max(slotsMin, 2*len(old))
	k.slots = make([]slot, size)
	k.shift = uint8(64 - bits.TrailingZeros(uint(size)))
	mask := uint64(size - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		p := k.home(s.key)
		for k.slots[p&mask].number != 0 {
			p++
		}
		k.slots[p&mask] = s
	}
}

// Count estimates the number of distinct elements under key; 0 for a key that
// was never added to.
func (k *Keyed) Count(key uint64) uint64 {
	i, ok := k.find(key)
	if !ok {
		return 0
	}
	return k.pool.Count(i)
}

// Sketch returns a copy of key's sketch, or nil.
func (k *Keyed) Sketch(key uint64) *Sketch {
	i, ok := k.find(key)
	if !ok {
		return nil
	}
	return k.pool.Sketch(i)
}

// Reset removes all keys and keeps the memory for the next ones.
func (k *Keyed) Reset() {
	clear(k.slots)
	k.pool.Reset()
}

// Bytes is the memory held, index included.
func (k *Keyed) Bytes() int {
	own := unsafe.Sizeof(*k) - unsafe.Sizeof(k.pool)
	return int(own) + cap(k.slots)*int(unsafe.Sizeof(slot{})) + k.pool.Bytes()
}
