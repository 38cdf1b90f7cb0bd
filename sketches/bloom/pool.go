package bloom

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"weir/internal/hashtable"
	"weir/sketches/internal/groupbitmap"
	"weir/sketches/internal/slab"
)

// A Pool holds many split-block filters of one shape, addressed by a dense
// index 0..Len()-1: for example one per open (window, group). Because they have
// one shape, they merge exactly, by OR.
//
// A window often adds only a few items to a large filter between two flushes.
// So a filter starts as a set of hashes, at first a short list, then a hash
// table. It becomes an array of bits only when the next larger table would not
// be smaller.
//
// A Pool is not safe for concurrent use. Use NewPool.
type Pool struct {
	blocks uint64
	ents   []entry
	tables []slab.Slab[uint64] // runs of 2 << form hashes
	words  slab.Slab[uint64]

	touched uint64 // see touch

	scratch []uint64 // a filter of zeros between two calls of AppendClickHouse
	posns   []uint32
	chunks  []groupbitmap.Chunk
	low     []uint16
}

// An entry is one filter. With form < len(tables) it is a set of n hashes in a
// run of that form: a list in the first listForms, an open-addressing table
// above. A free slot is 0. With form = len(tables) it is an array of bits, and
// n only says that it is not empty.
type entry struct {
	ref  uint32
	n    uint32
	form uint8
}

// The first forms, of 2, 4 and 8 hashes, are lists.
const listForms = 3

// NewPool returns an empty pool of filters for capacity items at error err
// each. It panics where Bits returns an error.
func NewPool(capacity int, err float64) *Pool {
	p := &Pool{blocks: mustBits(capacity, err) / blockBits}
	size := int(p.blocks) * blockWords
	for run := 2; run < size; run *= 2 {
		p.tables = append(p.tables, slab.New[uint64](run))
	}
	p.words = slab.New[uint64](size)
	return p
}

// Bits returns the size of each filter in bits: the third argument of weirBloomHas.
func (p *Pool) Bits() uint64 { return p.blocks * blockBits }

// Grow makes the indexes 0..n-1 valid; new filters are empty. It never shrinks.
func (p *Pool) Grow(n int) {
	if n > len(p.ents) {
		p.ents = slices.Grow(p.ents, n-len(p.ents))[:n]
	}
}

// Len returns the number of filters.
func (p *Pool) Len() int { return len(p.ents) }

// Reset drops every filter and keeps most of the memory for the next ones.
func (p *Pool) Reset() {
	clear(p.ents)
	p.ents = p.ents[:0]
	for i := range p.tables {
		p.tables[i].Reset()
	}
	p.words.Reset()
}

// Bytes returns the memory the pool holds.
func (p *Pool) Bytes() int {
	n := cap(p.ents)*int(unsafe.Sizeof(entry{})) + p.words.Bytes() +
		cap(p.scratch)*8 + cap(p.posns)*4 + cap(p.low)*2 +
		cap(p.chunks)*int(unsafe.Sizeof(groupbitmap.Chunk{}))
	for i := range p.tables {
		n += p.tables[i].Bytes()
	}
	return n
}

// Add puts the item of hash h into filter i.
func (p *Pool) Add(i uint32, h uint64) {
	e := &p.ents[i]
	if p.dense(e) {
		set(p.words.Run(e.ref), h)
		return
	}
	h = nonzero(h)
	if e.n == 0 {
		p.start(e, h)
		return
	}
	t := p.tables[e.form].Run(e.ref)
	if e.form < listForms {
		if slices.Contains(t[:e.n], h) {
			return
		}
		if int(e.n) < len(t) {
			t[e.n] = h
			e.n++
			return
		}
		p.widen(e)
		p.Add(i, h)
		return
	}
	at, found := hashtable.Probe(t, uint32(h), h)
	if found {
		return
	}
	t[at] = h
	e.n++
	if int(e.n)*4 > len(t)*3 {
		p.widen(e)
	}
}

// AddBatch puts the item of hashes[k] into filter idx[k], for every k. The
// slices have the same length. It is faster than as many Adds when the caches
// do not hold all filters: it first reads the memory that a block of additions
// needs, so that the cache misses overlap, and then adds.
func (p *Pool) AddBatch(idx []uint32, hashes []uint64) {
	hashes = hashes[:len(idx)]
	if p.Bytes() < touchFrom {
		for k, i := range idx {
			p.Add(i, hashes[k])
		}
		return
	}
	for len(idx) > 0 {
		n := min(touchBlock, len(idx))
		p.touched += p.touch(idx[:n], hashes)
		for k, i := range idx[:n] {
			p.Add(i, hashes[k])
		}
		idx, hashes = idx[n:], hashes[n:]
	}
}

const (
	touchBlock = 64      // additions whose memory is read ahead at once
	touchFrom  = 1 << 20 // bytes; less is in the caches anyway
)

// touch reads the entry of each filter and the word where the hash belongs. The
// sum keeps the compiler from leaving the reads out.
func (p *Pool) touch(idx []uint32, hashes []uint64) (sum uint64) {
	for _, i := range idx {
		sum += uint64(p.ents[i].n)
	}
	for k, i := range idx {
		e := &p.ents[i]
		switch {
		case e.n == 0:
		case p.dense(e):
			sum += p.words.Run(e.ref)[block(hashes[k], p.blocks)*blockWords]
		default:
			run := p.tables[e.form].Run(e.ref)
			sum += run[hashes[k]&uint64(len(run)-1)]
		}
	}
	return sum
}

func (p *Pool) dense(e *entry) bool { return int(e.form) == len(p.tables) }

// start makes the first run of an empty filter.
func (p *Pool) start(e *entry, h uint64) {
	e.ref, e.n = p.tables[0].Alloc(), 1
	p.tables[0].Run(e.ref)[0] = h
}

// nonzero replaces the hash 0, which marks a free slot, by another hash that
// sets the same bits: its upper half still chooses block 0, as there are fewer
// than 2³² blocks, and its lower half is the same.
func nonzero(h uint64) uint64 {
	if h == 0 {
		return 1 << 32
	}
	return h
}

// widen moves a set of hashes into the next form.
func (p *Pool) widen(e *entry) {
	old, from := *e, p.tables[e.form].Run(e.ref)
	e.form++
	switch {
	case p.dense(e):
		e.ref = p.words.Alloc()
		w := p.words.Run(e.ref)
		for _, h := range from {
			if h != 0 {
				set(w, h)
			}
		}
	case e.form < listForms:
		e.ref = p.tables[e.form].Alloc()
		copy(p.tables[e.form].Run(e.ref), from)
	default:
		e.ref = p.tables[e.form].Alloc()
		to := p.tables[e.form].Run(e.ref)
		for _, h := range from {
			if h != 0 {
				at, _ := hashtable.Probe(to, uint32(h), h)
				to[at] = h
			}
		}
	}
	p.tables[old.form].Free(old.ref)
}

// Has reports whether the item of hash h may have been added to filter i;
// false is certain.
func (p *Pool) Has(i uint32, h uint64) bool {
	e := &p.ents[i]
	if p.dense(e) {
		return test(p.words.Run(e.ref), h)
	}
	if e.n == 0 {
		return false
	}
	t := p.tables[e.form].Run(e.ref)
	h = nonzero(h)
	if e.form < listForms {
		return slices.Contains(t[:e.n], h)
	}
	_, found := hashtable.Probe(t, uint32(h), h)
	return found
}

// Merge adds to p's filter i everything that was added to q's filter j. It
// panics if the pools differ in shape; they may be the same pool.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	if p.blocks != q.blocks {
		panic("bloom: merge of filters of different sizes")
	}
	if p == q && i == j {
		return
	}
	to, from := &p.ents[i], &q.ents[j]
	if from.n == 0 {
		return
	}
	src := q.run(from)
	if to.n == 0 {
		to.n, to.form = from.n, from.form
		if p.dense(to) {
			to.ref = p.words.Alloc()
		} else {
			to.ref = p.tables[to.form].Alloc()
		}
		copy(p.run(to), src)
		return
	}
	// A table is read in the order of its slots. In a smaller table the hashes
	// would all lie beside each other and make long searches, so to grows first.
	for to.form < from.form {
		p.widen(to)
	}
	if q.dense(from) {
		or(p.run(to), src)
		return
	}
	for _, h := range src {
		if h != 0 {
			p.Add(i, h)
		}
	}
}

// run returns the memory of a filter that is not empty.
func (p *Pool) run(e *entry) []uint64 {
	if p.dense(e) {
		return p.words.Run(e.ref)
	}
	return p.tables[e.form].Run(e.ref)
}

// AppendClickHouse appends the numbers of the bits that are set in filter i as
// a state of AggregateFunction(groupBitmap, UInt32) and returns the longer
// slice. The bytes depend on the set of items alone.
func (p *Pool) AppendClickHouse(dst []byte, i uint32) []byte {
	e := &p.ents[i]
	if p.dense(e) {
		return p.appendWords(dst, p.words.Run(e.ref))
	}
	if e.n == 0 {
		return groupbitmap.AppendSmall(dst, nil)
	}
	hashes := p.tables[e.form].Run(e.ref)
	// Sorting n·8 positions costs about 40 ns each, reading a filter of zeros
	// about 1 ns per word.
	if 40*perItem*int(e.n) < int(p.blocks)*blockWords || e.n*perItem <= groupbitmap.SmallMax {
		return p.appendSorted(dst, hashes)
	}
	if p.scratch == nil {
		p.scratch = make([]uint64, p.blocks*blockWords)
	}
	for _, h := range hashes {
		if h != 0 {
			set(p.scratch, h)
		}
	}
	dst = p.appendWords(dst, p.scratch)
	clear(p.scratch)
	return dst
}

// MergeClickHouse sets in filter i the bits of a groupBitmap(UInt32) state. If
// the state is not well formed, or has bits beyond the filter's size, it
// returns an error and changes nothing.
func (p *Pool) MergeClickHouse(i uint32, state []byte) error {
	parts, err := stateParts(state, p.Bits())
	if err != nil || parts == 0 {
		return err
	}
	e := &p.ents[i]
	if e.n == 0 {
		*e = entry{ref: p.words.Alloc(), n: 1, form: uint8(len(p.tables))}
	}
	for !p.dense(e) {
		p.widen(e)
	}
	mergeState(p.words.Run(e.ref), state)
	return nil
}

// stateParts checks a state for a filter of that many bits and counts its
// parts.
func stateParts(state []byte, bits uint64) (parts int, err error) {
	beyond := false
	err = groupbitmap.Each(state, func(part groupbitmap.Part) bool {
		parts++
		first := uint64(part.Key) << 16
		if first+1<<16 > bits {
			for v := range part.Values {
				beyond = beyond || first+uint64(v) >= bits
			}
		}
		return !beyond
	})
	if err != nil {
		return 0, fmt.Errorf("bloom: %w", err)
	}
	if beyond {
		return 0, fmt.Errorf("bloom: a state with bits beyond the %d of the filter", bits)
	}
	return parts, nil
}

// mergeState sets the bits of a state that stateParts has found good.
func mergeState(words []uint64, state []byte) {
	_ = groupbitmap.Each(state, func(part groupbitmap.Part) bool {
		part.Or(words[int(part.Key)*chunkWords:])
		return true
	})
}

// chunkWords is the words of 65,536 bits: what one chunk of a state covers.
const chunkWords = 1 << 16 / 64

// appendWords writes a state from an array of bits.
func (p *Pool) appendWords(dst []byte, words []uint64) []byte {
	p.chunks = p.chunks[:0]
	for key := 0; len(words) > 0; key++ {
		part := words[:min(chunkWords, len(words))]
		words = words[len(part):]
		n := 0
		for _, w := range part {
			n += bits.OnesCount64(w)
		}
		if n > 0 {
			p.chunks = append(p.chunks, groupbitmap.Chunk{Key: uint16(key), Card: n, Words: part})
		}
	}
	return groupbitmap.Append(dst, p.chunks)
}

// appendSorted writes a state from hashes, by sorting their positions.
func (p *Pool) appendSorted(dst []byte, hashes []uint64) []byte {
	p.posns = p.posns[:0]
	for _, h := range hashes {
		if h != 0 {
			p.posns = positions(p.posns, h, p.blocks)
		}
	}
	slices.Sort(p.posns)
	p.posns = slices.Compact(p.posns)
	if len(p.posns) <= groupbitmap.SmallMax {
		return groupbitmap.AppendSmall(dst, p.posns)
	}
	p.chunks = p.chunks[:0]
	p.low = slices.Grow(p.low[:0], len(p.posns)) // so that no append moves what a chunk points to
	for from := 0; from < len(p.posns); {
		key := p.posns[from] >> 16
		start := len(p.low)
		for from < len(p.posns) && p.posns[from]>>16 == key {
			p.low = append(p.low, uint16(p.posns[from]))
			from++
		}
		p.chunks = append(p.chunks, groupbitmap.Chunk{
			Key: uint16(key), Card: len(p.low) - start, Low: p.low[start:]})
	}
	return groupbitmap.Append(dst, p.chunks)
}
