package geo

import (
	"hash/maphash"
	"slices"
)

// scores maps members to scores. It is one table while it has few members, or if
// all members were known at once. A large table would take long to grow (20 ms
// with a million members), so scores divides it by the first bits of the hash
// into parts, which grow one at a time. The zero value is empty and ready.
type scores struct {
	one   table
	parts []table // scoreParts of them, or nil
	n     int     // members in the parts
}

const (
	scoreParts = 256
	scoreSplit = 1 << 15 // members from which on a table that must grow is cut
)

// newScores takes over distinct members.
func newScores(all []entry) scores { return scores{one: newTable(all)} }

func (s *scores) len() int {
	if s.parts != nil {
		return s.n
	}
	return s.one.len()
}

// of returns the table of a hash.
func (s *scores) of(hash uint32) *table {
	if s.parts != nil {
		return &s.parts[hash>>24]
	}
	return &s.one
}

// get returns a member, valid until the next put or delete; nil: it is not there.
func (s *scores) get(member []byte) *entry {
	hash := uint32(maphash.Bytes(seed, member))
	return s.of(hash).get(hash, member)
}

// put adds a member that is not there.
func (s *scores) put(e entry) {
	if s.parts == nil && s.one.len() >= scoreSplit && s.one.full() {
		s.split()
	}
	hash := uint32(maphash.String(seed, e.member))
	if s.of(hash).put(hash, e); s.parts != nil {
		s.n++
	}
}

// split cuts the table into parts.
func (s *scores) split() {
	s.parts, s.n = make([]table, scoreParts), s.one.len()
	for i := range s.parts {
		s.parts[i].grow(2 * s.n / scoreParts)
	}
	for _, slot := range s.one.slots {
		if slot != 0 {
			hash := uint32(slot >> 32)
			s.of(hash).put(hash, s.one.all[uint32(slot)-1])
		}
	}
	s.one = table{}
}

// delete removes a member that is there.
func (s *scores) delete(member string) {
	hash := uint32(maphash.String(seed, member))
	if s.of(hash).delete(hash, member); s.parts != nil {
		s.n--
	}
}

// clone returns an independent copy.
func (s *scores) clone() scores {
	c := scores{one: s.one.clone(), parts: slices.Clone(s.parts), n: s.n}
	for i := range c.parts {
		c.parts[i] = s.parts[i].clone()
	}
	return c
}

// bytes returns the memory held, without the members' own.
func (s *scores) bytes() int {
	n := s.one.bytes()
	for i := range s.parts {
		n += s.parts[i].bytes()
	}
	return n
}

// A table finds members: a hash table with open addressing and linear probing.
// A map of many members that are known at once takes more than twice as long to
// make. The zero value is empty and ready.
type table struct {
	slots []uint64 // 32 bits of hash, 32 of number + 1; 0 is free
	all   []entry  // by number
	freed []uint32 // numbers of members that were removed
}

// seed is random, so that clients cannot craft members that collide.
var seed = maphash.MakeSeed()

// newTable takes over distinct members.
func newTable(all []entry) table {
	s := table{all: all}
	s.grow(len(all))
	for i := range all {
		s.link(uint32(maphash.String(seed, all[i].member)), uint32(i))
	}
	return s
}

func (s *table) len() int { return len(s.all) - len(s.freed) }

// get returns a member, valid until the next put or delete; nil: it is not there.
func (s *table) get(hash uint32, member []byte) *entry {
	if i, ok := find(s, hash, member); ok {
		return &s.all[uint32(s.slots[i])-1]
	}
	return nil
}

// put adds a member that is not there.
func (s *table) put(hash uint32, e entry) {
	s.grow(s.len() + 1)
	number := uint32(len(s.all))
	if n := len(s.freed) - 1; n >= 0 {
		number, s.freed = s.freed[n], s.freed[:n]
		s.all[number] = e
	} else {
		s.all = append(s.all, e)
	}
	s.link(hash, number)
}

// delete removes a member that is there.
func (s *table) delete(hash uint32, member string) {
	gap, _ := find(s, hash, member)
	number := uint32(s.slots[gap]) - 1
	s.all[number] = entry{}
	s.freed = append(s.freed, number)
	// Entries behind the gap move up if their search starts at it or before it.
	mask := len(s.slots) - 1
	for i := (gap + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if home := int(s.slots[i]>>32) & mask; (i-home)&mask >= (i-gap)&mask {
			s.slots[gap], gap = s.slots[i], i
		}
	}
	s.slots[gap] = 0
	if len(s.all) >= 64 && 4*s.len() < len(s.all) { // gives memory back
		held := make([]entry, 0, s.len())
		for _, slot := range s.slots {
			if slot != 0 {
				held = append(held, s.all[uint32(slot)-1])
			}
		}
		*s = newTable(held)
	}
}

// clone returns an independent copy.
func (s *table) clone() table {
	return table{slices.Clone(s.slots), slices.Clone(s.all), slices.Clone(s.freed)}
}

// find is the slot of a member.
func find[M string | []byte](s *table, hash uint32, member M) (slot int, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := len(s.slots) - 1
	for i := int(hash) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if slot := s.slots[i]; uint32(slot>>32) == hash && s.all[uint32(slot)-1].member == string(member) {
			return i, true
		}
	}
	return 0, false
}

// link gives a number the first free slot.
func (s *table) link(hash, number uint32) {
	mask := len(s.slots) - 1
	i := int(hash) & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = uint64(hash)<<32 | uint64(number+1)
}

// full reports whether one member more would make it grow.
func (s *table) full() bool { return 4*(s.len()+1) > 3*len(s.slots) }

// grow makes room for n members, three quarters of the slots at most.
func (s *table) grow(n int) {
	if 4*n <= 3*len(s.slots) {
		return
	}
	size := max(8, 2*len(s.slots))
	for 4*n > 3*size {
		size *= 2
	}
	old := s.slots
	s.slots = make([]uint64, size)
	for _, slot := range old {
		if slot != 0 {
			s.link(uint32(slot>>32), uint32(slot)-1)
		}
	}
}

// bytes returns the memory held, without the members' own.
func (s *table) bytes() int { return 8*cap(s.slots) + 24*cap(s.all) + 4*cap(s.freed) }
