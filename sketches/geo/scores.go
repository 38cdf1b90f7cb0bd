package geo

import (
	"hash/maphash"
	"slices"
)

// scores finds members: a hash table with open addressing and linear probing.
// A map of many members that are known at once takes more than twice as long to
// make. The zero value is empty and ready.
type scores struct {
	slots []uint64 // 32 bits of hash, 32 of number + 1; 0 is free
	all   []entry  // by number
	freed []uint32 // numbers of members that were removed
}

// seed keeps clients from crafting members that collide.
var seed = maphash.MakeSeed()

// newScores takes over distinct members.
func newScores(all []entry) scores {
	s := scores{all: all}
	s.grow(len(all))
	for i := range all {
		s.link(uint32(maphash.String(seed, all[i].member)), uint32(i))
	}
	return s
}

func (s *scores) len() int { return len(s.all) - len(s.freed) }

// get is a member, valid until the next put or delete; nil: it is not there.
func (s *scores) get(member []byte) *entry {
	if i, ok := find(s, uint32(maphash.Bytes(seed, member)), member); ok {
		return &s.all[uint32(s.slots[i])-1]
	}
	return nil
}

// put adds a member that is not there.
func (s *scores) put(e entry) {
	s.grow(s.len() + 1)
	number := uint32(len(s.all))
	if n := len(s.freed) - 1; n >= 0 {
		number, s.freed = s.freed[n], s.freed[:n]
		s.all[number] = e
	} else {
		s.all = append(s.all, e)
	}
	s.link(uint32(maphash.String(seed, e.member)), number)
}

// delete removes a member that is there.
func (s *scores) delete(member string) {
	gap, _ := find(s, uint32(maphash.String(seed, member)), member)
	number := uint32(s.slots[gap]) - 1
	s.all[number] = entry{}
	s.freed = append(s.freed, number)
	// Those behind that would be in the gap if it had been free move up.
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
		*s = newScores(held)
	}
}

// clone is an independent copy.
func (s *scores) clone() scores {
	return scores{slices.Clone(s.slots), slices.Clone(s.all), slices.Clone(s.freed)}
}

// find is the slot of a member.
func find[M string | []byte](s *scores, hash uint32, member M) (slot int, ok bool) {
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
func (s *scores) link(hash, number uint32) {
	mask := len(s.slots) - 1
	i := int(hash) & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = uint64(hash)<<32 | uint64(number+1)
}

// grow makes room for n members, three quarters of the slots at most.
func (s *scores) grow(n int) {
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

// bytes is the memory held, without the members' own.
func (s *scores) bytes() int { return 8*cap(s.slots) + 24*cap(s.all) + 4*cap(s.freed) }
