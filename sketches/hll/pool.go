package hll

import (
	"fmt"
	"unsafe"
)

// A line is one sketch of a Pool: a cache line without pointers. As long as
// no more than 15 registers are set it holds them itself; after that it only
// says where they are.
type line struct {
	head uint32 // number of inline entries, or a form below
	e    [inline]entry
}

const (
	inline = 15

	// form marks a head that is not a number of inline entries.
	formTable = 1 << 30 // | class; e[0] is the table's number, e[1] its entries
	formDense = 1 << 31 // e[0] is the number in dense, e[1] != 0 a stale histogram
	classMask = 0xff

	linesPerChunk = 256 // 16 KiB, which Go allocates without slack and page-aligned
)

type chunk [linesPerChunk]line

// A Pool is many sketches under the numbers 0 to Len()-1, all of which live
// and are freed together: the sketches of a worker's open windows, say. A
// sketch of up to 15 registers costs 64 bytes and one cache miss to add to.
// Larger ones move to tables (128 bytes to 8 KiB) and then to 16 KiB of dense
// registers, all owned by the Pool. The zero value is empty and ready.
//
// Methods panic on a number outside the Pool, as a slice would.
type Pool struct {
	n      int
	chunks []*chunk
	tables [classes]shelf
	dense  []*registers
	hists  []histogram // of dense, by the same number
	live   int         // dense[:live] are in use
}

// Grow makes the sketches [0, n) exist; new ones are empty. A smaller n does
// nothing.
func (p *Pool) Grow(n int) {
	for len(p.chunks)*linesPerChunk < n {
		p.chunks = append(p.chunks, new(chunk))
	}
	p.n = max(p.n, n)
}

// Len is the number of sketches.
func (p *Pool) Len() int { return p.n }

func (p *Pool) line(i uint32) *line {
	if int(i) >= p.n {
		panic(fmt.Sprintf("hll: sketch %d of a pool of %d", i, p.n))
	}
	return &p.chunks[i/linesPerChunk][i%linesPerChunk]
}

// Add records a hashed element in sketch i.
func (p *Pool) Add(i uint32, h uint64) { p.raise(p.line(i), entryOf(h)) }

// AddBatch records hashes[k] in sketch idx[k], for each k. Both slices have
// the same length. It is the way to add many: 64 events at a time, all lines
// are first looked at and only then changed, so that the events wait for memory
// together and not one after another.
func (p *Pool) AddBatch(idx []uint32, hashes []uint64) {
	if len(idx) != len(hashes) {
		panic(fmt.Sprintf("hll: %d sketches for %d hashes", len(idx), len(hashes)))
	}
	var b batch
	for len(idx) > 0 {
		n := min(batchMax, len(idx))
		p.locate(&b, idx[:n], hashes[:n])
		if b.inline {
			searchLines(&b, n)
			p.applySearched(&b, n)
		} else {
			p.apply(&b, n)
		}
		idx, hashes = idx[n:], hashes[n:]
	}
}

// A batch is what Pool.AddBatch works on at a time.
type batch struct {
	lines   [batchMax]*line
	entries [batchMax]entry
	found   [batchMax]uint8 // by searchLines: where the entry's register is, from 1; 0 for nowhere
	inline  bool            // some line holds its registers itself
}

const batchMax = 64

// locate fills in lines and entries.
func (p *Pool) locate(b *batch, idx []uint32, hashes []uint64) {
	_ = hashes[:len(idx)]
	b.inline = false
	for k, i := range idx {
		l := p.line(i)
		b.lines[k&(batchMax-1)] = l
		b.entries[k&(batchMax-1)] = entryOf(hashes[k])
		if l.head <= inline {
			b.inline = true
		}
	}
}

// apply raises the registers of b one by one.
func (p *Pool) apply(b *batch, n int) {
	for k, l := range b.lines[:n] {
		e := b.entries[k]
		if l.head == formDense && p.dense[l.e[0]][e.register()] >= e.rank() {
			continue // the common case of a hot sketch
		}
		p.raise(l, e)
	}
}

// applySearched does the same with what searchLines found. A register once in
// a line stays where it is until the line becomes a table, so the place is
// right even if an earlier event of the batch changed the line; that a register
// was not there says nothing any more.
func (p *Pool) applySearched(b *batch, n int) {
	for k, l := range b.lines[:n] {
		e := b.entries[k]
		if at := b.found[k] & 15; at != 0 && l.head <= inline {
			if q := &l.e[at-1]; *q < e {
				*q = e
			}
			continue
		}
		p.raise(l, e)
	}
}

// searchPlain looks for the register of each entry among those its line holds
// itself.
func searchPlain(b *batch, n int) {
	for k, l := range b.lines[:n] {
		b.found[k] = 0
		if l.head > inline {
			continue
		}
		for at, q := range l.e[:l.head] {
			if q.register() == b.entries[k].register() {
				b.found[k] = uint8(at) + 1
			}
		}
	}
}

// raise lifts the register of e in the sketch of line l.
func (p *Pool) raise(l *line, e entry) {
	switch {
	case l.head <= inline:
		p.raiseInline(l, e)
	case l.head == formDense:
		i := l.e[0]
		if old := p.dense[i].raise(e.register(), e.rank()); old < e.rank() {
			p.hists[i].move(old, e.rank())
		}
	default:
		p.raiseTable(l, e)
	}
}

func (p *Pool) raiseInline(l *line, e entry) {
	n := l.head
	for k := range n {
		if q := l.e[k]; q.register() == e.register() {
			if q < e {
				l.e[k] = e
			}
			return
		}
	}
	if n < inline {
		l.e[n] = e
		l.head++
		return
	}
	number, t := p.tables[0].take(0)
	t.fill(l.e[:])
	t.raise(e)
	*l = line{head: formTable, e: [inline]entry{entry(number), inline + 1}}
}

func (p *Pool) raiseTable(l *line, e entry) {
	class := l.head & classMask
	t := p.tables[class].at(class, uint32(l.e[0]))
	if t.raise(e) != 0 {
		return
	}
	l.e[1]++
	if t.full(int(l.e[1])) {
		p.grow(l)
	}
}

// grow moves a full table to one of the next class, or makes it dense.
func (p *Pool) grow(l *line) {
	class := l.head & classMask
	if class == classes-1 {
		p.becomeDense(l)
		return
	}
	number := uint32(l.e[0])
	t := p.tables[class].at(class, number)
	bigger, u := p.tables[class+1].take(class + 1)
	u.fill(t)
	p.tables[class].put(number)
	l.head++
	l.e[0] = entry(bigger)
}

func (p *Pool) becomeDense(l *line) *registers {
	if l.head == formDense {
		return p.dense[l.e[0]]
	}
	if p.live == len(p.dense) {
		p.dense = append(p.dense, new(registers))
		p.hists = append(p.hists, histogram{})
	} else {
		*p.dense[p.live], p.hists[p.live] = registers{}, histogram{}
	}
	d, h := p.dense[p.live], &p.hists[p.live]
	for _, e := range p.view(l).entries {
		if e != 0 {
			d[e.register()] = e.rank()
			h.move(0, e.rank())
		}
	}
	if class := l.head & classMask; l.head&formTable != 0 {
		p.tables[class].put(uint32(l.e[0]))
	}
	*l = line{head: formDense, e: [inline]entry{entry(p.live)}}
	p.live++
	return d
}

func (p *Pool) view(l *line) view {
	switch {
	case l.head <= inline:
		return view{entries: l.e[:l.head]}
	case l.head == formDense:
		return view{dense: p.dense[l.e[0]]}
	default:
		class := l.head & classMask
		return view{entries: p.tables[class].at(class, uint32(l.e[0]))}
	}
}

// Merge joins sketch j of q into sketch i of p, register by register. q may
// be p.
func (p *Pool) Merge(i uint32, q *Pool, j uint32) {
	l, o := p.line(i), q.line(j)
	if l != o {
		p.merge(l, q.view(o))
	}
}

// MergeSketch joins s into sketch i.
func (p *Pool) MergeSketch(i uint32, s *Sketch) { p.merge(p.line(i), s.view()) }

// MergeInto joins sketch i into s.
func (p *Pool) MergeInto(i uint32, s *Sketch) { s.merge(p.view(p.line(i))) }

func (p *Pool) merge(l *line, v view) {
	if v.dense == nil {
		for _, e := range v.entries {
			if e != 0 {
				p.raise(l, e)
			}
		}
		return
	}
	maxInto(p.becomeDense(l), v.dense)
	l.e[1] = 1
}

// Count estimates the number of distinct elements of sketch i. For a dense
// sketch it looks at 52 numbers, unless a merge came before.
func (p *Pool) Count(i uint32) uint64 {
	l := p.line(i)
	if l.head == formDense {
		h := p.histogram(l)
		return h.count(Registers - h.nonzero())
	}
	h, n := countRanks(p.view(l).entries)
	return h.count(Registers - n)
}

// histogram is that of the dense line l, recounted if a merge left it stale.
func (p *Pool) histogram(l *line) *histogram {
	h := &p.hists[l.e[0]]
	if l.e[1] != 0 {
		*h = p.dense[l.e[0]].histogram()
		l.e[1] = 0
	}
	return h
}

// Sketch returns a copy of sketch i.
func (p *Pool) Sketch(i uint32) *Sketch {
	s := new(Sketch)
	p.MergeInto(i, s)
	return s
}

// Reset removes all sketches and keeps the memory for the next ones.
func (p *Pool) Reset() {
	for i := 0; i*linesPerChunk < p.n; i++ {
		*p.chunks[i] = chunk{}
	}
	for class := range p.tables {
		p.tables[class].reset()
	}
	p.n, p.live = 0, 0
}

// Bytes is the memory the Pool holds, in use or kept for reuse.
func (p *Pool) Bytes() int {
	n := int(unsafe.Sizeof(*p)) + 8*cap(p.chunks) + len(p.chunks)*int(unsafe.Sizeof(chunk{}))
	n += 8*cap(p.dense) + len(p.dense)*Registers + cap(p.hists)*int(unsafe.Sizeof(histogram{}))
	for i := range p.tables {
		n += p.tables[i].bytes()
	}
	return n
}
