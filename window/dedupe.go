package window

import (
	"crypto/sha256"
	"encoding/binary"

	"weir/sketches/bloom"
)

// An id stands for the text of an id or a key. It is zero for none.
type id [2]uint64

// exactID returns the first 128 bits of the SHA-256 of a text: two texts with the same
// bits are not known, and cannot be crafted as those of a hash table's function can.
func exactID(text []byte) id {
	sum := sha256.Sum256(text)
	h := id{binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])}
	if h == (id{}) { // the mark of a free slot
		h[0] = 1
	}
	return h
}

// A memory holds the ids of one chunk.
type memory interface {
	// TestAndAdd adds an id and reports whether it was there.
	TestAndAdd(id) bool
	Has(id) bool
	Reset()
	Bytes() int
}

// newMemory returns an empty memory, and nil without dedupe.
func newMemory(s *Spec) memory {
	switch d := s.Dedupe; {
	case d == nil:
		return nil
	case d.Exact:
		return new(exactMemory)
	default:
		// Both filters are asked about each new id, so each gets half of the error.
		return bloomMemory{bloom.New(int(s.Chunk), d.Error/2)}
	}
}

// of returns the id that the memories of a job keep for a text.
func (d *Dedupe) of(text []byte) id {
	if d.Exact {
		return exactID(text)
	}
	return id{bloom.Hash(text)}
}

// bloomMemory knows an id by a few bits of a filter.
type bloomMemory struct{ filter *bloom.Filter }

func (m bloomMemory) TestAndAdd(i id) bool { return m.filter.TestAndAdd(i[0]) }
func (m bloomMemory) Has(i id) bool        { return m.filter.Has(i[0]) }
func (m bloomMemory) Reset()               { m.filter.Reset() }
func (m bloomMemory) Bytes() int           { return m.filter.Bytes() }

// exactMemory keeps the ids themselves, in a hash table with open addressing and linear
// probing. A power of two of slots, of 16 bytes each, is at most three quarters full.
type exactMemory struct {
	slots []id
	n     int
}

// find returns the slot of an id, or the free one where it belongs. There is a slot.
func (m *exactMemory) find(i id) (at int, found bool) {
	mask := len(m.slots) - 1
	for at = int(i[0]) & mask; ; at = (at + 1) & mask {
		switch m.slots[at] {
		case i:
			return at, true
		case id{}:
			return at, false
		}
	}
}

func (m *exactMemory) TestAndAdd(i id) bool {
	if 4*(m.n+1) > 3*len(m.slots) {
		m.grow()
	}
	at, found := m.find(i)
	if !found {
		m.slots[at] = i
		m.n++
	}
	return found
}

func (m *exactMemory) grow() {
	old := m.slots
	m.slots = make([]id, max(64, 2*len(old)))
	for _, i := range old {
		if i != (id{}) {
			at, _ := m.find(i)
			m.slots[at] = i
		}
	}
}

func (m *exactMemory) Has(i id) bool {
	if m.n == 0 {
		return false
	}
	_, found := m.find(i)
	return found
}

func (m *exactMemory) Reset() {
	clear(m.slots)
	m.n = 0
}

func (m *exactMemory) Bytes() int { return cap(m.slots) * 16 }
