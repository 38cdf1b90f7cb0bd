package bitmap

import (
	"fmt"
	"slices"
	"unsafe"

	"weir/internal/hashtable"
	"weir/sketches/internal/groupbitmap"
	"weir/sketches/internal/slab"
)

// A Pool holds many sets of 32-bit numbers, addressed by a dense index
// 0..Len()-1, for example one activity bitmap per open (window, group). Most
// sets of a real stream are tiny, so a set grows through four forms:
//
//	one value      inside the 8-byte entry
//	2 … 32         an unordered run of 4, 8, 16 or 32 numbers
//	33 …           one hash table, while few values share an upper half
//	33 …           a set of chunks by upper half, each a hash table of lower
//	               halves or, when that is not larger, a bitmap of 8 KB
//
// The last form is Roaring's idea with one change: where Roaring keeps a
// sorted array, and so moves half of it for each new value, it keeps a hash
// table of at most twice the size. AppendClickHouse sorts, once per flush.
//
// The zero Pool is empty and ready. It is not safe for concurrent use.
type Pool struct {
	ents  []entry
	small [len(smallRuns)]slab.Slab[uint32]
	sets  []*set
	spare []uint32 // names of sets not in use
	box   boxes

	flat      []flat
	spareFlat []uint32 // names of flat sets not in use
	flats     [flatClasses]slab.Slab[uint32]
	order     [2][]uint32 // scratch of sort32

	touched uint32 // see touch
	wide    int    // tables of touchClass or larger that were made since Reset

	chunks []groupbitmap.Chunk // scratch of AppendClickHouse
	low    []uint16
}

// smallRuns are the lengths of the small form.
var smallRuns = [...]int{4, 8, 16, groupbitmap.SmallMax}

// An entry is one set. For n = 1 ref is the value; up to SmallMax it names a
// run of small[form]; with form formFlat it names a flat, with formSet a set, and n is 0.
type entry struct {
	ref  uint32
	n    uint8
	form uint8
}

const (
	formFlat = uint8(len(smallRuns)) + iota
	formSet
)

// Grow makes the indexes 0..n-1 valid; new sets are empty. It never shrinks.
func (p *Pool) Grow(n int) {
	if n > len(p.ents) {
		p.ents = slices.Grow(p.ents, n-len(p.ents))[:n]
	}
}

// Len returns the number of sets.
func (p *Pool) Len() int { return len(p.ents) }

// Reset drops every set and keeps most of the memory for the next ones.
func (p *Pool) Reset() {
	clear(p.ents)
	p.ents = p.ents[:0]
	for i := range p.small {
		p.small[i].Reset()
	}
	p.flat, p.spareFlat, p.wide = p.flat[:0], p.spareFlat[:0], 0
	for i := range p.flats {
		p.flats[i].Reset()
	}
	p.box.reset()
	p.spare = p.spare[:0]
	for i, s := range p.sets {
		s.reset()
		p.spare = append(p.spare, uint32(i))
	}
}

// Bytes returns the memory the pool holds.
func (p *Pool) Bytes() int {
	n := cap(p.ents)*int(unsafe.Sizeof(entry{})) + p.box.bytes() +
		cap(p.sets)*8 + cap(p.spare)*4 + cap(p.low)*2 +
		cap(p.chunks)*int(unsafe.Sizeof(groupbitmap.Chunk{}))
	for i := range p.small {
		n += p.small[i].Bytes()
	}
	return n + p.flatBytes() + len(p.sets)*int(unsafe.Sizeof(set{}))
}

// Add puts v into set i.
func (p *Pool) Add(i, v uint32) {
	e := &p.ents[i]
	switch {
	case e.form == formFlat:
		p.addFlat(e, v)
	case e.form == formSet:
		p.sets[e.ref].add(&p.box, v)
	case e.n == 0:
		e.ref, e.n = v, 1
	case e.n == 1:
		if e.ref != v {
			p.spill(e, v)
		}
	default:
		run := p.small[e.form].Run(e.ref)
		for _, have := range run[:e.n] {
			if have == v {
				return
			}
		}
		if int(e.n) == len(run) {
			p.widen(i, v)
			return
		}
		run[e.n] = v
		e.n++
	}
}

// AddBatch puts vals[k] into set idx[k], for every k. The slices have the same
// length. It is faster than as many Adds when the caches do not hold all sets:
// it first reads the memory that a block of additions needs, so that the cache
// misses overlap, and then adds.
func (p *Pool) AddBatch(idx, vals []uint32) {
	vals = vals[:len(idx)]
	if len(p.ents) < touchFrom && p.wide == 0 {
		for k, i := range idx {
			p.Add(i, vals[k])
		}
		return
	}
	var rest [touchBlock]uint8
	for len(idx) > 0 {
		n := min(touchBlock, len(idx))
		for _, k := range rest[:p.touch(&rest, idx[:n], vals[:n])] {
			p.Add(idx[k], vals[k])
		}
		idx, vals = idx[n:], vals[n:]
	}
}

const (
	touchBlock = 64      // additions whose memory is read ahead at once
	touchFrom  = 1 << 14 // sets; fewer are in the caches anyway
	touchClass = 7       // of a flat set; smaller ones are in the caches
)

// touch reads the entry of each set, and its first member or the slot where the search for
// the value begins. It returns how many values it did not find there, and which, in rest.
func (p *Pool) touch(rest *[touchBlock]uint8, idx, vals []uint32) (n int) {
	for _, i := range idx {
		p.touched += uint32(p.ents[i].n) // so that the compiler does not leave the read out
	}
	for k, i := range idx {
		missing := uint32(1)
		if e := &p.ents[i]; e.n > 1 {
			p.touched += p.small[e.form&3].Run(e.ref)[0]
		} else if v := vals[k]; e.form == formFlat && v != 0 {
			f := &p.flat[e.ref]
			// No branch on whether it was found: the processor could not predict it.
			differs := p.flats[f.class].Run(f.ref)[f.home(v)] ^ v
			missing = (differs | -differs) >> 31
		}
		rest[n&(touchBlock-1)] = uint8(k)
		n += int(missing)
	}
	return n
}

// spill moves a single value and a second one into the first small run.
func (p *Pool) spill(e *entry, v uint32) {
	p.lazy()
	ref := p.small[0].Alloc()
	run := p.small[0].Run(ref)
	run[0], run[1] = e.ref, v
	*e = entry{ref: ref, n: 2, form: 0}
}

// lazy makes the slabs of a zero Pool on first use.
func (p *Pool) lazy() {
	if p.box.made {
		return
	}
	for i, n := range smallRuns {
		p.small[i] = slab.New[uint32](n)
	}
	for i := range p.flats {
		p.flats[i] = slab.New[uint32](1 << (flatBits + i))
	}
	p.box.init()
}

// widen moves a full run into the next form and adds v.
func (p *Pool) widen(i, v uint32) {
	e := &p.ents[i]
	old, from := *e, p.small[e.form].Run(e.ref)
	if e.form+1 == formFlat {
		if p.close(from, len(from)) {
			p.toSet(e)
		} else {
			p.toFlat(e, from)
			p.small[old.form].Free(old.ref)
		}
		p.Add(i, v)
		return
	}
	to := p.small[e.form+1].Alloc()
	run := p.small[e.form+1].Run(to)
	n := copy(run, from)
	run[n] = v
	*e = entry{ref: to, n: uint8(n + 1), form: e.form + 1}
	p.small[old.form].Free(old.ref)
}

func (p *Pool) newSet() uint32 {
	if n := len(p.spare); n > 0 {
		r := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return r
	}
	p.sets = append(p.sets, new(set))
	return uint32(len(p.sets) - 1)
}

// few returns the values of a set that is not in the last form. The slice is
// valid until the next change; single is room for one value.
func (p *Pool) few(e *entry, single *[1]uint32) []uint32 {
	switch e.n {
	case 0:
		return nil
	case 1:
		single[0] = e.ref
		return single[:]
	}
	return p.small[e.form].Run(e.ref)[:e.n]
}

// Merge adds every member of q's set j to p's set i: the union. q may be p.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	if p == q && i == j {
		return
	}
	from := &q.ents[j]
	switch from.form {
	case formSet:
		p.toSet(&p.ents[i]).merge(&p.box, q.sets[from.ref], &q.box)
	case formFlat:
		p.mergeFlat(i, q, q.flat[from.ref])
	default:
		// A copy, because an addition to p may move q's runs when q is p.
		var room [groupbitmap.SmallMax]uint32
		var single [1]uint32
		n := copy(room[:], q.few(from, &single))
		if e := &p.ents[i]; n > 1 && e.form == 0 && e.n == 0 { // a copy will do, and takes no search
			p.lazy()
			*e = entry{ref: p.small[from.form].Alloc(), n: from.n, form: from.form}
			copy(p.small[e.form].Run(e.ref), room[:n])
			return
		}
		for _, v := range room[:n] {
			p.Add(i, v)
		}
	}
}

// toSet brings an entry into the last form and returns its set.
func (p *Pool) toSet(e *entry) *set {
	if e.form == formSet {
		return p.sets[e.ref]
	}
	p.lazy()
	old := *e
	*e = entry{ref: p.newSet(), form: formSet}
	s := p.sets[e.ref]
	if old.form == formFlat {
		p.eachFlat(&p.flat[old.ref], func(v uint32) { s.add(&p.box, v) })
		p.freeFlat(old.ref)
		return s
	}
	var single [1]uint32
	for _, v := range p.few(&old, &single) {
		s.add(&p.box, v)
	}
	if old.n > 1 {
		p.small[old.form].Free(old.ref)
	}
	return s
}

// Count returns the number of members of set i.
func (p *Pool) Count(i uint32) uint64 {
	switch e := &p.ents[i]; e.form {
	case formFlat:
		return uint64(p.flat[e.ref].n)
	case formSet:
		return uint64(p.sets[e.ref].n)
	default:
		return uint64(e.n)
	}
}

// Has reports whether v is a member of set i.
func (p *Pool) Has(i, v uint32) bool {
	e := &p.ents[i]
	switch e.form {
	case formFlat:
		f := &p.flat[e.ref]
		if v == 0 {
			return f.zero
		}
		_, found := hashtable.Probe(p.flats[f.class].Run(f.ref), f.home(v), v)
		return found
	case formSet:
		return p.sets[e.ref].has(&p.box, v)
	}
	var single [1]uint32
	return slices.Contains(p.few(e, &single), v)
}

// AppendClickHouse appends set i as a state of AggregateFunction(groupBitmap,
// UInt32) and returns the longer slice. The bytes depend on the set alone, not
// on the order of additions, on merges or on the form in memory.
func (p *Pool) AppendClickHouse(dst []byte, i uint32) []byte {
	e := &p.ents[i]
	switch e.form {
	case formFlat:
		p.chunks, p.low = p.flatChunks(&p.flat[e.ref], p.chunks[:0], p.low[:0])
	case formSet:
		p.chunks, p.low = p.sets[e.ref].chunks(&p.box, p.chunks[:0], p.low[:0])
	default:
		var room [groupbitmap.SmallMax]uint32
		var single [1]uint32
		n := copy(room[:], p.few(e, &single))
		slices.Sort(room[:n])
		return groupbitmap.AppendSmall(dst, room[:n])
	}
	return groupbitmap.Append(dst, p.chunks)
}

// MergeClickHouse puts the members of a groupBitmap(UInt32) state into set i.
// If the state is not well formed, it returns an error and changes nothing.
func (p *Pool) MergeClickHouse(i uint32, state []byte) error {
	err := groupbitmap.Each(state, func(part groupbitmap.Part) bool {
		if part.Card > tableMax {
			p.toSet(&p.ents[i]).mergePart(&p.box, part)
			return true
		}
		for v := range part.Values {
			p.Add(i, uint32(part.Key)<<16|uint32(v))
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("bitmap: %w", err)
	}
	return nil
}

// hash16 spreads a number over 32 bits (Knuth's multiplicative hash); tables
// take their index from the top.
func hash16(v uint32) uint32 { return v * 2654435769 }
