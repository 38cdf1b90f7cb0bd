package redis

import (
	"bytes"
	"hash/maphash"
	"math"

	"weir/internal/hashtable"
)

// A hashset is the value of a set key. It numbers its members without gaps, so that a random
// one costs the same in any set, and finds the number of a member by its hash. A removed
// member gives its number to the last one.
//
// No step takes long, however many members there are: they live in chunks, and the index
// of a large set is divided by the hashes into parts, which grow one at a time.
//
// A member of ten bytes takes about 30 bytes. The zero value is empty and ready.
type hashset struct {
	chunks []*chunk // all full but the last one
	n      int      // members
	text   int      // bytes of the members
	held   int      // bytes allocated, without the slice of chunks

	one   hashtable.Table[uint32]   // numbers by hashes, unless there are parts
	parts []hashtable.Table[uint32] // setParts of them, or nil
}

const (
	setParts = 256
	setSplit = 1 << 15 // members from which on an index that must grow is divided
)

// setSeed is random, so that clients cannot craft members that collide. All sets share
// it: a member that is sought in many sets is hashed once.
var setSeed = maphash.MakeSeed()

func hashMember(member []byte) uint32 { return uint32(maphash.Bytes(setSeed, member)) }

// table returns the part of the index for a hash.
func (s *hashset) table(hash uint32) *hashtable.Table[uint32] {
	if s.parts != nil {
		return &s.parts[hash>>23%setParts]
	}
	return &s.one
}

// member returns a member by its number, 0 ≤ number < n. It is valid until the set
// changes.
func (s *hashset) member(number int) []byte {
	return s.chunks[number/chunkLen].member(number % chunkLen)
}

// all yields every member, valid until the set changes.
func (s *hashset) all(yield func(member []byte) bool) {
	for _, c := range s.chunks {
		for i := range c.at {
			if !yield(c.member(i)) {
				return
			}
		}
	}
}

// has reports whether a member with this hash is there.
func (s *hashset) has(hash uint32, member []byte) bool {
	return s.slot(s.table(hash), hash, member) >= 0
}

// slot returns the slot of a member in its part of the index, or a negative number for
// Insert.
func (s *hashset) slot(t *hashtable.Table[uint32], hash uint32, member []byte) (at int) {
	for at = t.First(hash); at >= 0; at = t.Next(at) {
		if bytes.Equal(s.member(int(*t.At(at))), member) {
			break
		}
	}
	return at
}

// add adds a member and reports whether it is new.
func (s *hashset) add(member []byte) bool {
	hash := hashMember(member)
	t := s.table(hash)
	at := s.slot(t, hash, member)
	if at >= 0 {
		return false
	}
	if s.parts == nil && s.n >= setSplit && s.one.Full() {
		s.split()
		t = s.table(hash)
		at = t.First(hash)
		for at >= 0 { // another member with this hash
			at = t.Next(at)
		}
	}
	before := t.Bytes()
	t.Insert(at, hash, uint32(s.n))
	s.held += t.Bytes() - before

	if s.n%chunkLen == 0 {
		c := new(chunk)
		s.chunks = append(s.chunks, c)
		s.held += c.memory()
	}
	c := s.chunks[s.n/chunkLen]
	before = c.memory()
	if len(member) >= isLong {
		c.push(bytes.Clone(member))
	} else {
		c.push(member)
	}
	s.held += c.memory() - before
	s.n++
	s.text += len(member)
	return true
}

// split divides the index into parts.
func (s *hashset) split() {
	s.held -= s.one.Bytes()
	s.parts = make([]hashtable.Table[uint32], setParts)
	for i := range s.parts {
		s.parts[i].Grow(2 * s.n / setParts)
	}
	for hash, number := range s.one.All {
		s.table(hash).Add(hash, number)
	}
	s.one = hashtable.Table[uint32]{}
	for i := range s.parts {
		s.held += s.parts[i].Bytes()
	}
}

// join makes one index of the parts again.
func (s *hashset) join() {
	s.one.Grow(s.n)
	for i := range s.parts {
		s.held -= s.parts[i].Bytes()
		for hash, number := range s.parts[i].All {
			s.one.Add(hash, number)
		}
	}
	s.parts = nil
	s.held += s.one.Bytes()
}

// remove removes a member and reports whether it was there.
func (s *hashset) remove(member []byte) bool {
	hash := hashMember(member)
	t := s.table(hash)
	at := s.slot(t, hash, member)
	if at >= 0 {
		s.free(t, at)
	}
	return at >= 0
}

// removeNumber removes a member by its number.
func (s *hashset) removeNumber(number int) { s.free(s.place(number)) }

// place returns where the index has a number.
func (s *hashset) place(number int) (t *hashtable.Table[uint32], at int) {
	hash := hashMember(s.member(number))
	t = s.table(hash)
	for at = t.First(hash); *t.At(at) != uint32(number); at = t.Next(at) {
	}
	return t, at
}

// free removes the member in a slot of the index and gives its number to the last one.
func (s *hashset) free(t *hashtable.Table[uint32], at int) {
	number, last := int(*t.At(at)), s.n-1
	s.text -= len(s.member(number))
	before := t.Bytes()
	t.Remove(at)
	shrink(t)
	s.held += t.Bytes() - before

	to, end := s.chunks[number/chunkLen], s.chunks[last/chunkLen]
	if number != last {
		t, at := s.place(last)
		*t.At(at) = uint32(number)
		before := to.memory()
		to.replace(number%chunkLen, s.member(last))
		s.held += to.memory() - before
	}
	before = end.memory()
	end.pop()
	s.held += end.memory() - before
	s.n--
	if len(end.at) == 0 {
		s.held -= end.memory()
		s.chunks[len(s.chunks)-1] = nil
		s.chunks = s.chunks[:len(s.chunks)-1]
	}
	if s.parts != nil && s.n < setSplit/8 {
		s.join()
	}
}

// shrink gives back the memory of a part of the index that is nearly empty.
func shrink(t *hashtable.Table[uint32]) {
	const slot, little = 8, 1 << 10
	if t.Bytes() > little && t.Bytes() > 8*slot*t.Len() {
		var small hashtable.Table[uint32]
		small.Grow(t.Len())
		for hash, number := range t.All {
			small.Add(hash, number)
		}
		*t = small
	}
}

// memory returns how many bytes the set takes.
func (s *hashset) memory() int {
	const itself = 128
	return itself + s.held + 8*cap(s.chunks) + 32*len(s.parts)
}

// scan visits up to n members from a cursor on, 0 being the start, and returns the next
// cursor, 0 at the end. It ends before a member for which visit returns false. It walks
// from the last number to the first, for the reason that store.scan gives.
func (s *hashset) scan(cursor uint64, n int, visit func(member []byte) (more bool)) (next uint64) {
	at := s.n
	if cursor != 0 && cursor < uint64(at) {
		at = int(cursor)
	}
	for ; at > 0 && n > 0 && visit(s.member(at-1)); n-- {
		at--
	}
	return uint64(at)
}

// A chunk is some members one behind the other, without a pointer for each: the garbage
// collector does not look at them.
type chunk struct {
	at    []uint16 // where each member begins in bytes
	bytes []byte   // for each member a byte with its length, then the member
	dead  int      // how many of the bytes belong to no member

	long      [][]byte // by number: the members with the length isLong, which are not in bytes
	longBytes int
}

const (
	chunkLen = 128
	isLong   = math.MaxUint8 // a member of at least so many bytes is kept apart
)

func (c *chunk) member(i int) []byte {
	at := int(c.at[i])
	n := int(c.bytes[at])
	if n == isLong {
		return c.long[i]
	}
	return c.bytes[at+1 : at+1+n : at+1+n]
}

// push adds a member behind the others. It keeps the slice of a long one.
func (c *chunk) push(member []byte) {
	c.at = append(c.at, 0)
	c.store(len(c.at)-1, member)
	if len(c.at) == chunkLen { // it grows no more
		c.bytes = append(make([]byte, 0, len(c.bytes)), c.bytes...)
	}
}

// replace puts a member in the place of another one.
func (c *chunk) replace(i int, member []byte) {
	c.forget(i)
	c.store(i, member)
}

// pop removes the last member.
func (c *chunk) pop() {
	last := len(c.at) - 1
	c.forget(last)
	c.at = c.at[:last]
	c.long = c.long[:min(last, len(c.long))]
	c.pack()
}

// store writes a member, which may lie in this chunk. The number is in use.
func (c *chunk) store(i int, member []byte) {
	n := min(len(member), isLong)
	if n == isLong {
		for len(c.long) <= i {
			c.long = append(c.long, nil)
		}
		c.long[i] = member
		c.longBytes += allocated(len(member))
		member = nil
	}
	c.at[i] = uint16(len(c.bytes))
	c.bytes = append(append(c.bytes, byte(n)), member...)
	c.pack()
}

// forget makes the bytes of a member dead.
func (c *chunk) forget(i int) {
	c.dead++
	if n := int(c.bytes[c.at[i]]); n < isLong {
		c.dead += n
	} else {
		c.longBytes -= allocated(len(c.long[i]))
		c.long[i] = nil
	}
}

// pack drops the dead bytes if they are more than half. So there are never more bytes
// than an offset counts: the members of a full chunk have at most half as many.
func (c *chunk) pack() {
	const little = 64
	if c.dead < little || 2*c.dead < len(c.bytes) {
		return
	}
	live := make([]byte, 0, len(c.bytes)-c.dead)
	for i, at := range c.at {
		end := int(at) + 1
		if n := int(c.bytes[at]); n < isLong {
			end += n
		}
		c.at[i] = uint16(len(live))
		live = append(live, c.bytes[at:end]...)
	}
	c.bytes, c.dead = live, 0
}

// memory returns how many bytes the chunk takes.
func (c *chunk) memory() int {
	const itself = 96
	return itself + 2*cap(c.at) + cap(c.bytes) + 24*cap(c.long) + c.longBytes
}
