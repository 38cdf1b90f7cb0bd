package bitmap

import (
	"slices"
	"unsafe"

	"weir/internal/hashtable"
	"weir/sketches/internal/groupbitmap"
)

// A flat is the form of a set whose values share few upper halves, as hashes do: one
// table of whole values, where the form of chunks would search a directory, and then a
// table of one or two lower halves.
//
// Invariants: n counts the members, zero included; the table has 64 << class slots, at
// most 3/4 of them in use, and keeps 0, which marks a free slot, in the flag instead.
type flat struct {
	n     int32
	ref   uint32 // of flats[class]
	class uint8
	zero  bool
}

const (
	flatBits = 6
	// flatClasses is how many sizes of tables there are. A set that outgrows the last has
	// more than flatChunk values for each upper half that there is.
	flatClasses = 17

	// flatChunk is how many values with one upper half make chunks the better form: a
	// chunk then takes as much memory as the values in the flat form, and less with more.
	flatChunk = 32

	// flatFar bounds how many slots a search reads: about eight times as many as the
	// longest of a million random values. Only values that are made to collide pass it.
	// Their set gets the form of chunks, whose tables are small.
	flatFar = 1024
)

// home returns where the search for v begins.
func (f *flat) home(v uint32) uint32 { return hash16(v) >> ((32 - flatBits - f.class) & 31) }

// addFlat puts v into a set in the form of f.
func (p *Pool) addFlat(e *entry, v uint32) {
	f := &p.flat[e.ref]
	if v == 0 {
		if !f.zero {
			f.zero = true
			f.n++
		}
		return
	}
	t := p.flats[f.class].Run(f.ref)
	home := f.home(v)
	at, found := hashtable.Probe(t, home, v)
	if found {
		return
	}
	t[at] = v
	f.n++
	if int(f.n)*4 > len(t)*3 || (at-int(home))&(len(t)-1) > flatFar {
		p.outgrow(e)
	}
}

// outgrow moves a flat set into a table of twice the size, or into chunks if these are
// the better form.
func (p *Pool) outgrow(e *entry) {
	f := &p.flat[e.ref]
	t := p.flats[f.class].Run(f.ref)
	if int(f.n)*4 <= len(t)*3 || f.class+1 == flatClasses || p.close(t, int(f.n)) {
		p.toSet(e)
		return
	}
	p.enlarge(f, f.class+1)
}

// table makes a table of a class.
func (p *Pool) table(class uint8) uint32 {
	if class >= touchClass {
		p.wide++
	}
	return p.flats[class].Alloc()
}

// enlarge moves a flat set into a table of a greater class.
func (p *Pool) enlarge(f *flat, class uint8) {
	old, from := *f, p.flats[f.class].Run(f.ref)
	f.class, f.ref = class, p.table(class)
	to := p.flats[class].Run(f.ref)
	for _, v := range from {
		if v != 0 {
			at, _ := hashtable.Probe(to, f.home(v), v)
			to[at] = v
		}
	}
	p.flats[old.class].Free(old.ref)
}

// mergeFlat adds the members of a flat set of q, which may be p. A table is read in the
// order of its members' hashes. In a smaller table these would all lie beside each other
// and make long searches, so the set gets as large a table first.
func (p *Pool) mergeFlat(i uint32, q *Pool, from flat) {
	p.lazy()
	e := &p.ents[i]
	t := q.flats[from.class].Run(from.ref)
	switch {
	case e.form < formFlat:
		var few [groupbitmap.SmallMax]uint32
		var single [1]uint32
		n := copy(few[:], p.few(e, &single))
		if e.n > 1 {
			p.small[e.form].Free(e.ref)
		}
		f := from
		f.ref = p.table(f.class)
		copy(p.flats[f.class].Run(f.ref), t)
		p.putFlat(e, f)
		for _, v := range few[:n] {
			p.Add(i, v)
		}
		return
	case e.form == formFlat && p.flat[e.ref].class < from.class:
		p.enlarge(&p.flat[e.ref], from.class)
	}
	if from.zero {
		p.Add(i, 0)
	}
	for _, v := range t {
		if v != 0 {
			p.Add(i, v)
		}
	}
}

// close reports whether n values share so few upper halves that chunks are the better
// form. It takes 0 for no value.
func (p *Pool) close(values []uint32, n int) bool {
	if p.box.order == nil {
		p.box.order = new([wordsLen]uint64)
	}
	halves := 0
	for _, v := range values {
		if v != 0 {
			w, bit := &p.box.order[v>>22], uint64(1)<<(v>>16&63)
			if *w&bit == 0 {
				*w |= bit
				halves++
			}
		}
	}
	for _, v := range values {
		p.box.order[v>>22] = 0
	}
	return n >= flatChunk*halves
}

// toFlat brings a full small set into the flat form.
func (p *Pool) toFlat(e *entry, few []uint32) {
	f := flat{n: int32(len(few)), ref: p.table(0)}
	t := p.flats[0].Run(f.ref)
	for _, v := range few {
		if v == 0 {
			f.zero = true
			continue
		}
		at, _ := hashtable.Probe(t, f.home(v), v)
		t[at] = v
	}
	p.putFlat(e, f)
}

// putFlat makes an entry name f, whose table it owns.
func (p *Pool) putFlat(e *entry, f flat) {
	e.n, e.form = 0, formFlat
	if n := len(p.spareFlat); n > 0 {
		e.ref = p.spareFlat[n-1]
		p.spareFlat = p.spareFlat[:n-1]
		p.flat[e.ref] = f
		return
	}
	e.ref = uint32(len(p.flat))
	p.flat = append(p.flat, f)
}

// eachFlat yields the values of a flat set, in no order. The set must not change
// meanwhile.
func (p *Pool) eachFlat(f *flat, yield func(uint32)) {
	if f.zero {
		yield(0)
	}
	for _, v := range p.flats[f.class].Run(f.ref) {
		if v != 0 {
			yield(v)
		}
	}
}

func (p *Pool) freeFlat(ref uint32) {
	f := &p.flat[ref]
	p.flats[f.class].Free(f.ref)
	p.spareFlat = append(p.spareFlat, ref)
}

// flatChunks lists a flat set for the writer of states, as set.chunks does.
func (p *Pool) flatChunks(f *flat, out []groupbitmap.Chunk, low []uint16) ([]groupbitmap.Chunk, []uint16) {
	p.order[0] = p.order[0][:0]
	p.eachFlat(f, func(v uint32) { p.order[0] = append(p.order[0], v) })
	p.sort32()
	low = slices.Grow(low, len(p.order[0])) // so that no later append moves what a chunk points to
	from := 0
	for i, v := range p.order[0] {
		low = append(low, uint16(v))
		if i+1 == len(p.order[0]) || p.order[0][i+1]>>16 != v>>16 {
			out = append(out, groupbitmap.Chunk{Key: uint16(v >> 16), Card: i + 1 - from, Low: low[from : i+1 : i+1]})
			from = i + 1
		}
	}
	return out, low
}

// sort32 sorts order[0]. Many values are sorted by eight bits at a time (radix sort),
// which takes less time from about 64 on (BenchmarkPoolAppendHashes).
func (p *Pool) sort32() {
	const width, buckets = 8, 1 << 8
	if len(p.order[0]) < buckets/4 {
		slices.Sort(p.order[0])
		return
	}
	for shift := 0; shift < 32; shift += width {
		var next [buckets]uint32
		for _, v := range p.order[0] {
			next[v>>shift&(buckets-1)]++
		}
		sum := uint32(0)
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		p.order[1] = slices.Grow(p.order[1][:0], len(p.order[0]))[:len(p.order[0])]
		for _, v := range p.order[0] {
			b := v >> shift & (buckets - 1)
			p.order[1][next[b]] = v
			next[b]++
		}
		p.order[0], p.order[1] = p.order[1], p.order[0]
	}
}

// flatBytes returns the memory of the flat form.
func (p *Pool) flatBytes() int {
	n := cap(p.flat)*int(unsafe.Sizeof(flat{})) + 4*(cap(p.spareFlat)+cap(p.order[0])+cap(p.order[1]))
	for i := range p.flats {
		n += p.flats[i].Bytes()
	}
	return n
}
