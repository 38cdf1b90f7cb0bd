package geo

import (
	"hash/maphash"

	"weir/internal/hashtable"
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
		return &s.parts[hash>>23%scoreParts]
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
	if s.parts == nil && s.one.len() >= scoreSplit && s.one.index.Full() {
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
		s.parts[i].index.Grow(2 * s.n / scoreParts)
	}
	for hash, number := range s.one.index.All {
		s.of(hash).put(hash, s.one.all[number])
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

// A table finds members. A map of many members that are known at once takes more than
// twice as long to make. The zero value is empty and ready.
type table struct {
	index hashtable.Table[uint32] // numbers by members
	all   []entry                 // by number
	freed []uint32                // numbers of members that were removed
}

// seed is random, so that clients cannot craft members that collide.
var seed = maphash.MakeSeed()

// newTable takes over distinct members.
func newTable(all []entry) table {
	s := table{all: all}
	s.index.Grow(len(all))
	for i := range all {
		s.index.Add(uint32(maphash.String(seed, all[i].member)), uint32(i))
	}
	return s
}

func (s *table) len() int { return s.index.Len() }

// get returns a member, valid until the next put or delete; nil: it is not there.
func (s *table) get(hash uint32, member []byte) *entry {
	if at := find(s, hash, member); at >= 0 {
		return &s.all[*s.index.At(at)]
	}
	return nil
}

// put adds a member that is not there.
func (s *table) put(hash uint32, e entry) {
	number := uint32(len(s.all))
	if n := len(s.freed) - 1; n >= 0 {
		number, s.freed = s.freed[n], s.freed[:n]
		s.all[number] = e
	} else {
		s.all = append(s.all, e)
	}
	s.index.Add(hash, number)
}

// delete removes a member that is there.
func (s *table) delete(hash uint32, member string) {
	at := find(s, hash, member)
	number := *s.index.At(at)
	s.index.Remove(at)
	s.all[number] = entry{}
	s.freed = append(s.freed, number)
	if len(s.all) >= 64 && 4*s.len() < len(s.all) { // gives memory back
		held := make([]entry, 0, s.len())
		for _, number := range s.index.All {
			held = append(held, s.all[number])
		}
		*s = newTable(held)
	}
}

// find returns the slot of a member, or a negative number.
func find[M string | []byte](s *table, hash uint32, member M) (at int) {
	for at = s.index.First(hash); at >= 0; at = s.index.Next(at) {
		if s.all[*s.index.At(at)].member == string(member) {
			break
		}
	}
	return at
}
