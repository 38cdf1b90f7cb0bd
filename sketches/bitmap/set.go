package bitmap

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"weir/internal/hashtable"
	"weir/sketches/internal/groupbitmap"
	"weir/sketches/internal/slab"
)

// A set is the last form of a pool's set: chunks by the upper half of the
// values, found through a small hash table. The table is asked for each value
// that is added, so it is half empty and has slots of four bytes:
// hashtable.Table takes twice as long to find a chunk (BenchmarkDirectory),
// which makes adding a value a tenth slower.
type set struct {
	n     int
	dir   []uint32 // open addressing by upper half: number of the chunk + 1, 0 = free
	shift uint8    // 32 - log2(len(dir)): brings a hash to an index of dir
	have  []chunk
}

// A chunk holds the lower halves of the values with one upper half.
//
// Invariants: n counts the members, zero included; a table (form < words) has
// at most 3/4 of its slots in use and keeps 0, which marks a free slot, in
// the flag instead.
type chunk struct {
	key  uint16
	form uint8 // table of 4 << form slots; chunkWords: a bitmap
	zero bool
	n    int32
	ref  uint32
}

// chunkWords is the form after the largest table, of 2048 slots: with 4096
// slots of 2 bytes a table would be as large as the bitmap.
const (
	chunkWords = 10
	tableMin   = 1 << tableBits
	tableBits  = 2
	tableMax   = tableMin << (chunkWords - 1) * 3 / 4
	wordsLen   = 1 << 16 / 64
	dirMin     = 8
)

// boxes holds the chunks of a pool's sets.
type boxes struct {
	made   bool
	tables [chunkWords]slab.Slab[uint16]
	words  slab.Slab[uint64]
	lists  int // bytes of all sets' dir and have

	order *[wordsLen]uint64 // scratch of sort: zeros between two calls
}

func (b *boxes) init() {
	b.made = true
	for i := range b.tables {
		b.tables[i] = slab.New[uint16](tableMin << i)
	}
	b.words = slab.New[uint64](wordsLen)
}

// sort sorts lower halves. If they are many, it sets their bits in a bitmap and
// reads the bits in order, which costs a microsecond or two for any number of
// them.
func (b *boxes) sort(low []uint16) {
	if len(low) < 100 {
		slices.Sort(low)
		return
	}
	if b.order == nil {
		b.order = new([wordsLen]uint64)
	}
	for _, v := range low {
		b.order[v>>6] |= 1 << (v & 63)
	}
	n := 0
	for i, w := range b.order {
		for ; w != 0; w &= w - 1 {
			low[n] = uint16(i<<6 | bits.TrailingZeros64(w))
			n++
		}
	}
	clear(b.order[:])
}

func (b *boxes) reset() {
	for i := range b.tables {
		b.tables[i].Reset()
	}
	b.words.Reset()
}

func (b *boxes) bytes() int {
	n := b.words.Bytes() + b.lists
	for i := range b.tables {
		n += b.tables[i].Bytes()
	}
	return n
}

func (s *set) reset() {
	clear(s.dir)
	s.n, s.have = 0, s.have[:0]
}

// find returns the chunk of an upper half, or nil.
func (s *set) find(key uint16) *chunk {
	if len(s.dir) == 0 {
		return nil
	}
	mask := uint32(len(s.dir) - 1)
	for at := hash16(uint32(key)) >> (s.shift & 31); ; at++ {
		c := s.dir[at&mask]
		if c == 0 {
			return nil
		}
		if s.have[c-1].key == key {
			return &s.have[c-1]
		}
	}
}

// need returns the chunk of an upper half, and makes an empty one if there is
// none.
func (s *set) need(b *boxes, key uint16) *chunk {
	if c := s.find(key); c != nil {
		return c
	}
	held := 4*cap(s.dir) + cap(s.have)*int(unsafe.Sizeof(chunk{}))
	if 2*(len(s.have)+1) > len(s.dir) {
		s.dir = make([]uint32, max(dirMin, 2*len(s.dir)))
		s.shift = uint8(32 - bits.TrailingZeros(uint(len(s.dir))))
		for i := range s.have {
			s.point(s.have[i].key, uint32(i+1))
		}
	}
	s.have = append(s.have, chunk{key: key, ref: b.tables[0].Alloc()})
	s.point(key, uint32(len(s.have)))
	b.lists += 4*cap(s.dir) + cap(s.have)*int(unsafe.Sizeof(chunk{})) - held
	return &s.have[len(s.have)-1]
}

// point enters a chunk into the directory, which has room.
func (s *set) point(key uint16, c uint32) {
	mask := uint32(len(s.dir) - 1)
	at := hash16(uint32(key)) >> s.shift
	for s.dir[at&mask] != 0 {
		at++
	}
	s.dir[at&mask] = c
}

func (s *set) add(b *boxes, v uint32) {
	if s.need(b, uint16(v>>16)).add(b, uint16(v)) {
		s.n++
	}
}

func (s *set) has(b *boxes, v uint32) bool {
	c := s.find(uint16(v >> 16))
	return c != nil && c.has(b, uint16(v))
}

// add puts a lower half into the chunk and reports whether it is new.
func (c *chunk) add(b *boxes, v uint16) bool {
	if c.form == chunkWords {
		w := &b.words.Run(c.ref)[v>>6]
		m := uint64(1) << (v & 63)
		if *w&m != 0 {
			return false
		}
		*w |= m
		c.n++
		return true
	}
	if v == 0 {
		if c.zero {
			return false
		}
		c.zero = true
		c.n++
		return true
	}
	t := b.tables[c.form].Run(c.ref)
	at, found := probe(t, c.form, v)
	if found {
		return false
	}
	t[at] = v
	c.n++
	if int(c.n)*4 > len(t)*3 {
		c.widen(b)
	}
	return true
}

// probe finds v in a table of a form, or the free slot where it belongs.
func probe(t []uint16, form uint8, v uint16) (at int, found bool) {
	return hashtable.Probe(t, hash16(uint32(v))>>((32-tableBits-form)&31), v)
}

func (c *chunk) has(b *boxes, v uint16) bool {
	switch {
	case c.form == chunkWords:
		return b.words.Run(c.ref)[v>>6]>>(v&63)&1 != 0
	case v == 0:
		return c.zero
	}
	_, found := probe(b.tables[c.form].Run(c.ref), c.form, v)
	return found
}

// widen moves the chunk's table into one of twice the size, or into a bitmap.
func (c *chunk) widen(b *boxes) {
	old, from := *c, b.tables[c.form].Run(c.ref)
	c.form++
	if c.form == chunkWords {
		c.ref = b.words.Alloc()
		w := b.words.Run(c.ref)
		for _, v := range from {
			w[v>>6] |= 1 << (v & 63)
		}
		if !c.zero { // free slots are 0, and set bit 0
			w[0] &^= 1
		}
	} else {
		c.ref = b.tables[c.form].Alloc()
		to := b.tables[c.form].Run(c.ref)
		for _, v := range from {
			if v != 0 {
				at, _ := probe(to, c.form, v)
				to[at] = v
			}
		}
	}
	b.tables[old.form].Free(old.ref)
}

// merge puts q's members into s. The boxes may be the same.
func (s *set) merge(b *boxes, q *set, qb *boxes) {
	for i := range q.have {
		from := &q.have[i]
		to := s.need(b, from.key)
		before := to.n
		to.merge(b, from, qb)
		s.n += int(to.n - before)
	}
}

func (c *chunk) merge(b *boxes, q *chunk, qb *boxes) {
	// A table is read in the order of its members' hashes. In a smaller table
	// these would all lie beside each other and make long searches, so c grows
	// first.
	for c.form < q.form {
		c.widen(b)
	}
	if q.form != chunkWords {
		if q.zero {
			c.add(b, 0)
		}
		for _, v := range qb.tables[q.form].Run(q.ref) {
			if v != 0 {
				c.add(b, v)
			}
		}
		return
	}
	dst, src := b.words.Run(c.ref), qb.words.Run(q.ref)
	for i := range dst {
		dst[i] |= src[i]
	}
	c.n = ones(dst)
}

// mergePart adds a part of a stored state to s. The part is too large for a
// table.
func (s *set) mergePart(b *boxes, part groupbitmap.Part) {
	c := s.need(b, part.Key)
	before := c.n
	for c.form < chunkWords {
		c.widen(b)
	}
	w := b.words.Run(c.ref)
	part.Or(w)
	c.n = ones(w)
	s.n += int(c.n - before)
}

func ones(words []uint64) (n int32) {
	for _, w := range words {
		n += int32(bits.OnesCount64(w))
	}
	return n
}

// chunks lists the set for the writer of states: chunks in ascending order,
// tables as sorted lists in low.
func (s *set) chunks(b *boxes, out []groupbitmap.Chunk, low []uint16) ([]groupbitmap.Chunk, []uint16) {
	need := 0
	for i := range s.have {
		if s.have[i].form != chunkWords {
			need += int(s.have[i].n)
		}
	}
	low = slices.Grow(low, need) // so that no later append moves what a chunk points to
	for i := range s.have {
		c := &s.have[i]
		g := groupbitmap.Chunk{Key: c.key, Card: int(c.n)}
		if c.form == chunkWords {
			g.Words = b.words.Run(c.ref)
		} else {
			from := len(low)
			if c.zero {
				low = append(low, 0)
			}
			for _, v := range b.tables[c.form].Run(c.ref) {
				if v != 0 {
					low = append(low, v)
				}
			}
			g.Low = low[from:len(low):len(low)]
			b.sort(g.Low)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b groupbitmap.Chunk) int { return cmp.Compare(a.Key, b.Key) })
	return out, low
}
